"""Spending limits: a small table of rules is replicated on every worker, what was spent is owned by account."""

import anabranch as ab


class SpendingLimits(ab.Program):
    limits: ab.Replicated[ab.Table[str, int]]
    spent: ab.Partitioned[ab.Table[tuple[int, str], int]] = ab.Table(default=0)

    def __init__(self, fallback: int = 100) -> None:
        self.categories = {"food", "travel"}
        self.fallback = fallback

    def set_limit(self, category: str, limit: int) -> None:
        if category not in self.categories:
            raise KeyError(category)
        ab.everywhere(self.limits)[category] = limit

    def spend(self, account: int, category: str, amount: int) -> bool:
        limit = self.limits.get(category)
        if limit is None:
            limit = self.fallback
        if self.spent[account, category] + amount > limit:
            return False
        self.spent[account, category] += amount
        return True

    def left(self, account: int, category: str) -> int:
        limit = self.limits.get(category, self.fallback)
        return limit - self.spent[account, category]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("spend", (1, "food", 90)),
    ("spend", (1, "food", 20)),
    ("left", (1, "food")),
    ("set_limit", ("food", 200)),
    ("set_limit", ("toys", 200)),  # KeyError
    ("spend", (1, "food", 20)),
    ("left", (1, "food")),
    ("left", (2, "food")),
    ("spend", (2, "travel", 101)),
    ("left", (2, "travel")),
]
