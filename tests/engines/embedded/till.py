"""A program in which half of a request would show, with entries that never end."""

from __future__ import annotations

import anabranch as ab
from tests.engines.embedded.shop import OutOfStock, nap


class Counter:
    """An own state type with a method that takes its time."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    @ab.reads
    def seen(self, key: int) -> int:
        return self.counts.get(key, 0)

    @ab.writes
    def see(self, key: int, turns: int) -> None:
        while turns != 0:
            self.counts[key] = self.counts.get(key, 0) + 1
            turns -= 1


class Till(ab.Program):
    """Every entry writes two things that must stay equal: `left` and `right` of a key, or of two."""

    left: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    right: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    rows: ab.Partitioned[ab.Table[tuple[int, int], int]]
    matrix: ab.Replicated[ab.Matrix] = ab.Matrix({(i, j): 1.0 for i in range(300) for j in range(300)})
    counter: ab.Partitioned[Counter]

    def both(self, k: int) -> int:
        self.left[k] += 1
        self.right[k] += 1
        return self.left[k]

    def fails(self, k: int) -> int:
        self.left[k] += 1
        self.rows[k, 1] = 5
        if k >= 0:
            raise OutOfStock(k)
        return k

    def winds(self, k: int, other: int) -> int:
        n = self.left[k]
        self.right[other] += 1
        self.left[k] = n + 1
        self.right[k] += 1
        self.left[other] += 1
        return n

    def fans(self, ks: list[int]) -> int:
        for k in ks:
            self.left[k] += 1
            self.right[k] += 1
        return len(ks)

    def lines(self, k: int) -> int:
        self.rows[k, self.left[k]] = 1
        return len(self.rows.row(k))

    def spins(self, k: int) -> int:
        self.left[k] += 1
        n = 0
        while n >= 0:
            n += 1
        self.right[k] += 1
        return n

    def writes(self, k: int) -> int:
        n = 0
        while n >= 0:
            self.left[k] += 1
            self.rows[k, n % 1000] = n
            n += 1
        self.right[k] += 1
        return n

    def multiplies(self, k: int) -> float:
        """Nearly all of its time is inside a method of a state."""
        self.left[k] += 1
        vector = ab.Vector({j: j + 1.0 for j in range(300)})
        total = 0.0
        while total >= 0.0:
            total += self.matrix.dot(vector).sum()
        self.right[k] += 1
        return total

    def counts(self, k: int) -> int:
        self.left[k] += 1
        self.counter.see(k, -1)
        self.right[k] += 1
        return self.counter.seen(k)

    def fans_out_for_ever(self, ks: list[int]) -> int:
        for k in ks:
            self.left[k] += 1
            n = 0
            while n >= 0:
                n += 1
            self.right[k] += 1
        return 0

    def winds_for_ever(self, k: int, other: int) -> int:
        self.left[k] += 1
        self.left[other] += 1
        n = 0
        while n >= 0:
            n += 1
        self.right[k] += 1
        self.right[other] += 1
        return n

    def slow(self, k: int, seconds: float) -> int:
        self.left[k] += 1
        nap(seconds)
        self.right[k] += 1
        return self.left[k]

    def slow_winding(self, k: int, other: int, seconds: float) -> int:
        self.left[k] += 1
        self.left[other] += 1
        nap(seconds)
        self.right[k] += 1
        self.right[other] += 1
        return 0
