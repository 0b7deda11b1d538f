"""Statements: one table, to which each kind is registered with a weight.

A statement kind is a function `(w) -> bool`: it writes lines and says True, or finds that it does not apply here,
writes nothing and says False. Registering a new one is all it takes to have it generated. Files in which statements
are registered are imported by `programs`.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.generator.calls import call_of, callable_here
from tests.generator.compounds import any_local, element, short
from tests.generator.forms import condition, constant, exact, expression, fit, index, leaf, local, owned, shorter, small
from tests.generator.valuetypes import (
    FLOAT,
    INT,
    NONE,
    SCALARS,
    SMALL,
    STR,
    VECTOR,
    WIDEST,
    dict_of,
    list_of,
    optional,
    set_of,
)
from tests.generator.writer import Expr, Variable, Writer

Statement = Callable[[Writer], bool]
STATEMENTS: list[tuple[int, Statement]] = []
LONGEST = 45  # lines of a method, after which no more statements are begun
TOTAL = 2**50  # accumulators of integers stay below this


THEMED: dict[str, list[tuple[int, Statement]]] = {}


def statement(*, weight: int, theme: str = "") -> Callable[[Statement], Statement]:
    """Register a kind of statement, for programs that have the theme if one is named."""

    def register(function: Statement) -> Statement:
        (THEMED.setdefault(theme, []) if theme else STATEMENTS).append((weight, function))
        return function

    return register


def write_block(w: Writer, most: int = 3, least: int = 1) -> None:
    """Some statements at the current indentation."""
    for _ in range(w.choices.integer(least, most)):
        if len(w.lines) < LONGEST:
            write_statement(w)


def write_statement(w: Writer) -> None:
    themed = [option for theme in THEMED if theme in w.plan.themes for option in THEMED[theme]]
    for _ in range(4):
        if w.choices.weighted(themed if themed and w.choices.chance(40) else STATEMENTS)(w):
            return


def write_return(w: Writer) -> None:
    w.line("return" if w.result == NONE else f"return {result(w).text}")


def result(w: Writer) -> Expr:
    """A result, rather of what was computed; an integer of more than 64 bits raises."""
    if w.result == list_of(INT) and w.plan.has("aliases") and not w.small_result:
        return contents(w)
    computed = w.pick(lambda v: v.type == w.result and v.name not in w.params) if w.choices.chance(60) else None
    value = shorter(w, computed.value if computed is not None else expression(w, w.result), 60)
    if w.small_result:
        return fit(w, value)
    if w.result == INT and not value.within(-WIDEST - 1, WIDEST):
        if not w.plan.raising or w.choices.chance(70):
            return fit(w, value)
        w.uses("raises", "overflow")
    return value


def contents(w: Writer) -> Expr:
    """What the containers in scope hold: shows which of them are one."""
    shown = [v for v in w.visible() if v.type.kind in ("list", "set", "dict") and v.type.of in (INT, STR)][-4:]
    parts = [f"{v.name}[:9]" if v.type == list_of(INT) else f"[len({v.name})]" for v in shown]
    return Expr(" + ".join(parts or ["[0]"]), list_of(INT), size=40, atom=len(parts) < 2)


# Local variables


@statement(weight=5)
def assign(w: Writer) -> bool:
    bind(w, any_local(w))
    return True


def bind(w: Writer, value: Expr) -> Variable:
    """A new variable, annotated where its type cannot be seen from the value, and at times where it can."""
    empty = value.type.sharing and any(e in value.text for e in ("[]", "{}", "set()"))
    annotate = empty or value.type.kind == "optional" or w.choices.chance(10)
    return w.bind(value, annotate=annotate)


@statement(weight=4)
def assign_again(w: Writer) -> bool:
    variable = w.pick(lambda v: v.assignable and v.type.kind != "optional")
    if variable is None:
        return False
    known = variable.value
    if variable.type == FLOAT and known.exact:
        value = exact(w)
    else:
        value = owned(w, shorter(w, fit_into(w, expression(w, variable.type), known), known.size))
    w.line(f"{variable.name} = {value.text}")
    return True


def fit_into(w: Writer, value: Expr, known: Expr) -> Expr:
    if value.type != INT or value.within(known.low, known.high):
        return value
    if known.low <= 0 and known.high >= 6:
        return fit(w, value, known.low, known.high)
    return Expr(str(known.high), INT, known.high, known.high, atom=known.high >= 0)


@statement(weight=4)
def accumulate(w: Writer) -> bool:
    """`total += x` on an accumulator, which is made first if there is none."""
    total = w.pick(lambda v: v.assignable and v.type == INT and v.value.high == TOTAL)
    if total is None:
        total = w.declare(Expr("0", INT, -TOTAL, TOTAL))
        w.line(f"{total.name} = 0")
        return True
    w.line(f"{total.name} {w.choices.choose(('+=', '-='))} {small(w, INT).text}")
    return True


@statement(weight=2)
def accumulate_float(w: Writer) -> bool:
    total = w.pick(lambda v: v.assignable and v.type == FLOAT and not v.value.exact)
    if total is None:
        return False
    w.line(f"{total.name} {w.choices.choose(('+=', '*=', '-='))} {expression(w, FLOAT).text}")
    return True


@statement(weight=2)
def unpack(w: Writer) -> bool:
    pair = w.pick(lambda v: v.type.kind in ("tuple", "record") and len(v.type.args or v.type.fields) > 1)
    if pair is None or pair.type.frozen_dataclass:
        a, b = local(w, INT, 1), local(w, w.choices.choose((INT, STR)), 1)
        w.line(f"{w.declare(a).name}, {w.declare(b).name} = {a.inner}, {b.inner}")
    else:
        types = pair.type.args or tuple(t for _, t in pair.type.fields)
        names = [w.declare(element(w, t).value, name=w.name("part")).name for t in types]
        w.line(f"{', '.join(names)} = {pair.name}")
    w.uses("tuples", "unpacking")
    return True


# Local containers, changed in place


@statement(weight=3)
def change_list(w: Writer) -> bool:
    xs = w.pick(lambda v: v.mutable and v.type.kind == "list" and v.type.of in SCALARS)
    if xs is None:
        xs = bind(w, Expr("[]", list_of(w.choices.choose((INT, STR, FLOAT))), fresh=True))
    item = short(w, xs.type.of, 1)
    options = [f"{xs.name}.append({item.text})", f"{xs.name}.extend([{item.text}, {item.text}])"]
    options += [f"{xs.name}.insert(0, {item.text})", f"{xs.name}.reverse()"]
    if xs.type.of != FLOAT:
        options += [f"{xs.name}.sort()", f"{xs.name} += [{item.text}]"]
    w.line(w.choices.choose(options))
    w.uses("mutation")
    return True


@statement(weight=2)
def change_item(w: Writer) -> bool:
    xs = w.pick(lambda v: v.mutable and v.type.kind == "list" and v.type.of in SCALARS)
    if xs is None:
        return False
    w.line(f"if {xs.name}:")
    with w.block():
        end = w.choices.choose(("0", "-1"))
        options = [f"{xs.name}[{end}] = {short(w, xs.type.of, 1).text}", f"{xs.name}.pop()", f"del {xs.name}[{end}]"]
        w.line(w.choices.choose(options))
    w.uses("mutation")
    return True


@statement(weight=2)
def change_dict(w: Writer) -> bool:
    d = w.pick(lambda v: v.mutable and v.type.kind == "dict")
    if d is None:
        d = bind(w, Expr("{}", dict_of(w.choices.choose((STR, INT)), INT), fresh=True))
    key, value = short(w, d.type.of, 1), short(w, d.type.args[1], 1)
    options = [f"{d.name}[{key.text}] = {value.text}", f"{d.name}.pop({key.text}, None)"]
    if d.type.args[1].kind != "set":
        options += [f"{d.name}.setdefault({key.text}, {value.text})"]
    if d.type.args[1] == INT:
        options += [f"{d.name}[{key.text}] = ({d.name}.get({key.text}, 0) + 1) % 1000"]
    w.line(w.choices.choose(options))
    w.uses("mutation")
    return True


@statement(weight=2)
def change_set(w: Writer) -> bool:
    seen = w.pick(lambda v: v.mutable and v.type.kind == "set")
    if seen is None:
        seen = bind(w, Expr("set()", set_of(w.choices.choose((INT, STR))), fresh=True))
    w.line(f"{seen.name}.{w.choices.choose(('add', 'discard'))}({short(w, seen.type.of, 1).text})")
    w.uses("mutation", "sets")
    return True


@statement(weight=2)
def change_vector(w: Writer) -> bool:
    v = w.pick(lambda v: v.mutable and v.type == VECTOR)
    if v is None:
        v = bind(w, Expr("ab.Vector()", VECTOR, exact=True, fresh=True))
    w.line(f"{v.name}[{index(w).text}] {w.choices.choose(('=', '+='))} {exact(w).text}")
    w.uses("mutation", "vectors")
    return True


# Optionals, calls, errors


@statement(weight=3)
def bind_optional(w: Writer) -> bool:
    inside = [t.of for t in w.plan.types if t.kind == "optional"]
    bind(w, local(w, optional(w.choices.choose((INT, STR, *w.plan.records, *inside, *inside)))))
    return True


@statement(weight=8)
def call_something(w: Writer) -> bool:
    fits = [f for f in w.plan.functions if f.stateful and callable_here(w, f)]
    if not fits:
        return False
    function = w.choices.choose(fits)
    made = call_of(w, function)
    if function.result == NONE or w.choices.chance(30):
        w.line(made.text)
    else:
        bind(w, made)
    return True


@statement(weight=5)
def raise_error(w: Writer) -> bool:
    if not w.plan.raising:
        return False
    w.uses("raises")
    if w.choices.chance(30):
        w.line(f"assert {condition(w).inner}, {leaf(w, STR).text}")
        w.uses("assert")
        return True
    w.line(f"if {condition(w).text}:")
    with w.block():
        error = w.choices.choose(("ValueError", "KeyError", "LookupError", "RuntimeError"))
        shown = w.pick(lambda v: v.type.kind in ("int", "str"))
        w.line(f"raise {error}({shown.name if shown else constant(w, STR).text})")
    return True


@statement(weight=2)
def guard(w: Writer) -> bool:
    """`try` around something that may fail, without state."""
    with w.without_state():
        text, n = leaf(w, STR), fit(w, leaf(w, INT), -SMALL, SMALL)
        tries = [
            (f"int({text.text}) % 1000", "ValueError"),
            (f"100 // {n.inner}", "ZeroDivisionError"),
            (f"[1, 2, 3][{n.text}]", "IndexError"),
            (f'{{"a": 1}}[{text.text}]', "KeyError"),
            (f"int({text.text}) % 7 // {n.inner}", "(ValueError, ZeroDivisionError)"),
        ]
        tried, error = w.choices.choose(tries)
        variable = w.declare(Expr("", INT, -SMALL, SMALL))
        w.line("try:")
        w.line(f"    {variable.name} = {tried}")
        w.line(f"except {error}:")
        w.line(f"    {variable.name} = {w.choices.choose(('-1', '0'))}")
    w.variables.append(variable)
    w.uses("try")
    return True
