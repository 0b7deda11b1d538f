"""Calls of builtins and of the listed parts of the standard library."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from anabranch.frontend import accesses, calls, comprehensions, displays, expressions, library
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.operators import iterate
from anabranch.graph.code import Comprehension, Const, Expr
from anabranch.lang.types import (
    FLOAT,
    UNKNOWN,
    Optional,
    Set,
    Type,
    strip_optional,
)

_WITH_KEY = (sorted, min, max)


def lower_library_call(cx: Context, node: ast.Call, target: Any, rule: library.Rule) -> Expr:
    if (
        len(node.args) == 1
        and not node.keywords
        and target in (len, list, sorted, enumerate, set, iter, any, all, sum, min, max)
    ):
        state = accesses.state_of(cx, node.args[0])
        if state is not None:
            method_name = "__len__" if target is len else "__iter__"
            found = accesses.lower_access(cx, node, *state, method_name, [])
            return found if target is len or found.type == UNKNOWN else _typed(cx, node, target, rule, [found], [])
    args, keywords = _library_arguments(cx, node, target)
    return _typed(cx, node, target, rule, args, keywords)


def _typed(
    cx: Context, node: ast.Call, target: Any, rule: library.Rule, args: list[Expr], keywords: calls.Keywords
) -> Expr:
    types = [a.type for a in args]
    named = {k: v.type for k, v in keywords}
    if UNKNOWN in types or UNKNOWN in named.values():
        return Const(None, UNKNOWN, cx.span(node))
    if target in (str, repr, format) and any(map(displays.shows_order, types)):
        return cx.error(node, "AB509", "the text of a set or dict shows its order", "use sorted(...) of it")
    for arg in args:
        if isinstance(arg, Comprehension) and target is sum and arg.element.type == FLOAT and _over_set(arg):
            return cx.error(node, "AB509", "the sum of floats depends on the order of a set", "use sorted(...) of it")
        if isinstance(arg.type, Optional) and target not in (str, repr, bool, min, max):
            return expressions.maybe_none(cx, node, arg)
        ordered = target is sum and isinstance(arg.type, Set) and arg.type.of == FLOAT
        if isinstance(arg.type, Set) and (target not in library.ORDER_FREE or ordered or "key" in named):
            return cx.error(
                node, "AB509", f"'{cx.text(node.func)}' shows the order of a {arg.type}", "use sorted(...) of it"
            )
    found = rule(types, named)
    absent = next((a for a in args if isinstance(a.type, Optional)), None)
    if found is None and absent is not None and rule([strip_optional(t) for t in types], named) is not None:
        return expressions.maybe_none(cx, node, absent)
    shown = ", ".join(map(str, types))
    if found is None:
        return cx.error(
            node,
            "AB206",
            f"'{cx.text(node.func)}' does not take ({shown})",
            "convert the arguments, or check their number",
        )
    if found == UNKNOWN:
        hint = "give sum a start: sum(xs, ab.Vector())" if target is sum else "annotate a variable with the result"
        return cx.error(node, "AB205", f"the type of '{cx.text(node)}' cannot be inferred", hint)
    if any(map(is_multi, args)) and target in (iter, zip, enumerate, map, filter):
        return cx.error(node, "AB402", "a value per instance is iterated over", "use ab.gather(...) on it first")
    return calls.apply_call(cx, node, target, args, keywords, found)


def _over_set(comprehension: Comprehension) -> bool:
    return any(isinstance(c.source.type, Set) for c in comprehension.clauses)


def _library_arguments(cx: Context, node: ast.Call, target: Any) -> tuple[list[Expr], list[tuple[str, Expr]]]:
    """Like others, but lambdas and functions get the type of the elements they will be called with."""
    nodes = [*node.args, *(k.value for k in node.keywords)]
    names = [None] * len(node.args) + [k.arg for k in node.keywords]
    is_function = [_is_function(cx, target, i, n, name) for i, (n, name) in enumerate(zip(nodes, names, strict=True))]
    plain = [n for n, f in zip(nodes, is_function, strict=True) if not f]
    lowered = iter(_lower_sources(cx, plain, target, "key" in names and target is not sorted))
    found: list[Expr | None] = [None if f else next(lowered) for f in is_function]
    sources = [e for e in found if e is not None]
    element: Type = UNKNOWN
    if sources:
        several = target in (min, max) and len(node.args) > 1
        element = sources[0].type if several else (iterate(sources[0].type) or UNKNOWN)
    values = [function_argument(cx, n, element) if e is None else e for n, e in zip(nodes, found, strict=True)]
    count = len(node.args)
    return values[:count], [(k.arg or "", v) for k, v in zip(node.keywords, values[count:], strict=True)]


def _lower_sources(cx: Context, nodes: Sequence[ast.expr], target: Any, with_key: bool) -> list[Expr]:
    first = nodes[0] if nodes else None
    order_free = target in library.ORDER_FREE and not with_key
    if order_free and isinstance(first, ast.GeneratorExp | ast.ListComp) and not expressions.emits(cx, first):
        values = comprehensions.lower_comprehension(cx, first, order_free=True)
        return [values, *expressions.lower_all(cx, nodes[1:])]
    return expressions.lower_all(cx, nodes)


def _is_function(cx: Context, target: Any, position: int, node: ast.expr, name: str | None) -> bool:
    if isinstance(node, ast.Lambda):
        return True
    wanted = (name == "key" and target in _WITH_KEY) or (position == 0 and name is None and target in (map, filter))
    return wanted and not (isinstance(node, ast.Constant) and node.value is None)


def function_argument(cx: Context, node: ast.expr, element: Type) -> Expr:
    if isinstance(node, ast.Lambda):
        return comprehensions.lower_lambda(cx, node, [element])
    # A function by name is the same as a lambda that calls it.
    name = "x."
    argument = ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node)
    call = ast.copy_location(ast.Call(func=node, args=[argument], keywords=[]), node)
    parameters = ast.arguments(posonlyargs=[], args=[ast.arg(arg=name)], kwonlyargs=[], kw_defaults=[], defaults=[])
    return comprehensions.lower_lambda(cx, ast.copy_location(ast.Lambda(args=parameters, body=call), node), [element])
