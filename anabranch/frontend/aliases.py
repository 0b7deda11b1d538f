"""Which variables may share one mutable value."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.frontend.operators import iterate
from anabranch.graph.code import Apply, Assign, Body, Expr, For, Local, expressions, operands, target_names, walk
from anabranch.graph.effects import MUTATORS
from anabranch.lang.types import Type, is_mutable


def alias_groups(body: Body) -> list[frozenset[str]]:
    """Groups of at least two variables that may hold the same mutable value, or one a part of the other's."""
    parent: dict[str, str] = {}

    def find(name: str) -> str:
        while parent.get(name, name) != name:
            name = parent[name]
        return name

    for left, right in _pairs(body):
        parent[find(left)] = find(right)
        parent.setdefault(left, left)
        parent.setdefault(right, right)
    groups: dict[str, set[str]] = {}
    for name in parent:
        groups.setdefault(find(name), set()).add(name)
    return [frozenset(g) for g in groups.values() if len(g) > 1]


def aliased_names(body: Body) -> set[str]:
    return {name for group in alias_groups(body) for name in group}


def _pairs(body: Body) -> Iterator[tuple[str, str]]:
    for stmt in walk(body):
        if isinstance(stmt, Assign):
            for source in _shares(stmt.value):
                yield from ((target, source) for target in target_names(stmt.target))
        elif isinstance(stmt, For) and _holds_mutable(iterate(stmt.source.type)):
            for source in _shares(stmt.source, parts=True):
                yield from ((target, source) for target in target_names(stmt.target))
        for expr in expressions(stmt):
            yield from _stored(expr)


def _holds_mutable(kind: Type | None) -> bool:
    return kind is not None and is_mutable(kind)


def _shares(expr: Expr, parts: bool = False) -> Iterator[str]:
    """Variables whose mutable value, or a part of it, this expression gives."""
    if not parts and not is_mutable(expr.type):
        return
    match expr:
        case Local(name):
            yield name
        case Apply("if", (_, then, orelse)):
            yield from _shares(then, parts)
            yield from _shares(orelse, parts)
        case Apply("and" | "or", args):
            for arg in args:
                yield from _shares(arg, parts)
        case Apply(op, args) if op == "[]" or op.startswith(("attr:", "method:")):
            yield from _shares(args[0], parts=True)
        case Apply(op, args) if op in ("list", "tuple", "dict", "function", "procedure", "call", "+", "slice"):
            for arg in args:
                kind = iterate(arg.type)
                yield from _shares(
                    arg,
                    parts
                    or _holds_mutable(kind)
                    or (is_mutable(arg.type) and op in ("list", "tuple", "dict", "function", "procedure")),
                )


def _stored(expr: Expr) -> Iterator[tuple[str, str]]:
    """`xs.append(ys)` and `d[k] = ys` make one value part of another."""
    if isinstance(expr, Apply):
        stores = expr.op == "setitem" or (expr.op.startswith("method:") and expr.op[7:] in MUTATORS)
        if stores and expr.args:
            holders = list(_shares(expr.args[0], parts=True))
            for arg in expr.args[1:]:
                for source in _shares(arg, parts=_holds_mutable(iterate(arg.type))):
                    yield from ((holder, source) for holder in holders if holder != source)
    for inner in operands(expr):
        yield from _stored(inner)
