"""A leaderboard: players own their scores, the best of all are found in each worker's part and merged."""

import anabranch as ab


def best(entries: list[tuple[str, int]], k: int) -> list[tuple[str, int]]:
    """The k highest, ties by name."""
    return sorted(entries, key=lambda entry: (-entry[1], entry[0]))[:k]


class Leaderboard(ab.Program):
    scores: ab.Partitioned[ab.Table[str, int]]

    def score(self, player: str, points: int) -> int:
        total = self.scores.get(player, 0) + points
        self.scores[player] = total
        return total

    def retire(self, player: str) -> int | None:
        return self.scores.pop(player, None)

    def top(self, k: int = 3) -> list[tuple[str, int]]:
        parts = ab.gather(ab.everywhere(self.scores).top(k))
        return best([entry for part in parts for entry in part], k)

    def players(self) -> int:
        return sum(ab.gather(len(ab.everywhere(self.scores))))


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("top", ()),
    ("score", ("ada", 10)),
    ("score", ("bob", 10)),
    ("score", ("eve", 7)),
    ("score", ("dan", 12)),
    ("top", ()),
    ("top", (1,)),
    ("players", ()),
    ("score", ("eve", 7)),
    ("retire", ("dan",)),
    ("retire", ("dan",)),
    ("top", (10,)),
    ("players", ()),
]
