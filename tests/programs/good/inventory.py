"""An inventory: several states under one key live together, so that a movement is one task."""

import anabranch as ab


class Inventory(ab.Program):
    on_hand: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    reserved: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    reorder_at: ab.Partitioned[ab.Table[int, int]]

    def __init__(self, default_level: int = 2) -> None:
        self.default_level = default_level

    def receive(self, sku: int, amount: int) -> int:
        self.on_hand[sku] += amount
        return self._free(sku)

    def reserve(self, sku: int, amount: int) -> bool:
        if self._free(sku) < amount:
            return False
        self.reserved[sku] += amount
        return True

    def ship(self, sku: int, amount: int) -> bool:
        """Whether the article must be ordered again."""
        if amount > self.reserved[sku]:
            raise ValueError(f"only {self.reserved[sku]} of {sku} are reserved")
        self.reserved[sku] -= amount
        self.on_hand[sku] -= amount
        return self.on_hand[sku] <= self.reorder_at.get(sku, self.default_level)

    def set_level(self, sku: int, level: int) -> int:
        """The level before."""
        before = self.reorder_at.setdefault(sku, self.default_level)
        self.reorder_at[sku] = level
        return before

    def missing(self, skus: list[int]) -> list[int]:
        free = [self._free(sku) for sku in skus]
        return [sku for sku, amount in zip(skus, free) if amount <= 0]

    def _free(self, sku: int) -> int:
        return self.on_hand[sku] - self.reserved[sku]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("receive", (7, 5)),
    ("reserve", (7, 3)),
    ("reserve", (7, 3)),
    ("ship", (7, 2)),
    ("ship", (7, 2)),  # ValueError
    ("set_level", (7, 3)),
    ("set_level", (7, 1)),
    ("ship", (7, 1)),
    ("receive", (8, 1)),
    ("missing", ([7, 8, 9],)),
    ("missing", ([],)),
]
