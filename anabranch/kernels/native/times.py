"""Operators, attributes and methods of dates, times and durations, written as calls of `moments`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from anabranch.graph.code import Const, Expr
from anabranch.kernels.native.arithmetic import as_int
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.moments import DAY, FIRST_DAY, SECOND, TO_WORD
from anabranch.kernels.native.registers import Value
from anabranch.lang.types import BOOL, DATE, DATETIME, FLOAT, INT, TIMEDELTA, UTC_DATETIME

MOMENTS = (DATETIME, UTC_DATETIME)
# How much of the argument of that name one microsecond is.
UNITS = {
    "days": DAY,
    "seconds": SECOND,
    "microseconds": 1,
    "milliseconds": 1000,
    "minutes": 60 * SECOND,
    "hours": 3600 * SECOND,
    "weeks": 7 * DAY,
}
_CLOCK = {"hour": (3600 * SECOND, 24), "minute": (60 * SECOND, 60), "second": (SECOND, 60), "microsecond": (1, SECOND)}
_CALENDAR = {"year": "year_of", "month": "month_of", "day": "day_of_month"}
_BETWEEN = {  # two durations
    "+": (TIMEDELTA, "add({}, {})"),
    "-": (TIMEDELTA, "subtract({}, {})"),
    "%": (TIMEDELTA, "modulo({}, {})"),
    "//": (INT, "floor_divide({}, {})"),
    "/": (FLOAT, "true_divide({}, {})"),
}


def operator(op: str, left: Value, right: Value) -> Value:
    a, b = left.type, right.type
    if a == b == TIMEDELTA and op in _BETWEEN:
        t, text = _BETWEEN[op]
        return Value(t, (text.format(left.word, right.word),))
    if a == b and op == "-":
        name = "days_between" if a == DATE else "subtract"
        return Value(TIMEDELTA, (f"{name}({left.word}, {right.word})",))
    if a == TIMEDELTA and b in (*MOMENTS, DATE) and op == "+":
        left, right, a, b = right, left, b, a
    if a in (*MOMENTS, DATE) and b == TIMEDELTA and op in "+-":
        name = f"{'day' if a == DATE else 'moment'}_{'later' if op == '+' else 'earlier'}"
        return Value(a, (f"{name}({left.word}, {right.word})",))
    if op == "*" and b == TIMEDELTA and a in (INT, BOOL):
        left, right, a, b = right, left, b, a
    if a == TIMEDELTA and b in (INT, BOOL) and op in ("*", "//"):
        name = "multiply" if op == "*" else "floor_divide"
        return Value(TIMEDELTA, (f"{name}({left.word}, {as_int(right)})",))
    raise NotInKernels(f"{a} {op} {b} is not in the kernels' table")


def unary(op: str, operand: Value) -> Value:
    if operand.type == TIMEDELTA and op in ("neg", "pos"):
        return Value(TIMEDELTA, (f"negate({operand.word})" if op == "neg" else operand.word,))
    raise NotInKernels(f"{op} of {operand.type} is not in the kernels' table")


def attribute(receiver: Value, name: str) -> Value:
    t, word = receiver.type, receiver.word
    if t == TIMEDELTA and name == "days":
        return Value(INT, (f"floor_divide({word}, {DAY})",))
    if t == TIMEDELTA and name in ("seconds", "microseconds"):
        unit, of = (SECOND, 86_400) if name == "seconds" else (1, SECOND)
        return Value(INT, (f"modulo(floor_divide({word}, {unit}), {of})",))
    if t in MOMENTS and name in _CLOCK:
        unit, of = _CLOCK[name]
        return Value(INT, (f"modulo(floor_divide({word}, {unit}), {of})",))
    if name in _CALENDAR and t in (*MOMENTS, DATE):
        return Value(INT, (f"{_CALENDAR[name]}({_day(receiver)})",))
    raise NotInKernels(f"the attribute {name} of {t}")


def method(name: str, receiver: Value, args: list[Value]) -> Value:
    t = receiver.type
    if not args:
        if t == TIMEDELTA and name == "total_seconds":
            return Value(FLOAT, (f"true_divide({receiver.word}, {SECOND})",))
        if t == UTC_DATETIME and name == "timestamp":
            return Value(FLOAT, (f"true_divide({receiver.word}, {SECOND})",))
        if t in MOMENTS and name == "date":
            return Value(DATE, (_day(receiver),))
        if t in (*MOMENTS, DATE) and name == "toordinal":
            return Value(INT, (f"({_day(receiver)} + {FIRST_DAY})",))
        if t in (*MOMENTS, DATE) and name in ("weekday", "isoweekday"):
            more = " + 1" if name == "isoweekday" else ""
            return Value(INT, (f"(weekday_of({_day(receiver)}){more})",))
    raise NotInKernels(f"{name} of {t} is not in the kernels' table")


def duration(args: list[Value], names: list[str]) -> Value:
    """`timedelta(...)` of integers; `names` are those of the last arguments."""
    if any(v.type not in (INT, BOOL) for v in args):
        raise NotInKernels("a timedelta of other than integers")
    by_place = list(UNITS)[: len(args) - len(names)]
    if len(by_place) + len(names) != len(args) or not set(names) <= set(UNITS) - set(by_place):
        raise NotInKernels("a timedelta of arguments that it has not, or has twice")
    found = "0"
    for name, value in zip([*by_place, *names], args, strict=True):
        found = f"add({found}, multiply({as_int(value)}, {UNITS[name]}))"
    return Value(TIMEDELTA, (found,))


def moment(called: type, args: Sequence[Expr]) -> Value:
    """`date(...)` or `datetime(...)` of numbers that stand in the text."""
    numbers = [a.value for a in args if isinstance(a, Const) and a.value.__class__ is int]
    if len(numbers) < len(args):
        raise NotInKernels(f"a {called.__name__} of other than constants")
    t = DATE if called is dt.date else DATETIME
    try:
        word = TO_WORD[t](called(*numbers))
    except (TypeError, ValueError, OverflowError):
        raise NotInKernels(f"a {called.__name__} that is none") from None
    return Value(t, (f"({word})",))


def _day(receiver: Value) -> str:
    return receiver.word if receiver.type == DATE else f"day_of({receiver.word})"
