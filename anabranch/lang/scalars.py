"""Scalars at run time: one coercing function per type without parameters.

Python's own values take the first branch; numpy's scalars are taken as their Python kin. An object of a class of the
caller's that is derived from int, float, str or bytes is taken as what it is underneath: `type` does not ask it, and
neither do the methods of those types, so that what it overrides decides nothing. Law: no code of the caller runs for
a value that is accepted.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, NoReturn, cast

from anabranch.lang import types
from anabranch.lang.types import Type

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


def show(value: Any) -> str:
    """A value for a message: short, with its type."""
    text = short(value)
    return text if value is None else f"{text} ({type(value).__name__})"


def short(value: Any) -> str:
    """The start of the text of a value, whatever its `repr` does.

    >>> short(10**5000), short("a" * 100)
    ('an int of 16610 bits', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...")
    """
    try:
        text = repr(value)
    except Exception:  # Python writes no int of more than 4300 digits
        return f"an int of {value.bit_length()} bits" if type(value) is int else object.__repr__(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def reject(expected: Type, value: Any, why: str = "") -> NoReturn:
    raise TypeError(f"expected {expected}, got {show(value)}{why and ': ' + why}")


def _numpy_kind(value: Any) -> str:
    """The dtype kind of a numpy scalar, '' for all else; numpy need not be imported to ask."""
    if type(value).__module__ != "numpy" or getattr(value, "ndim", 1) != 0 or not hasattr(value, "item"):
        return ""
    return str(value.dtype.kind)


def as_int(value: Any) -> int:
    if type(value) is not int:
        if issubclass(type(value), int) and type(value) is not bool:
            value = int.__int__(value)
        elif _numpy_kind(value) in ("i", "u"):
            value = int(value)
        else:
            reject(types.INT, value)
    if INT_MIN <= value <= INT_MAX:
        return cast(int, value)
    raise OverflowError(f"expected int, got {show(value)}: it does not fit 64 bits")


def as_float(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is bool:
        reject(types.FLOAT, value)
    kind = _numpy_kind(value)
    if issubclass(type(value), float):
        return float.__float__(value)
    if kind == "f":
        exact = float(value)
        if exact != value and value == value:
            raise ValueError(f"expected float, got {show(value)}: no 64-bit float is exactly that")
        return exact
    if issubclass(type(value), int):
        value = int.__int__(value)
    elif kind in ("i", "u"):
        value = int(value)
    else:
        reject(types.FLOAT, value)
    try:
        exact = float(value)
    except OverflowError:
        raise OverflowError(f"expected float, got {show(value)}: it is too large") from None
    if exact != value:
        raise ValueError(f"expected float, got {show(value)}: no float is exactly that; write float(x) to round it")
    return exact


def as_bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    if _numpy_kind(value) == "b":
        return bool(value)
    reject(types.BOOL, value)


def as_str(value: Any) -> str:
    if not issubclass(type(value), str):
        reject(types.STR, value)
    text: str = value if type(value) is str else str.__str__(value)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"expected str, got {show(value)}: it has a lone surrogate and is no UTF-8 text") from None
    return text


def as_bytes(value: Any) -> bytes:
    if not issubclass(type(value), bytes):
        reject(types.BYTES, value)
    return value if type(value) is bytes else bytes(memoryview(value))


def as_none(value: Any) -> None:
    if value is not None:
        reject(types.NONE, value)


def as_date(value: Any) -> dt.date:
    if type(value) is dt.date:
        return value
    if _numpy_kind(value) == "M":
        value = _numpy_time(types.DATE, value, "D")
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        reject(types.DATE, value, "a datetime is no date; write .date()" if isinstance(value, dt.datetime) else "")
    return dt.date(value.year, value.month, value.day)


def _as_moment(expected: Type, value: Any) -> dt.datetime:
    if _numpy_kind(value) == "M":
        value = _numpy_time(expected, value, "us")
    if not isinstance(value, dt.datetime):
        reject(expected, value)
    if type(value) is dt.datetime:
        return value
    if value != value:
        reject(expected, value, "it is no time")
    if getattr(value, "nanosecond", 0):
        raise ValueError(f"expected {expected}, got {show(value)}: a datetime has microseconds, this has nanoseconds")
    return dt.datetime.combine(dt.date(value.year, value.month, value.day), value.timetz())


def as_datetime(value: Any) -> dt.datetime:
    moment = _as_moment(types.DATETIME, value)
    if moment.tzinfo is not None:
        reject(types.DATETIME, value, "it has a time zone; declare ab.UTCDateTime")
    return moment.replace(fold=0) if moment.fold else moment


def as_utc(value: Any) -> dt.datetime:
    moment = _as_moment(types.UTC_DATETIME, value)
    if moment.tzinfo is dt.UTC:
        return moment.replace(fold=0) if moment.fold else moment
    if moment.tzinfo is None or moment.utcoffset() is None:
        reject(
            types.UTC_DATETIME, value, "it has no time zone; write .replace(tzinfo=timezone.utc) or declare datetime"
        )
    try:
        return moment.astimezone(dt.UTC)
    except OverflowError:
        raise OverflowError(f"expected {types.UTC_DATETIME}, got {show(value)}: in UTC it is out of range") from None


_MICROSECOND = dt.timedelta(microseconds=1)
# Arrow counts durations in 64 bits of microseconds, which end before Python's timedelta does.
_DELTA_MIN, _DELTA_MAX = INT_MIN * _MICROSECOND, INT_MAX * _MICROSECOND


def as_timedelta(value: Any) -> dt.timedelta:
    if _numpy_kind(value) == "m":
        value = _numpy_time(types.TIMEDELTA, value, "us")
    if not isinstance(value, dt.timedelta):
        reject(types.TIMEDELTA, value)
    if not _DELTA_MIN <= value <= _DELTA_MAX:
        raise OverflowError(f"expected timedelta, got {show(value)}: it does not fit 64 bits of microseconds")
    if type(value) is dt.timedelta:
        return value
    if getattr(value, "nanoseconds", 0):
        raise ValueError(f"expected timedelta, got {show(value)}: a timedelta has microseconds, this has nanoseconds")
    return dt.timedelta(value.days, value.seconds, value.microseconds)


def _numpy_time(expected: Type, value: Any, unit: str) -> Any:
    converted = value.astype(f"{value.dtype.kind}8[{unit}]")
    if converted != value:  # also NaT, which equals nothing
        raise ValueError(f"expected {expected}, got {show(value)}: it is not exactly one")
    item = converted.item()
    # numpy wraps where the conversion overflows, and gives an int where Python has no such time.
    if isinstance(item, int) or converted.astype(value.dtype) != value:
        raise OverflowError(f"expected {expected}, got {show(value)}: it is out of range")
    return item


SCALARS: dict[Type, Callable[[Any], Any]] = {
    types.INT: as_int,
    types.FLOAT: as_float,
    types.BOOL: as_bool,
    types.STR: as_str,
    types.BYTES: as_bytes,
    types.NONE: as_none,
    types.DATE: as_date,
    types.DATETIME: as_datetime,
    types.UTC_DATETIME: as_utc,
    types.TIMEDELTA: as_timedelta,
}
