"""Calls with arguments by name, and empty containers as arguments."""

from __future__ import annotations

from tests.generator.compounds import element, short
from tests.generator.forms import constant, expression, fit, form, index, leaf
from tests.generator.valuetypes import FLOAT, GROWN, INT, SCALARS, STR, Type, dict_of, list_of, tuple_of
from tests.generator.writer import Expr, Param, Writer

EMPTY = {
    "list": ("[]", "list([])", "[][:2]", "[] + []"),
    "dict": ("{}", "dict({})", "dict()"),
    "set": ("set()", "set([])"),
    "str": ('""', "str()", '"".join([])'),
    "bytes": ('b""', "bytes()"),
}
EMPTY_BY_NAME = {
    "list": ("sorted([], reverse=True)", "max([[]], default=[])", "sorted([], key=lambda e: e)"),
    "dict": ("max([{}], key=len, default={})", "min([], default={})"),
}


def empty_argument(w: Writer, type: Type) -> Expr | None:
    """An empty container, made in one of many ways."""
    ways = EMPTY.get(type.kind, ()) + 2 * EMPTY_BY_NAME.get(type.kind, ())
    if not ways:
        return None
    w.uses("empty arguments")
    return Expr(w.choices.choose(ways), type, size=0, fresh=True)


def by_name(w: Writer, given: list[tuple[Param, str]]) -> list[str]:
    """The texts of arguments, from some position on by name (the language wants them in order)."""
    if not given or w.choices.chance(40):
        return [text for _, text in given]
    first = w.choices.integer(0, len(given) - 1)
    w.uses("arguments by name")
    return [*(text for _, text in given[:first]), *(f"{param.name}={text}" for param, text in given[first:])]


@form("list", weight=3, theme="keywords")
def sorted_by_name(w: Writer, type: Type, depth: int) -> Expr | None:
    xs = w.pick_type(type) if type.of in SCALARS else None
    if xs is None:
        return None
    w.uses("arguments by name")
    return Expr(
        f"sorted({xs.name}, reverse={w.choices.choose(('True', 'False'))})", type, size=xs.value.size, fresh=True
    )


@form("list", weight=2, theme="keywords")
def listed_by_name(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("arguments by name")
    if type == list_of(STR):
        text = leaf(w, STR)
        return Expr(f'{text.inner}.split(sep="-", maxsplit={w.choices.choose((1, 0, 2))})', type, size=3)
    if type == list_of(tuple_of(INT, STR)):
        return Expr(f"list(enumerate({leaf(w, STR).inner}[:5], start={index(w).text}))", type, size=5, fresh=True)
    return None


@form("int", weight=3, theme="keywords")
def number_by_name(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("arguments by name")
    a, b = fit(w, expression(w, INT, depth)), fit(w, leaf(w, INT))
    each = element(w, INT)
    with w.without_state(each):
        key = expression(w, INT, 1).text
    xs = w.pick_type(list_of(INT))
    name = xs.name if xs is not None else f"[{a.text}, {b.text}]"
    calls = [f"sum({name}, start={b.text})", f"max([{a.text}, {b.text}], key=lambda {each.name}: {key})"]
    calls += [f"min({name}, default={b.text})", f"max({name}, default={b.text}, key=lambda {each.name}: {key})"]
    calls += [f"sum([], start={a.text})", f"max([], default={a.text})", f"int({a.inner} % 100)"]
    return Expr(w.choices.choose(calls), INT, -GROWN * 1000, GROWN * 1000)


@form("int", weight=1, theme="keywords")
def number_of_text(w: Writer, type: Type, depth: int) -> Expr | None:
    if not w.plan.raising:
        return None
    w.uses("arguments by name", "raises")
    return Expr(f"int({leaf(w, STR).text}, {w.choices.choose((16, 10, 36, 2))}) % 1000", INT, 0, 999, atom=False)


@form("float", weight=1, theme="keywords")
def float_by_name(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("arguments by name")
    return Expr(f"round({leaf(w, FLOAT).text}, ndigits={w.choices.choose((1, 0, 2))})", FLOAT)


@form("str", weight=1, theme="keywords")
def text_by_name(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("arguments by name", "strings")
    a, n = leaf(w, STR), fit(w, leaf(w, INT))
    calls = (f"{a.inner}.expandtabs(tabsize=2)", f'"{{}}={{n}}".format({a.text}, n={n.text})')
    calls += (f"max({a.inner}, {constant(w, STR).text}, key=len)",)
    return Expr(w.choices.choose(calls), STR, size=a.size + 20)


@form("dict", weight=2, theme="keywords")
def dict_by_name(w: Writer, type: Type, depth: int) -> Expr | None:
    if type != dict_of(STR, INT):
        return None
    w.uses("arguments by name")
    return Expr(f"dict(a={short(w, INT, 1).text}, b={short(w, INT, 1).text})", type, size=2, fresh=True)
