"""Dates, times and durations as integers: days and microseconds since 1970 began, microseconds.

They are those of Arrow, so a column of them is read as it is. Laws: each function gives what Python gives for what its
integers stand for, and leaves where Python raises; a duration is one that fits 64 bits.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from anabranch.kernels.native.numbers import floor_divide, modulo
from anabranch.kernels.native.words import Leave, add, inlined, multiply, subtract
from anabranch.lang.types import DATE, DATETIME, TIMEDELTA, UTC_DATETIME, Type

SECOND, DAY = 1_000_000, 86_400_000_000
_EPOCH, _UTC_EPOCH = dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
FIRST_DAY = _EPOCH.toordinal()
_DAYS = dt.date.min.toordinal() - FIRST_DAY, dt.date.max.toordinal() - FIRST_DAY
_FIRST, _LAST = _DAYS
_EARLIEST, _LATEST = _FIRST * DAY, _LAST * DAY + DAY - 1
RANGES: dict[Type, tuple[int, int]] = {
    DATE: _DAYS,
    DATETIME: (_EARLIEST, _LATEST),
    UTC_DATETIME: (_EARLIEST, _LATEST),
    TIMEDELTA: (-(2**63), 2**63 - 1),
}


def _count(delta: dt.timedelta) -> int:
    return delta.days * DAY + delta.seconds * SECOND + delta.microseconds


TO_WORD: dict[Type, Callable[[Any], int]] = {
    DATE: lambda x: x.toordinal() - FIRST_DAY,
    DATETIME: lambda x: _count(x - _EPOCH),
    UTC_DATETIME: lambda x: _count(x - _UTC_EPOCH),
    TIMEDELTA: _count,
}
FROM_WORD: dict[Type, Callable[[int], Any]] = {
    DATE: lambda n: dt.date.fromordinal(n + FIRST_DAY),
    DATETIME: lambda n: _EPOCH + dt.timedelta(microseconds=n),
    UTC_DATETIME: lambda n: _UTC_EPOCH + dt.timedelta(microseconds=n),
    TIMEDELTA: lambda n: dt.timedelta(microseconds=n),
}


@inlined
def moment_later(moment: int, delta: int) -> int:
    found = add(moment, delta)
    if found < _EARLIEST or found > _LATEST:
        raise Leave
    return found


@inlined
def moment_earlier(moment: int, delta: int) -> int:
    found = subtract(moment, delta)
    if found < _EARLIEST or found > _LATEST:
        raise Leave
    return found


@inlined
def day_later(day: int, delta: int) -> int:
    """Python looks at the whole days of a duration only."""
    found = add(day, floor_divide(delta, DAY))
    if found < _FIRST or found > _LAST:
        raise Leave
    return found


@inlined
def day_earlier(day: int, delta: int) -> int:
    found = subtract(day, floor_divide(delta, DAY))
    if found < _FIRST or found > _LAST:
        raise Leave
    return found


@inlined
def days_between(a: int, b: int) -> int:
    return multiply(subtract(a, b), DAY)


@inlined
def day_of(moment: int) -> int:
    return floor_divide(moment, DAY)


@inlined
def weekday_of(day: int) -> int:
    return modulo(day + 3, 7)  # the first day was a Thursday


# A year that begins in March has its leap day last, so months and days follow from the day of the year alone.
_ERA, _SHIFT = 146_097, 719_468  # days of 400 years, and from the first of March of the year 0 to 1970


@inlined
def _day_of_year(day: int) -> int:
    """Since the first of March."""
    at = modulo(day + _SHIFT, _ERA)
    years = (at - at // 1460 + at // 36_524 - at // 146_096) // 365
    return at - (365 * years + years // 4 - years // 100)


@inlined
def month_of(day: int) -> int:
    month = (5 * _day_of_year(day) + 2) // 153
    return month + 3 if month < 10 else month - 9


@inlined
def day_of_month(day: int) -> int:
    at = _day_of_year(day)
    return at - (153 * ((5 * at + 2) // 153) + 2) // 5 + 1


@inlined
def year_of(day: int) -> int:
    era = floor_divide(day + _SHIFT, _ERA)
    at = modulo(day + _SHIFT, _ERA)
    years = (at - at // 1460 + at // 36_524 - at // 146_096) // 365
    return 400 * era + years + (1 if month_of(day) <= 2 else 0)
