"""Calls of functions, helpers and entries that have been written before."""

from __future__ import annotations

from dataclasses import replace

from tests.generator.compounds import MOST
from tests.generator.forms import ANY, constant, exact, expression, fit, form, index, leaf, owned, shorter
from tests.generator.keywords import by_name, empty_argument
from tests.generator.valuetypes import INT, SMALL, Type
from tests.generator.writer import Expr, Function, Param, Writer


@form(ANY, weight=3)
def call(w: Writer, type: Type, depth: int) -> Expr | None:
    fits = [f for f in w.plan.functions if f.result == type and callable_here(w, f)]
    return call_of(w, w.choices.choose(fits)) if fits else None


def callable_here(w: Writer, function: Function) -> bool:
    if function.stateful and (w.pure or w.focus is not None):
        return False
    return w.affords(function.cost)


def call_of(w: Writer, function: Function) -> Expr:
    """A call; the last arguments may be left to their defaults."""
    given: list[tuple[Param, str]] = []
    for param in function.params:
        if param.default and w.choices.chance(50):
            break
        given.append((param, argument(w, param.value).text))
    args = by_name(w, given)
    w.cost += w.rounds * function.cost
    w.stateful = w.stateful or function.stateful
    w.uses("entries calling entries" if function.entry else "helpers")
    result = Expr(f"{function.text}({', '.join(args)})", function.result, size=MOST)
    return replace(result, low=-SMALL, high=SMALL) if function.result == INT and function.small else result


def argument(w: Writer, param: Expr) -> Expr:
    """A value for a parameter, within what the callee was told of it."""
    if param.type == INT:
        return index(w, param.high + 1) if param.low == 0 else fit(w, expression(w, INT, 1), param.low, param.high)
    if param.exact:
        return exact(w)
    empty = empty_argument(w, param.type) if w.choices.chance(25) else None
    if empty is not None:
        return empty
    if param.type.sharing:
        value = owned(w, leaf(w, param.type))
    else:
        value = shorter(w, expression(w, param.type, 1), param.size)
    return value if value.size <= param.size else constant(w, param.type)
