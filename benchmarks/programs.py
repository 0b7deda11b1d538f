"""The programs of several benchmarks."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

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


class Ways(ab.Program):
    """An entry for each way in which workers work together."""

    links: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    totals: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)
    seen: ab.Partial[ab.Table[int, int]] = ab.Table(default=0)

    def link(self, key: int, to: int) -> None:
        self.links[key] = to

    def add(self, key: int, value: float) -> None:
        """One stage."""
        self.totals[key] += value

    def pass_on(self, key: int, value: float) -> None:
        """Two, and an exchange between them."""
        to = self.links[key]
        self.totals[to] += value

    def times_seen(self, key: int) -> int:
        """Everywhere, and gathered."""
        counts = ab.everywhere(self.seen[key])
        return sum(ab.gather(counts))

    def transfer(self, source: int, target: int, value: float) -> None:
        """Winding: two keys of one state."""
        self.totals[source] -= value
        self.totals[target] += value


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


class Turns(ab.Program):
    """A row keeps its worker at work: so many turns of a sum that cannot be shortened, to count one or nothing."""

    totals: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def add(self, key: int, value: float, turns: int) -> None:
        x = value
        for _ in range(turns):
            x = 3.9 * x * (1.0 - x)
        self.totals[key] += 1.0 if x > 0.5 else 0.0

    def where(self, key: int) -> int:
        self.totals[key] += 0.0
        return process(key)


@ab.pure
def wait(seconds: float) -> float:
    time.sleep(seconds)
    return 0.0


class Waits(ab.Program):
    """A row keeps its worker waiting, as if it were computed elsewhere, on a core that no other worker has."""

    totals: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def add(self, key: int, value: float, seconds: float) -> None:
        self.totals[key] += value + wait(seconds)


class WindowedWords(ab.Program):
    """Words counted by window of event time: the window is part of the key."""

    counts: ab.Partitioned[ab.Table[tuple[int, str], int]] = ab.Table(default=0)

    def __init__(self, size: int) -> None:
        self.size = size  # milliseconds

    def add(self, time: int, line: str) -> None:
        window = time // self.size
        for word in line.split():
            self.counts[window, word] += 1


class Batches:
    """Points in small batches, as arrays, with their labels."""

    def __init__(self) -> None:
        self.held: list[tuple[Any, Any]] = []

    @ab.writes
    def hold(self, x: list[list[float]], y: list[float]) -> None:
        self.held.append((np.array(x), np.array(y)))

    @ab.reads
    def learned(self, weights: list[float], rate: float) -> list[float]:
        """One step down the gradient for each batch."""
        w = np.array(weights)
        for x, y in self.held:
            w += rate * x.T @ (y - 1 / (1 + np.exp(-(x @ w))))
        return list(w.tolist())


class HeldRegression(ab.Program):
    """Logistic regression over points that stay at the workers: a pass moves weights only."""

    batches: ab.Partial[Batches]

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def hold(self, x: list[list[float]], y: list[float]) -> None:
        self.batches.hold(x, y)

    def learn(self, weights: list[float]) -> list[float]:
        """Every worker goes over its points; the mean of what they have learned."""
        parts = ab.gather(ab.everywhere(self.batches).learned(weights, self.rate))
        return [sum(part[i] for part in parts) / len(parts) for i in range(len(weights))]
