"""Displays and format strings: lists, tuples, sets, dicts and texts made of other values."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from anabranch.frontend import expressions
from anabranch.frontend.context import Context, is_multi
from anabranch.graph.code import Apply, Const, Expr
from anabranch.lang.types import (
    NEVER,
    STR,
    UNKNOWN,
    Dict,
    List,
    Optional,
    Record,
    Set,
    Tuple,
    Type,
    is_hashable,
    join,
)


def no_multi_element(cx: Context, node: ast.AST, values: Sequence[Expr]) -> None:
    for value in values:
        if is_multi(value):
            cx.error(node, "AB406", "a value per instance is put into a container", "use ab.gather(...) on it first")


def lower_display(cx: Context, node: ast.Tuple | ast.List | ast.Set) -> Expr:
    if isinstance(node, ast.List) and any(isinstance(e, ast.Starred) for e in node.elts):
        return expressions.lower(cx, _without_stars(node))
    values = expressions.lower_all(cx, node.elts)
    no_multi_element(cx, node, values)
    if isinstance(node, ast.Tuple):
        return Apply("tuple", tuple(values), Tuple(tuple(v.type for v in values)), cx.span(node))
    element: Type = NEVER
    for value in values:
        element = join(element, value.type)
    if element == UNKNOWN and UNKNOWN not in [v.type for v in values]:
        kinds = " and ".join(sorted({str(v.type) for v in values}))
        return cx.error(
            node, "AB206", f"one container holds {kinds}", "give all elements one type, or use a tuple or a record"
        )
    if isinstance(node, ast.List):
        return Apply("list", tuple(values), List(element), cx.span(node))
    if element != UNKNOWN and not is_hashable(element):
        return cx.error(node, "AB206", f"a set cannot hold {element}", "use a list")
    return Apply("set", tuple(values), Set(element), cx.span(node))


def _without_stars(node: ast.List) -> ast.expr:
    """`[a, *xs]` is `[a] + list(xs)`."""
    parts: list[ast.expr] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            function = ast.Name(id="list", ctx=ast.Load())
            parts.append(ast.Call(func=function, args=[element.value], keywords=[]))
        elif parts and isinstance(parts[-1], ast.List):
            parts[-1].elts.append(element)
        else:
            parts.append(ast.List(elts=[element], ctx=ast.Load()))
    whole = parts[0]
    for part in parts[1:]:
        whole = ast.BinOp(left=whole, op=ast.Add(), right=part)
    return ast.fix_missing_locations(ast.copy_location(whole, node))


def lower_dict(cx: Context, node: ast.Dict) -> Expr:
    pairs: list[ast.expr] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            return cx.error(node, "AB501", "programs have no '**' in displays", "use a | b, or name each entry")
        pairs += [key, value]
    values = expressions.lower_all(cx, pairs)
    no_multi_element(cx, node, values)
    key_type: Type = NEVER
    value_type: Type = NEVER
    for key_expr, value_expr in zip(values[::2], values[1::2], strict=True):
        key_type, value_type = join(key_type, key_expr.type), join(value_type, value_expr.type)
    if UNKNOWN in (key_type, value_type) and UNKNOWN not in [v.type for v in values]:
        return cx.error(
            node, "AB206", "the keys or values of a dict have different types", "give them one type, or use a record"
        )
    if UNKNOWN in (key_type, value_type):
        return Const(None, UNKNOWN, cx.span(node))
    return Apply("dict", tuple(values), Dict(key_type, value_type), cx.span(node))


def lower_fstring(cx: Context, node: ast.JoinedStr) -> Expr:
    """Each part is evaluated and made text before the next one."""
    parts: list[Expr] = []
    last = max((i for i, v in enumerate(node.values) if expressions.emits(cx, v)), default=-1)
    for i, value in enumerate(node.values):
        span = cx.span(value)
        if isinstance(value, ast.Constant):
            parts.append(Const(value.value, STR, span))
            continue
        assert isinstance(value, ast.FormattedValue)
        shown = expressions.lower(cx, value.value)
        if shows_order(shown.type):
            return cx.error(node, "AB509", f"the text of a {shown.type} shows its order", "format sorted(...) of it")
        spec: Expr = Const("", STR, span)
        if value.format_spec is not None:
            if expressions.emits(cx, value.format_spec):
                return cx.error(node, "AB501", "state access inside a format specification", "read it on a line before")
            spec = expressions.lower(cx, value.format_spec)
        conversion = chr(value.conversion) if value.conversion > 0 else ""
        part: Expr = Apply("format", (shown, Const(conversion, STR, span), spec), STR, span)
        parts.append(cx.bind("text.", part) if i < last else part)
    return Apply("fstring", tuple(parts), STR, cx.span(node))


def shows_order(kind: Type) -> bool:
    """Does the text of such a value depend on the order of a set or on how a dict was filled?"""
    match kind:
        case Set() | Dict():
            return True
        case List(of) | Optional(of):
            return shows_order(of)
        case Tuple(items):
            return any(map(shows_order, items))
        case Record(_, fields):
            return any(shows_order(t) for _, t in fields)
    return False
