"""A program with configuration and templates of every kind, of types of another module."""

from __future__ import annotations

import datetime as dt

import numpy as np

import anabranch as ab
from tests.drivers.processes.parcels.parts import Point, Rule, Window


class Laden(ab.Program):
    counts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=100)
    windows: ab.Partitioned[Window]
    weights: ab.Partial[ab.DenseVector]
    table: ab.Partitioned[ab.Table[int, Point]]
    steps: ab.Replicated[ab.Value[int]]
    rules: dict[str, Rule]

    def __init__(self, size: int, rules: dict[str, Rule], matrix: np.ndarray) -> None:
        self.windows = Window(size, 0.5)
        self.weights = ab.DenseVector.zeros(size)
        self.table = ab.Table(default=Point(7, 0.5))
        self.steps = ab.Value(size * 10)
        self.rules = rules
        self.matrix = matrix
        self.names = {"a": [1, 2], "b": [3]}
        self.days = (dt.date(2026, 1, 2), dt.timedelta(hours=1), dt.datetime(2026, 1, 2, tzinfo=dt.UTC))
        self.raw = b"\0\xff"

    def limit(self, k: int, name: str) -> float:
        point = self.table[k]
        self.table[k] = Point(point.x + 1, point.y)
        return self.rules[name].limit + point.x + self.rules[name].at.y

    def where(self, k: int) -> Point:
        return self.table[k]

    def name(self, k: int) -> int:
        self.counts[k] += self.names["a"][1]
        return self.counts[k] + self.days[0].year + len(self.raw)

    def step(self) -> int:
        ab.everywhere(self.steps).value = self.steps.value + 1
        return self.steps.value

    def learn(self, k: int) -> float:
        self.weights[k] += 1.0
        return sum(ab.gather(ab.everywhere(self.weights).sum()))

    def count(self, k: int) -> int:
        self.counts[k] += 1
        return self.counts[k]

    def push(self, k: int, x: float) -> float:
        self.windows.add(k, x)
        return self.windows.total(k)
