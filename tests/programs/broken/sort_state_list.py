"""Lists, sets and dicts of state changed by methods."""

import anabranch as ab


class Scores(ab.Program):
    scores: ab.Partitioned[ab.Table[str, list[int]]]
    badges: ab.Partitioned[ab.Table[str, set[str]]]
    levels: ab.Partitioned[ab.Table[str, dict[str, int]]]

    def best(self, player: str) -> int:
        scores = self.scores[player]
        scores.sort()  #! AB302
        return scores[-1]

    def award(self, player: str, badge: str) -> None:
        self.badges[player].add(badge)  #! AB302

    def level(self, player: str, game: str, level: int) -> None:
        levels = self.levels.get(player, {})
        levels[game] = level  #! AB302
        self.levels[player] = levels
