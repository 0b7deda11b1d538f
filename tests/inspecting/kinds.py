"""A program with states whose keys and values are of every kind, and with dense ones."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any, NamedTuple

import anabranch as ab


class Point(NamedTuple):
    x: int
    name: str | None


class Kinds(ab.Program):
    numbers: ab.Partitioned[ab.Table[int, float]]
    flags: ab.Partitioned[ab.Table[bool, int | None]]
    blobs: ab.Partitioned[ab.Table[bytes, dict[str, list[int]]]]
    pairs: ab.Partitioned[ab.Table[tuple[int, tuple[str, bool]], Point | None]]
    dense: ab.Partitioned[ab.DenseVector] = ab.DenseVector([float(i) for i in range(20)])
    square: ab.Partitioned[ab.DenseMatrix] = ab.DenseMatrix.zeros(5, 4)
    cells: ab.Partitioned[ab.Matrix]
    weights: ab.Partial[ab.DenseVector] = ab.partial(ab.DenseVector.zeros(3), merge=ab.mean)
    when: ab.Replicated[ab.Table[str, dt.datetime]]
    point: ab.Replicated[ab.Value[Point]] = ab.Value(Point(0, None))
    couple: ab.Replicated[ab.Value[tuple[int, str]]] = ab.Value((0, ""))
    maybe: ab.Replicated[ab.Value[Point | None]] = ab.Value(None)

    def number(self, k: int, x: float) -> None:
        self.numbers[k] = x

    def unnumber(self, k: int) -> None:
        self.numbers.pop(k, 0.0)

    def flag(self, k: bool, n: int | None) -> None:
        self.flags[k] = n

    def blob(self, k: bytes, word: str, n: int) -> None:
        self.blobs[k] = {word: [n, n]}

    def pair(self, a: int, b: str, c: bool, point: Point | None) -> None:
        self.pairs[a, (b, c)] = point

    def unpair(self, a: int, b: str, c: bool) -> None:
        self.pairs.pop((a, (b, c)), None)

    def fill(self, i: int, x: float) -> None:
        self.dense[i] = x

    def cell(self, i: int, j: int, x: float) -> None:
        self.square[i, j] = x

    def line(self, i: int) -> float:
        return self.square.row(i).sum()

    def spot(self, i: int, j: int, x: float) -> None:
        self.cells[i, j] = x

    def column(self, j: int) -> float:
        return self.cells.column(j).sum()

    def weigh(self, i: int, x: float) -> None:
        self.weights[i] = x

    def time(self, k: str, t: dt.datetime) -> None:
        ab.everywhere(self.when)[k] = t

    def place(self, x: int, name: str | None) -> None:
        ab.everywhere(self.point).value = Point(x, name)

    def join(self, n: int, s: str) -> None:
        ab.everywhere(self.couple).value = (n, s)

    def guess(self, x: int) -> None:
        ab.everywhere(self.maybe).value = Point(x, "guess") if x else None


def step(chance: random.Random, app: Any) -> None:
    k, n, x = chance.randrange(6), chance.randrange(9), chance.choice([0.0, 1.5, -2.0, float("nan")])
    word, flag = chance.choice(["", "a", "é"]), chance.random() < 0.5
    steps = [
        lambda: app.number.many({"k": [k, n, k], "x": [x, 1.0, 2.0]}),
        lambda: app.unnumber(k),
        lambda: app.flag(flag, n or None),
        lambda: app.blob(word.encode(), word, n),
        lambda: app.pair(n, word, flag, Point(n, word or None) if n else None),
        lambda: app.unpair(n, word, flag),
        lambda: app.fill(n, x),
        lambda: app.cell(k % 5, n % 4, x),
        lambda: app.spot(k, n, x),
        lambda: app.weigh(n % 3, x),
        lambda: app.time(word, dt.datetime(2026, 1, 1 + n)),
        lambda: app.place(n, word or None),
        lambda: app.join(n, word),
        lambda: app.guess(n % 2),
    ]
    chance.choice(steps)()
