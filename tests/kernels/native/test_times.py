"""Dates, times, durations and records with defaults inside kernels: what the class gives, errors included."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.engines.embedded import App
from tests.kernels.native.test_widened import answer

UTC = dt.UTC
DATES = [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]
MOMENTS = [datetime.min, datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2026, 3, 1, 12, 7, 9, 5), datetime.max]
DELTAS = [timedelta(microseconds=n) for n in (0, 1, -1, 2**63 - 1, -(2**63))]
DELTAS += [
    timedelta(days=1),
    timedelta(days=-1, microseconds=1),
    timedelta(hours=5, seconds=7),
    timedelta(days=400_000),
]


class Visit(NamedTuple):
    at: datetime
    stayed: timedelta = timedelta(0)
    count: int = 0


@dataclass(frozen=True)
class Card:
    day: date
    name: str = "none"
    share: float = 0.5
    note: str | None = None


class Times(ab.Program):
    seen: ab.Partitioned[ab.Table[str, Visit]]
    days: ab.Partitioned[ab.Table[int, date]]
    zoned: ab.Partitioned[ab.Table[int, ab.UTCDateTime | None]]

    def __init__(self, pause: timedelta = timedelta(hours=2)) -> None:
        self.pause = pause

    def deltas(self, a: timedelta, b: timedelta) -> tuple[timedelta, timedelta, bool, bool, bool]:
        return a + b, a - b, a < b, a == b, bool(a)

    def ratios(self, a: timedelta, b: timedelta) -> tuple[int, timedelta]:
        return a // b, a % b

    def ratio(self, a: timedelta, b: timedelta) -> float:
        return a / b

    def scaled(self, a: timedelta, n: int) -> tuple[timedelta, timedelta, timedelta]:
        return a * n, n * a, a // n

    def parts(self, a: timedelta) -> tuple[int, int, int, float]:
        return a.days, a.seconds, a.microseconds, a.total_seconds()

    def signs(self, a: timedelta) -> timedelta:
        return -a + (+a) + timedelta(1, 2, 3, minutes=4) - self.pause

    def later(self, m: datetime, a: timedelta) -> tuple[datetime, datetime]:
        return m + a, a + m

    def earlier(self, m: datetime, a: timedelta) -> datetime:
        return m - a

    def apart(self, m: datetime, n: datetime) -> tuple[timedelta, bool, bool, datetime]:
        return m - n, m <= n, m != n, max(m, n)

    def clock(self, m: datetime) -> tuple[int, int, int, int, int, int, int, date]:
        return m.year, m.month, m.day, m.hour, m.minute, m.second, m.microsecond, m.date()

    def week(self, m: datetime, d: date) -> tuple[int, int, int, int, int, int]:
        return m.weekday(), m.isoweekday(), d.weekday(), d.year, d.month * 100 + d.day, d.toordinal()

    def day_later(self, d: date, a: timedelta) -> date:
        return d + a

    def day_earlier(self, d: date, a: timedelta) -> date:
        return d - a

    def days_apart(self, d: date, e: date) -> tuple[timedelta, bool]:
        return d - e, d > e

    def order(self, m: datetime, n: datetime) -> list[datetime]:
        return sorted([m, n, datetime(2000, 1, 1), m])

    def visit(self, name: str, m: datetime) -> timedelta:
        old = self.seen.get(name)
        if old is None:
            self.seen[name] = Visit(m)
            return timedelta(0)
        self.seen[name] = old._replace(stayed=m - old.at, count=old.count + 1)
        return self.seen[name].stayed

    def mark(self, key: int, d: date, z: ab.UTCDateTime | None) -> date | None:
        before = self.days.get(key)
        self.days[key] = d
        self.zoned[key] = z
        return before

    def stamp(self, key: int) -> float:
        z = self.zoned[key]
        return z.timestamp() if z is not None else -1.0

    def card(self, d: date, x: float) -> Card:
        return replace(Card(d), share=x, note=None) if x > 0 else Card(d, note="low")


def rows() -> dict[str, list[tuple[Any, ...]]]:
    pairs = list(itertools.product(DELTAS, DELTAS))
    moments = list(itertools.product(MOMENTS, MOMENTS))
    return {
        "deltas": pairs,
        "ratios": pairs,
        "ratio": pairs,
        "scaled": list(itertools.product(DELTAS, (0, 1, -3, 2**40))),
        "parts": [(a,) for a in DELTAS],
        "signs": [(a,) for a in DELTAS],
        "later": list(itertools.product(MOMENTS, DELTAS)),
        "earlier": list(itertools.product(MOMENTS, DELTAS)),
        "apart": moments,
        "clock": [(m,) for m in MOMENTS],
        "week": list(itertools.product(MOMENTS, DATES)),
        "day_later": list(itertools.product(DATES, DELTAS)),
        "day_earlier": list(itertools.product(DATES, DELTAS)),
        "days_apart": list(itertools.product(DATES, DATES)),
        "order": moments,
        "visit": [(name, m) for m in MOMENTS for name in ("a", "b")],
        "mark": [
            (n % 3, d, None if n % 2 else datetime(1999, 5, 1, n, tzinfo=UTC)) for n, d in enumerate(DATES + DATES)
        ],
        "stamp": [(0,), (1,), (2,), (3,)],
        "card": list(itertools.product(DATES, (0.0, 2.5))),
    }


def test_calls_are_as_plain() -> None:
    plain = Times()
    with App(Times(), 1, tier="compiled") as app:
        for entry, given in rows().items():
            assert app._engine.tiers.is_fast(entry), app._engine.tiers.fallback(entry)
            for row in given:
                found, expected = (answer(getattr(target, entry), row) for target in (app, plain))
                assert found == expected, (entry, row)
        assert app.state.seen.copy() == plain.seen and app.state.days.copy() == plain.days
        assert app.state.zoned.copy() == plain.zoned


@pytest.mark.parametrize("workers", [1, 2])
def test_columns_of_arrow_are_as_plain(workers: int) -> None:
    plain = Times()
    with App(Times(), workers, tier="compiled") as app:
        for entry in ("visit", "mark", "clock", "days_apart"):
            given = rows()[entry] * 50
            names = list(app.entries[entry].__signature__.parameters)
            expected = [getattr(plain, entry)(*row) for row in given]
            types = {"z": pa.timestamp("us", tz="UTC")}
            columns = {n: pa.array([r[i] for r in given], type=types.get(n)) for i, n in enumerate(names)}
            assert app._engine.tiers.block(app.entries[entry]._spec, pa.table(columns)) is not None
            found = app.entries[entry].many(pa.table(columns))
            assert found["result"].to_pylist() == [as_arrow(x) for x in expected]
        assert app.state.days.to_arrow().sort_by("key")["value"].to_pylist() == [
            plain.days[k] for k in sorted(plain.days)
        ]


def as_arrow(value: Any) -> Any:
    return {str(i): x for i, x in enumerate(value)} if isinstance(value, tuple) else value


def test_times_that_python_has_not_are_refused() -> None:
    with App(Times(), 1, tier="compiled") as app:
        beyond = pa.table({"m": pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("us"))})
        with pytest.raises(ab.BadInput, match="row 1"):
            app.clock.many(beyond)
