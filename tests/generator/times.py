"""Forms of dates, datetimes and timedeltas, and of what is read from them.

Results stay within what the types hold where entries may not raise: only small spans are added, to middle dates.
"""

from __future__ import annotations

from tests.generator.forms import expression, fit, form, index, leaf, local
from tests.generator.statements import bind, statement
from tests.generator.valuetypes import BOOL, DATE, DATETIME, FLOAT, INT, STR, TIMEDELTA, TIMES, Type
from tests.generator.writer import Expr, Writer

MIDDLE = {DATE: "date(2024, 2, 28)", DATETIME: "datetime(2023, 12, 31, 23, 59, 59)"}


def moved(w: Writer, type: Type, depth: int) -> Expr | None:
    """A date or datetime with a span added to it."""
    variable = w.pick_type(type) if w.plan.raising else None
    if variable is not None:
        w.uses("raises")  # it may leave the years 1 to 9999
    start = variable.name if variable is not None else MIDDLE[type]
    return Expr(f"{start} {w.choices.choose(('+', '-'))} {make_span(w, TIMEDELTA, depth).inner}", type, atom=False)


@form("date", weight=4)
def make_date(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("times")
    pick = w.choices.integer(0, 3)
    if pick == 0:
        return Expr(f"date({2020 + w.choices.integer(0, 4)}, {index(w, 12).inner} + 1, {index(w, 28).inner} + 1)", DATE)
    if pick == 1:
        return Expr(f"{leaf(w, DATETIME).inner}.date()", DATE)
    return moved(w, DATE, depth)


@form("datetime", weight=4)
def make_datetime(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("times")
    if w.choices.chance(40):
        day = leaf(w, DATE).text
        clock = f"{index(w, 24).text}, {index(w, 60).text}, 59, {w.choices.choose((0, 1, 999999))}"
        return Expr(f"datetime({day}.year, {day}.month, {day}.day, {clock})", DATETIME)
    return moved(w, DATETIME, depth)


@form("timedelta", weight=4)
def make_span(w: Writer, type: Type, depth: int) -> Expr:
    w.uses("times")
    names = [w.choices.choose(("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "weeks"))]
    names += ["microseconds"] if names[0] != "microseconds" and w.choices.chance(30) else []
    parts = [f"{name}={fit(w, expression(w, INT, min(depth, 1)), -999, 999).text}" for name in names]
    return Expr(f"timedelta({', '.join(parts)})", TIMEDELTA)


@form("timedelta", weight=3)
def compute_span(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("times")
    a, b = leaf(w, TIMEDELTA), make_span(w, TIMEDELTA, 0)
    calls = ["{1} - {1}", "abs({1})", "-{1}", "{1} * 3", "{1} // 7", "max({0}, {1})", "min({0}, {1})"]
    calls += ["{0} + {1}", "{0} - {1}", "abs({0})"] if w.plan.raising else []
    w.uses(*(("raises",) if w.plan.raising else ()))
    return Expr(w.choices.choose(calls).format(a.inner, b.inner), TIMEDELTA, atom=False)


@form("timedelta", weight=2)
def between(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("times")
    side = w.choices.choose((DATETIME, DATE))
    return Expr(f"{leaf(w, side).inner} - {leaf(w, side).inner}", TIMEDELTA, atom=False)


@form("int", weight=2)
def part_of_time(w: Writer, type: Type, depth: int) -> Expr | None:
    time = w.pick(lambda v: v.type in TIMES)
    if time is None:
        return None
    w.uses("times")
    if time.type == TIMEDELTA:
        return Expr(f"{time.name}.{w.choices.choose(('days', 'seconds', 'microseconds'))}", INT, -(10**9), 10**9)
    calls = ["year", "month", "day", "weekday()", "isoweekday()", "toordinal()"]
    calls += ["hour", "minute", "second", "microsecond"] if time.type == DATETIME else []
    return Expr(f"{time.name}.{w.choices.choose(calls)}", INT, 0, 4_000_000)


@form("float", weight=1)
def seconds(w: Writer, type: Type, depth: int) -> Expr | None:
    span = w.pick_type(TIMEDELTA)
    if span is None:
        return None
    w.uses("times")
    return Expr(
        w.choices.choose(("{}.total_seconds()", "{} / timedelta(hours=7)")).format(span.name), FLOAT, atom=False
    )


@form("str", weight=1)
def text_of_time(w: Writer, type: Type, depth: int) -> Expr | None:
    time = w.pick(lambda v: v.type in TIMES)
    if time is None:
        return None
    w.uses("times", "strings")
    calls = ("str({})", 'f"{{{}}}"') if time.type == TIMEDELTA else ("str({})", "{}.isoformat()", 'f"{{{}}}"')
    return Expr(w.choices.choose(calls).format(time.name), STR, size=40)


@form("bool", weight=2)
def compare_times(w: Writer, type: Type, depth: int) -> Expr | None:
    time = w.pick(lambda v: v.type in TIMES)
    if time is None:
        return None
    w.uses("times")
    other = expression(w, time.type, min(depth, 1))
    return Expr(f"{time.name} {w.choices.choose(('<', '==', '>=', '!='))} {other.inner}", BOOL, atom=False)


@statement(weight=4, theme="times")
def bind_time(w: Writer) -> bool:
    bind(w, local(w, w.choices.choose(TIMES)))
    return True
