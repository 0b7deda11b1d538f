"""A program with all that goes over a connection: records, checks of their own, errors, an own state type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import anabranch as ab


class Refusal(Exception):
    """Has an attribute of its own."""

    def __init__(self, item: str, left: int) -> None:
        super().__init__(item, left)
        self.left = left


class Total(NamedTuple):
    item: str
    pieces: int


@dataclass(frozen=True)
class Sale:
    item: str
    pieces: int = 1
    tags: list[str] | None = None

    def __post_init__(self) -> None:
        if self.item == "ghost":
            raise LookupError("there are no ghosts")


class Order(NamedTuple):
    who: str
    sales: list[Sale]


class Marks:
    """The greatest mark by name."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}

    @ab.writes
    def mark(self, name: str, n: int) -> None:
        self.found[name] = max(n, self.found.get(name, n))

    @ab.reads
    def best(self, name: str) -> int:
        return self.found[name]


class Till(ab.Program):
    """Counts what is sold."""

    sold: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    last: ab.Partitioned[ab.Table[str, Sale]]
    pairs: ab.Partitioned[ab.Matrix]
    marks: ab.Partitioned[Marks]
    prices: ab.Replicated[ab.Table[str, float]]
    days: ab.Partial[ab.Vector]
    hours: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)

    def sell(self, item: str, pieces: int = 1) -> int:
        """Sell some pieces."""
        if pieces < 0:
            raise Refusal(item, self.sold[item])
        self.sold[item] += pieces
        return self.sold[item]

    def record(self, sale: Sale) -> Total:
        self.last[sale.item] = sale
        self.sold[sale.item] += sale.pieces
        return Total(sale.item, self.sold[sale.item])

    def order(self, order: Order, extra: Sale | None = None) -> list[Total]:
        totals = [Total(s.item, s.pieces) for s in order.sales]
        if extra is not None:
            totals = totals + [Total(extra.item, extra.pieces)]
        return totals

    def price(self, item: str, price: float) -> None:
        ab.everywhere(self.prices)[item] = price

    def day(self, day: int, pieces: float) -> None:
        self.days[day] += pieces
        self.hours.value += 1

    def pair(self, a: int, b: int) -> None:
        self.pairs[a, b] += 1.0

    def mark(self, name: str, n: int) -> None:
        self.marks.mark(name, n)

    def parse(self, item: str, text: str) -> int:
        self.sold[item] += 1
        try:
            return int(text)
        except ValueError as error:
            raise KeyError(text) from error

    def spin(self, item: str, n: int) -> int:
        total = 0
        for i in range(n):
            total = (total + i) % 1000003
        self.sold[item] += 1
        return total

    def tick(self) -> int:
        self.sold["tick"] += 1
        return self.sold["tick"]

    def twice(self, text: str) -> str:
        return text + text
