"""Dense vectors and dense states inside kernels: what the class gives, bit for bit, errors and undo included."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import anabranch as ab
from anabranch.engines.embedded import App
from examples.kmeans import KMeans
from examples.logistic import LogisticRegression
from tests.kernels.native.test_widened import answer

VECTORS = [[], [1.5], [0.1, 0.2, 0.3], [-0.0, -0.0, 1e308], [math.nan, 1.0, math.inf], [3.0, -4.0, 1e-320]]
NUMBERS = [0.0, -0.0, 2.0, 1e308, math.nan, 3]


class Vectors(ab.Program):
    held: ab.Partitioned[ab.Table[int, ab.DenseVector]]
    weights: ab.Partial[ab.DenseVector]
    grid: ab.Replicated[ab.DenseMatrix]

    def __init__(self) -> None:
        self.weights = ab.partial(ab.DenseVector([1.0, 2.0, 3.0]), merge=ab.mean)
        self.grid = ab.DenseMatrix([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def both(
        self, v: ab.DenseVector, w: ab.DenseVector
    ) -> tuple[ab.DenseVector, ab.DenseVector, ab.DenseVector, float]:
        return v + w, v - w, v * w, v.dot(w)

    def ratio(self, v: ab.DenseVector, w: ab.DenseVector) -> ab.DenseVector:
        return v / w

    def each(self, v: ab.DenseVector, x: float) -> list[ab.DenseVector]:
        return [v + x, x + v, v - x, x - v, v * x, x * v, -v, v * 2]

    def shares(self, v: ab.DenseVector, x: float) -> ab.DenseVector:
        return v / x

    def folded(self, v: ab.DenseVector) -> tuple[float, float, int, bool, list[float], float]:
        total = 0.0
        w = v.copy()
        for i, x in enumerate(w):
            w[len(w) - 1 - i] = 2.5
            total += x * x
        return v.sum(), v.norm(), len(v), v == v.copy(), v.tolist(), total

    def at(self, v: ab.DenseVector, i: int, x: float) -> tuple[ab.DenseVector, float, ab.DenseVector]:
        w = v.copy()
        w[i] = x
        return w, v[i], ab.DenseVector.zeros(len(v)) + ab.DenseVector([x] * len(v))

    def keep(self, k: int, v: ab.DenseVector, x: float) -> float:
        old = self.held.get(k)
        if old is not None:
            v = old * 0.5 + v * x
        self.held[k] = v
        return self.held[k].sum()

    def kept(self, k: int) -> ab.DenseVector:
        return self.held[k]

    def drop(self, k: int) -> ab.DenseVector | None:
        return self.held.pop(k, None)

    def learn(self, x: ab.DenseVector, by: float, stop: int) -> None:
        step = by - ab.local(self.weights.dot(x))
        for i in range(len(x)):
            if i == stop:
                raise ValueError(f"stopped at {i}")
            self.weights[i] += step * x[i]

    def corner(self, i: int, j: int) -> tuple[float, ab.DenseVector]:
        return self.grid[i, j], self.grid.row(i)


def dense(values: list[float]) -> ab.DenseVector:
    return ab.DenseVector(values)


def rows() -> dict[str, list[tuple[Any, ...]]]:
    pairs = [(dense(v), dense(w)) for v, w in itertools.product(VECTORS, VECTORS)]
    scaled = [(dense(v), x) for v, x in itertools.product(VECTORS, NUMBERS)]
    return {
        "both": pairs,
        "ratio": pairs,
        "each": scaled,
        "shares": scaled,
        "folded": [(dense(v),) for v in VECTORS],
        "at": [(dense(v), i, 7.5) for v in VECTORS for i in (0, 2, -1, 3, 2**62)],
        "keep": [(k % 4, dense(v), x) for k, (v, x) in enumerate(itertools.product(VECTORS, (0.5, 1e308)))],
        "kept": [(k,) for k in range(5)],
        "drop": [(k,) for k in (1, 1, 3)],
        "learn": [
            (dense(v), 0.5, stop)
            for v in ([1.0, 0.1, 2.0], [1.0], [0.0, 0.0, 3.5], [1, 2, 3, 4])
            for stop in (-1, 0, 2)
        ],
        "corner": list(itertools.product((0, 2, 3, -1), (0, 1, 2))),
    }


def test_calls_are_as_plain() -> None:
    plain = Vectors()
    with App(Vectors(), 1, tier="compiled") as app:
        for entry, given in rows().items():
            assert app._engine.tiers.is_fast(entry), app._engine.tiers.fallback(entry)
            for row in given:
                found, expected = (answer(getattr(target, entry), row) for target in (app, plain))
                assert found == expected, (entry, row)
        assert repr(app.state.weights.copy()) == repr(plain.weights)
        assert repr(sorted(app.state.held.copy().items())) == repr(sorted(plain.held.items()))
        assert app.state.grid.nbytes >= 48


@pytest.mark.parametrize("stop", [-1, 2])
def test_a_batch_is_taken_back_whole(stop: int) -> None:
    """Rows of a kernel and a row of Python write the same words, in turns."""
    given = [dense([0.1 * n, 1.0, -0.3]) for n in range(200)]
    plain = Vectors()
    with App(Vectors(), 1, tier="compiled") as app:
        before = repr(app.state.weights.copy())
        batch = {"x": given, "by": [0.25] * 200, "stop": [-1] * 199 + [stop]}
        if stop < 0:
            app.learn.many(batch)
            for x in given:
                plain.learn(x, 0.25, -1)
            assert repr(app.state.weights.copy()) == repr(plain.weights)
        else:
            with pytest.raises(ValueError, match="stopped at 2"):
                app.learn.many(batch)
            assert repr(app.state.weights.copy()) == before


def test_the_examples_of_dense_state_compile() -> None:
    rng = np.random.default_rng(5)
    points = [dense(p) for p in rng.normal(0, 3, (300, 2)).tolist()]
    plain = KMeans(3, 2)
    with App(KMeans(3, 2), 1, tier="compiled") as app:
        assert app._engine.tiers.is_fast("add") and app._engine.tiers.is_fast("centre")
        for _ in range(2):
            assert list(app.add.many({"point": points})["result"]) == [plain.add(p) for p in points]
            assert app.step() == plain.step()  # by Python, on the same memory
        assert [app.centre(c) for c in range(3)] == [plain.centre(c) for c in range(3)]
    learner = LogisticRegression()
    with App(LogisticRegression(), 1, tier="compiled") as app:
        assert app._engine.tiers.is_fast("learn") and app._engine.tiers.is_fast("guess")
        for x, y in zip(rng.normal(0, 1, (100, 3)).tolist(), rng.integers(0, 2, 100).tolist(), strict=True):
            app.learn(dense(x), float(y))
            learner.learn(dense(x), float(y))
        assert app.predict(dense([1.0, 2.0, 3.0])) == learner.predict(dense([1.0, 2.0, 3.0]))
