"""A variable that may be None later has room for it from the start; None is false whatever it could hold."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import anabranch as ab
from anabranch.engines.embedded import App


class Pair(NamedTuple):
    a: int
    b: int


class Nones(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def lost(self, k: int, xs: list[int]) -> int:
        """A parameter that becomes None."""
        if k > 3:
            k = None
        return len(xs) if k is None else k

    def lost_between(self, k: int, y: int) -> int:
        """A variable that becomes None at another place than the one at which it was made."""
        n = self.t[k] + k
        self.t[y] += 1
        if n > 3:
            n = None
        return -1 if n is None else n

    def orelse(self, xs: list[int] | None) -> list[int]:
        return xs or [8]

    def called(self, k: int) -> list[int]:
        return self.orelse([k])

    def either(self, k: int, xs: list[int]) -> list[int]:
        ys: list[int] | None = xs
        if k > 3:
            ys = None
        return ys or [9]

    def both(self, k: int, xs: list[int]) -> list[int] | None:
        ys: list[int] | None = xs
        if k > 3:
            ys = None
        return ys and [9]

    def third(self, k: int, xs: list[int]) -> list[int]:
        ys: list[int] | None = xs
        ones = [1]
        zs: list[int] | None = ones
        if k > 3:
            ys = None
        if k > 4:
            zs = None
        return ys or zs or [9]

    def record(self, k: int, xs: list[int]) -> int:
        p: Pair | None = Pair(k, 1)
        if k > 3:
            p = None
        return (p or Pair(7, len(xs))).a


@pytest.mark.parametrize("workers", [1, 2])
def test_kernels_know_none_from_what_it_stands_for(workers: int) -> None:
    plain = Nones()
    with App(Nones(), workers, tier="compiled") as app:
        for name in ("lost", "either", "both", "third", "record"):
            assert app._engine.tiers.is_fast(name), app._engine.tiers.fallback(name)
            for k in (0, 3, 4, 5):
                assert app.entries[name](k, [5]) == plain.entries[name](k, [5]), (name, k)
                assert app.entries[name](k, []) == plain.entries[name](k, []), (name, k)
        for k in (0, 3, 4):
            assert app.lost_between(k, k + 1) == plain.lost_between(k, k + 1)
            assert app.called(k) == plain.called(k)
        assert (app.orelse(None), app.orelse([]), app.orelse([1])) == ([8], [8], [1])
