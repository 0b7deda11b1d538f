"""Sums of floats in kernels: the bits of CPython's `sum`, with and without the errors that it keeps since 3.12."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import anabranch as ab
from anabranch.kernels.native import reductions
from anabranch.lang.values import same_value


class Sums(ab.Program):
    seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def whole(self, k: int, xs: list[float]) -> float:
        self.seen[k] += 1
        return sum(xs)

    def from_float(self, k: int, xs: list[float]) -> float:
        self.seen[k] += 1
        return sum([x for x in xs], start=-0.0)  # noqa: C416

    def from_int(self, k: int, xs: list[float]) -> float:
        self.seen[k] += 1
        return sum((x for x in xs if x < 1e300), 7)


class Uses(ab.Program):
    """An empty sum is the int 0, which is not always as good as 0.0."""

    seen: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def negated(self, k: int, xs: list[float]) -> float:
        self.seen[k] += sum(xs)
        return -sum(xs)

    def remainder(self, k: int, xs: list[float]) -> float:
        self.seen[k] += 1.0
        return sum(xs) % -3

    def ratio(self, k: int, xs: list[float]) -> float:
        self.seen[k] += 1.0
        total = sum(xs)
        return total / -3 + 2 * total + total * total

    def chosen(self, k: int, xs: list[float]) -> float | None:
        total: float | None = sum(xs, 0.0) if sum(xs) else None
        self.seen[k] = 0.0 if total is None else total
        return total

    def walked(self, k: int, xs: list[float]) -> float:
        self.seen[k] += 1.0
        total = 0
        for x in xs:
            total = total + x
        return total

    def compared(self, k: int, xs: list[float]) -> tuple[bool, bool, int, float]:
        self.seen[k] += 1.0
        return (sum(xs) > 0, sum(xs) >= 0.5, round(sum(xs) / 1e10), max(sum(xs), 0.25))

    def helped(self, k: int, xs: list[float]) -> float:
        self.seen[k] += 1.0
        return self._half(sum(xs)) + abs(sum(xs)) + math.atan(sum(xs))

    def _half(self, total: float) -> float:
        return total / 2


SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, 1e16, 1.0, -1e16, 0.1]
LISTS = [[], [-0.0], [0.1] * 10, [1e16, 1.0, -1e16], [math.inf, 1.0], [1e308, 1e308], [math.inf, -math.inf]]


def lists(count: int) -> Iterator[list[float]]:
    chance = random.Random(7)
    yield from LISTS
    for _ in range(count):
        length = chance.randrange(9)
        yield [
            chance.choice(SPECIAL) if chance.random() < 0.3 else chance.uniform(-1, 1) * 10.0 ** chance.randrange(-9, 9)
            for _ in range(length)
        ]


def added(xs: list[float], start: float, is_int: bool, compensated: bool) -> float:
    """What CPython does: `Python/bltinmodule.c`."""
    total, error = start, 0.0
    for i, x in enumerate(xs):
        both = total + x
        if compensated and not (is_int and i == 0):
            error += (total - both) + x if abs(total) >= abs(x) else (x - both) + total
        total = both
    return total + error if error and math.isfinite(error) else total


def test_what_cpython_does() -> None:
    compensated = sys.version_info >= (3, 12)
    assert compensated == reductions.COMPENSATED
    for xs in lists(2000):
        assert same_value(added(xs, 0.0, True, compensated), float(sum(xs)))
        assert same_value(added(xs, 7.0, True, compensated), float(sum(xs, 7)))
        assert same_value(added(xs, -0.0, False, compensated), sum(xs, -0.0))


@pytest.mark.parametrize("compensated", [False, True])
def test_sums_have_the_bits_of_cpython(compensated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reductions, "COMPENSATED", compensated)
    given = [xs for xs in lists(500) if xs]
    batch = {"k": [1] * len(given), "xs": given}
    with ab.run(Sums(), workers=1, tier="compiled") as app:
        assert all(app._engine.tiers.is_fast(name) for name in app.entries)
        few = [[x for x in xs if x < 1e300] for xs in given]
        wanted = {
            "whole": [added(xs, 0.0, True, compensated) for xs in given],
            "from_float": [added(xs, -0.0, False, compensated) for xs in given],
            "from_int": [added(xs, 7.0, True, compensated) for xs in few],
        }
        for name, results in wanted.items():
            found: Any = app.entries[name].many(batch)
            assert same_value(found["result"], results), name


def test_an_empty_sum_is_an_int() -> None:
    plain = Uses()
    with ab.run(Uses(), workers=1, tier="compiled") as app:
        assert [name for name in app.entries if not app._engine.tiers.is_fast(name)] == []
        for name, entry in plain.entries.items():
            for xs in LISTS[:4]:
                got, wanted = app.entries[name](1, xs), entry(1, xs)
                assert same_value(got, wanted), (name, xs)
        assert same_value(dict(app.state.seen.items()), dict(plain.seen.items()))
