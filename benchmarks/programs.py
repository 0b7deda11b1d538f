"""The programs of several benchmarks."""

from __future__ import annotations

import os

import anabranch as ab


class Sums(ab.Program):
    totals: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def add(self, key: int, value: float) -> None:
        self.totals[key] += value

    def total(self, key: int) -> float:
        return self.totals[key]


class Links(ab.Program):
    """A row visits two keys: the first says which is the second."""

    links: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    totals: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def link(self, key: int, to: int) -> None:
        self.links[key] = to

    def pass_on(self, key: int, value: float) -> None:
        to = self.links[key]
        self.totals[to] += value

    def total_behind(self, key: int) -> float:
        to = self.links[key]
        return self.totals[to]


@ab.pure
def process(key: int) -> int:
    return os.getpid()


class PlacedSums(ab.Program):
    """Sums that say where they are."""

    totals: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def add(self, key: int, value: float) -> None:
        self.totals[key] += value

    def total(self, key: int) -> float:
        return self.totals[key]

    def where(self, key: int) -> int:
        """The process of the worker that has the key: it writes, so that no other can run it."""
        self.totals[key] += 0.0
        return process(key)
