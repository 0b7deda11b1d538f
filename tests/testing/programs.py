"""Programs to be tested: one that is right, and some that are not what they seem."""

from __future__ import annotations

from collections.abc import Callable

import anabranch as ab
from anabranch.testing.requests import Request, call, many


class Shop(ab.Program):
    stock: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    shelves: ab.Partitioned[ab.Table[tuple[str, int], int]]
    bought: ab.Partitioned[ab.Matrix]
    sold: ab.Partial[ab.Vector]
    last: ab.Partial[ab.Table[str, int]]
    limit: ab.Replicated[ab.Value[int]] = ab.Value(100)

    def deliver(self, item: str, pieces: int) -> int:
        if pieces > self.limit.value:
            raise ValueError(f"{pieces} pieces are too many", item)
        self.stock[item] += pieces
        return self.stock[item]

    def sell(self, item: str, weekday: int) -> int:
        if self.stock[item] < 1:
            raise KeyError(item)
        self.stock[item] -= 1
        left = self.stock[item]
        self.sold[weekday] += 1.0
        return left

    def place(self, item: str, shelf: int, pieces: int) -> int:
        self.shelves[item, shelf] = pieces
        return len(self.shelves.row(item))

    def buy(self, customer: int, item: int) -> None:
        self.bought[customer, item] = 1.0
        self.last["item"] = item

    def sales(self) -> float:
        return sum(ab.gather(ab.everywhere(self.sold).sum()))

    def bound(self, pieces: int) -> None:
        ab.everywhere(self.limit).value = pieces


REQUESTS: list[Request | tuple[object, ...]] = [
    ("deliver", "tea", 5),
    many("deliver", {"item": ["tea", "gin", "rum"], "pieces": [1, 2, 3]}),
    ("sell", "tea", 1),
    call("sell", "gin", weekday=2),
    ("sell", "milk", 1),
    ("bound", 10),
    many("deliver", [("tea", 1), ("gin", 11)]),
    ("deliver", "tea", "many"),
    many("sell", {"item": ["tea"] * 3, "weekday": [1, 2, 3]}),
    ("place", "tea", 1, 2),
    ("place", "tea", 2, 2),
    ("buy", 7, 42),
    ("sales",),
]


class Grouped(ab.Program):
    """What it answers depends on the number of workers: it reads its own instance."""

    by_door: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    seen: ab.Partial[ab.Vector]

    def see(self, door: int) -> float:
        self.by_door[door] += 1
        self.seen[0] += 1.0
        return ab.local(self.seen[0])


class Told(ab.Program):
    """What it answers is what it was made with."""

    table: ab.Partitioned[ab.Table[int, int]]

    def __init__(self, number: int) -> None:
        self.number = number

    def tell(self) -> int:
        return self.number

    def fail(self, x: int) -> int:
        raise ValueError(self.number, x)

    def put(self, key: int) -> None:
        self.table[key] = self.number


def told() -> Callable[[], Told]:
    """Makes the first with 0, and all others with 1."""
    made = iter([0])
    return lambda: Told(next(made, 1))


class Tally:
    """An own type."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    @ab.writes
    def add(self, key: int) -> int:
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key]


class Tallied(ab.Program):
    tally: ab.Replicated[Tally]

    def __init__(self, by: int = 1) -> None:
        self.by = by

    def add(self, key: int) -> None:
        ab.everywhere(self.tally).add(key * self.by)
