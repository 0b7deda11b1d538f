"""A variable named like the builtin that computes it."""

import anabranch as ab


class Best(ab.Program):
    best: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def play(self, player: str, score: int) -> None:
        max = max(self.best[player], score)  #! AB110
        self.best[player] = max
