"""The program of several benchmarks."""

from __future__ import annotations

import anabranch as ab


class Sums(ab.Program):
    totals: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def add(self, key: int, value: float) -> None:
        self.totals[key] += value

    def total(self, key: int) -> float:
        return self.totals[key]
