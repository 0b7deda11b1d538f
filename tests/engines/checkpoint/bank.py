"""A program that is saved: a state of every distribution, a winding entry, an own type."""

from __future__ import annotations

from typing import NamedTuple

import anabranch as ab


class Note(NamedTuple):
    text: str
    weight: float


class Tally:
    """An own type."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    @ab.writes
    def add(self, key: int) -> int:
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key]

    @ab.reads
    def total(self) -> int:
        return sum(self.counts.values())


class Bank(ab.Program):
    accounts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=100)
    names: ab.Partitioned[ab.Table[str, Note]]
    grid: ab.Partitioned[ab.Matrix]
    seen: ab.Partial[ab.Vector]
    rules: ab.Replicated[ab.Table[int, int]]
    limit: ab.Replicated[ab.Value[int]] = ab.Value(1_000_000)
    tally: ab.Partial[Tally]

    def pay(self, k: int, n: int) -> int:
        if n < 0:
            raise ValueError(f"{n} is no payment")
        self.accounts[k] += n
        left = self.accounts[k]
        self.seen[k] += 1.0
        return left

    def transfer(self, a: int, b: int, n: int) -> int:
        """Winding."""
        self.accounts[a] -= n
        self.accounts[b] += n
        return self.accounts[a]

    def close(self, k: int) -> bool:
        if k in self.accounts:
            del self.accounts[k]
            return True
        return False

    def name(self, k: str, text: str, weight: float) -> None:
        self.names[k] = Note(text, weight)

    def weigh(self, k: str) -> float:
        return self.names[k].weight if k in self.names else -1.0

    def mark(self, i: int, j: int, x: float) -> int:
        self.grid[i, j] = x
        return len(self.grid.row(i))

    def wipe(self) -> None:
        ab.everywhere(self.rules).clear()

    def rule(self, k: int, n: int) -> None:
        ab.everywhere(self.rules)[k] = n

    def bound(self, n: int) -> None:
        ab.everywhere(self.limit).value = n

    def count(self, k: int) -> None:
        self.tally.add(k)

    def sight(self) -> float:
        return sum(ab.gather(ab.everywhere(self.seen).sum()))
