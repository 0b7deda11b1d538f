"""Forms of bytes, and of what is read from them."""

from __future__ import annotations

from tests.generator.forms import expression, form, index, leaf, local, shorter
from tests.generator.statements import bind, statement
from tests.generator.valuetypes import BOOL, BYTES, INT, STR, Type, list_of
from tests.generator.writer import Expr, Writer

LONGEST = 400


@form("bytes", weight=4)
def encode(w: Writer, type: Type, depth: int) -> Expr | None:
    text = shorter(w, expression(w, STR, depth), 40)
    w.uses("bytes")
    return Expr(f"{text.inner}.encode()", BYTES, size=4 * text.size)


@form("bytes", weight=4)
def change_bytes(w: Writer, type: Type, depth: int) -> Expr | None:
    a = expression(w, BYTES, depth)
    w.uses("bytes")
    calls = ("{}.lower()", "{}.upper()", "{}.strip()", "{}[:2]", "{}[1:]", '{}.replace(b"a", b"bb")', "{}[::-1]")
    calls += ('{}.removeprefix(b"a")', '{}.rstrip(b"b")', "{}[-3:-1]")
    return Expr(w.choices.choose(calls).format(a.inner), BYTES, size=2 * a.size)


@form("bytes", weight=2)
def concatenate_bytes(w: Writer, type: Type, depth: int) -> Expr | None:
    a, b = (shorter(w, expression(w, BYTES, depth), LONGEST // 2) for _ in range(2))
    w.uses("bytes")
    return Expr(f"{a.inner} + {b.inner}", BYTES, size=a.size + b.size, atom=False)


@form("int", weight=2)
def measure_bytes(w: Writer, type: Type, depth: int) -> Expr | None:
    octets = w.pick_type(BYTES)
    if octets is None:
        return None
    w.uses("bytes")
    if w.plan.raising and w.choices.chance(20):
        w.uses("raises")
        return Expr(f"{octets.name}[{index(w, 5).text}]", INT, 0, 255)
    calls = ("len({})", '{}.count(b"a")', '{}.find(b"b")', "sum({})", "max({}, default=-1)")
    return Expr(w.choices.choose(calls).format(octets.name), INT, -1, 1_000_000)


@form("str", weight=1)
def text_of_bytes(w: Writer, type: Type, depth: int) -> Expr | None:
    octets = w.pick_type(BYTES)
    if octets is None:
        return None
    w.uses("bytes", "strings")
    if w.plan.raising and w.choices.chance(30):
        w.uses("raises")
        return Expr(f"{octets.name}.decode()", STR, size=octets.value.size)
    return Expr(f"{octets.name}.hex()", STR, size=2 * octets.value.size)


@form("bool", weight=2)
def compare_bytes(w: Writer, type: Type, depth: int) -> Expr | None:
    a = w.pick_type(BYTES)
    if a is None:
        return None
    w.uses("bytes")
    b = leaf(w, BYTES)
    calls = ("{0} == {1}", "{0} < {1}", "{0} in {1}", "{0}.startswith({1})", "{0} != {1}", "97 in {0}")
    return Expr(w.choices.choose(calls).format(a.name, b.text), BOOL, atom=False)


@form("list", weight=2)
def split_bytes(w: Writer, type: Type, depth: int) -> Expr | None:
    octets = w.pick_type(BYTES) if type == list_of(BYTES) else None
    if octets is None:
        return None
    w.uses("bytes")
    return Expr(f'{octets.name}.split(b" ")[:6]', type, size=6)


@statement(weight=4, theme="bytes")
def bind_bytes(w: Writer) -> bool:
    bind(w, local(w, BYTES))
    return True
