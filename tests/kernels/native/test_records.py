"""Records are made and compared in kernels as their classes do it; what is not plainly so is Python's."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import InitVar, dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

import pytest

import anabranch as ab
from anabranch.engines.embedded import App
from tests.kernels.native.test_widened import answer


@dataclass(frozen=True)
class Named:
    a: int
    b: int = field(default=5, kw_only=True)
    c: int = 7


@dataclass(frozen=True)
class Made:
    a: int
    b: int = field(default=5, init=False)


@dataclass(frozen=True)
class Helped:
    a: int
    s: InitVar[int] = 4
    b: int = 3


@dataclass(frozen=True)
class Uncompared:
    a: int
    b: int = field(default=0, compare=False)


@dataclass(frozen=True, eq=False)
class Heir(Named):
    d: int = 1


class Maybe(NamedTuple):
    a: int
    x: float | None = None


class Held(NamedTuple):
    v: ab.DenseVector
    n: int


class Records(ab.Program):
    def by_name(self, n: int) -> tuple[int, int, int]:
        r = Named(1, n)
        return r.a, r.b, r.c

    def both(self, n: int) -> Named:
        return Named(1, n, b=n)

    def helped(self, n: int) -> tuple[int, int]:
        r = Helped(1, n)
        return r.a, r.b

    def made(self, n: int) -> int:
        return Made(n).b

    def compared(self, n: int) -> tuple[bool, bool]:
        return Uncompared(1, n) == Uncompared(1, 2), Heir(1, d=n) == Heir(1, d=2)

    def kept_int(self, n: int) -> float:
        x = Maybe(n, n).x
        return 9.0 if x is None else -x

    def replaced_int(self, n: int) -> float:
        x = Maybe(n)._replace(x=n).x
        return 9.0 if x is None else -x

    def replaced(self, n: int) -> Named:
        return replace(Named(n), b=n + 1)

    def same(self, v: ab.DenseVector) -> tuple[bool, bool, int]:
        return (v, 1) == (v, 1), v in [v.copy(), v], [v, v, v + 1.0].count(v)

    def held(self, v: ab.DenseVector) -> bool:
        return Held(v, 1) == Held(v, 1)

    def moment(self, m: ab.UTCDateTime) -> ab.UTCDateTime:
        return m

    def span(self, n: int) -> timedelta:
        return timedelta(n, hours=2)


def test_records_are_as_plain() -> None:
    plain = Records()
    vectors = [ab.DenseVector(v) for v in ([], [1.0], [math.nan], [math.nan, 2.0])]
    with App(Records(), 1, tier="compiled") as app:
        for entry in ("by_name", "both", "helped", "made", "compared", "kept_int", "replaced_int", "replaced", "span"):
            for n in (0, 2, 9):
                found, expected = (answer(getattr(target, entry), (n,)) for target in (app, plain))
                assert found == expected, (entry, n)
        for entry in ("same", "held"):
            for v in vectors:
                assert answer(getattr(app, entry), (v,)) == answer(getattr(plain, entry), (v,)), (entry, v)
        folded = datetime(2020, 1, 1, fold=1, tzinfo=dt.UTC)
        assert repr(app.moment(folded)) == repr(plain.moment(folded))
        assert all(app._engine.tiers.is_fast(e) for e in ("by_name", "both", "replaced", "same", "held", "span"))
        assert not any(app._engine.tiers.is_fast(e) for e in ("helped", "made", "compared", "kept_int", "replaced_int"))


class Odd(ab.Program):
    def twice(self, n: int) -> timedelta:
        return timedelta(n, days=2)


def test_a_duration_that_python_refuses_is_left_to_python() -> None:
    with App(Odd(), 1, tier="compiled") as app, pytest.raises(TypeError):
        app.twice(1)


class Crowd(ab.Program):
    seen: ab.Partitioned[ab.Table[int, int]]

    def put(self, key: int) -> None:
        self.seen[key] = 1


def test_keys_that_were_chosen_to_meet_do_not() -> None:
    """Keys whose hashes agree in all bits but the highest: in a fixed place of the index they would fill a chunk."""
    mask = (1 << 64) - 1

    def unmix(h: int) -> int:
        z = h ^ (h >> 31) ^ (h >> 62)
        z = (z * pow(0x94D049BB133111EB, -1, 1 << 64)) & mask
        z ^= (z >> 27) ^ (z >> 54)
        z = (z * pow(0xBF58476D1CE4E5B9, -1, 1 << 64)) & mask
        z ^= (z >> 30) ^ (z >> 60)
        return (z - 0x9E3779B97F4A7C15) & mask

    keys = [unmix(n << 46) for n in range(1, 40_000)] + [unmix(n) for n in range(40_000)]
    signed = [k - (1 << 64) if k >> 63 else k for k in keys]
    with App(Crowd(), 1, tier="compiled") as app:
        app.put.many({"key": signed})
        assert len(app.state.seen) == len(set(signed))
