"""A program with an entry of every way that rows can go."""

from __future__ import annotations

import os
import sys
import time
from typing import NamedTuple

import anabranch as ab


class Sale(NamedTuple):
    shop: str
    cents: int
    note: str | None = None


class Receipt(NamedTuple):
    shop: str
    total: int
    first: str | None


class Market(ab.Program):
    tills: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    notes: ab.Partitioned[ab.Table[str, str]]
    stock: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    words: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    visits: ab.Partial[ab.Vector] = ab.partial(ab.Vector(), merge=ab.add)

    # -- at a key ---------------------------------------------------------------------------------------------------

    def add(self, item: int, by: int = 1) -> int:
        self.stock[item] += by
        return self.stock[item]

    def earn(self, shop: str, cents: int) -> int:
        self.tills[shop] += cents
        return self.tills[shop]

    def sell(self, sale: Sale) -> Receipt:
        self.tills[sale.shop] += sale.cents
        note = sale.note
        if note is not None and sale.shop not in self.notes:
            self.notes[sale.shop] = note
        return Receipt(sale.shop, self.tills[sale.shop], self.notes.get(sale.shop))

    def spread(self, total: int, shops: int) -> int:
        """The key has to be computed, and cannot be for 0."""
        self.stock[total // shops] += 1
        return self.stock[total // shops]

    def take(self, item: int, n: int) -> int:
        left = self.stock[item] - n
        self.stock[item] = left
        if n > 100:
            raise ValueError("too much", item, n)
        return left

    # -- anywhere, to many, everywhere, from one to the other ---------------------------------------------------------

    def read(self, line: str) -> int:
        """Starts at no key: the text is split first."""
        words = line.split()
        for word in words:
            self.words[word] += 1
        return len(words)

    def twice(self, n: int, x: float) -> float:
        return n * x

    def echo(self, n: int, text: str) -> str:
        return text * n

    def visit(self, shop: int, times: float) -> None:
        """Partial state: where a row starts depends on its number."""
        self.visits[shop] += times

    def visited(self, shop: int) -> float:
        return sum(ab.gather(ab.everywhere(self.visits)[shop]))

    def give(self, items: list[int]) -> None:
        for item in items:
            self.stock[item] += 1

    def move(self, source: int, target: int, n: int) -> int:
        if self.stock[source] < n:
            raise ValueError("too few", source, self.stock[source])
        self.stock[source] -= n
        self.stock[target] += n
        return self.stock[source]


class Unset(ab.Program):
    """Its key is configuration that may be missing."""

    stock: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def __init__(self, named: bool = False) -> None:
        if named:
            self.shop = "a"

    def add(self, by: int) -> int:
        self.stock[self.shop] += by
        return self.stock[self.shop]


@ab.pure
def process(key: int) -> int:
    return os.getpid()


@ab.pure
def python(key: int) -> str:
    return sys.executable


@ab.pure
def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


class Whereabouts(ab.Program):
    """Says where its keys are, and takes its time."""

    calls: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    counts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def count(self, item: int, by: int) -> int:
        self.counts[item] += by
        return self.counts[item]

    def where(self, key: int) -> int:
        self.calls[key] += 1
        return process(key)

    def python(self, key: int) -> str:
        self.calls[key] += 1
        return python(key)

    def called(self, key: int) -> int:
        return self.calls[key]

    def rest(self, key: int, seconds: float) -> float:
        self.calls[key] += 1
        return nap(seconds)
