"""A variable that has no value if the list is empty."""

import anabranch as ab


class Best(ab.Program):
    best: ab.Partitioned[ab.Table[str, int]]

    def play(self, player: str, scores: list[int]) -> None:
        for score in scores:
            best = max(score, self.best.get(player, 0))
        self.best[player] = best  #! AB208
