"""Which variables may share one mutable value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.frontend.operators import iterate
from anabranch.graph.code import (
    Apply,
    Assign,
    Body,
    Comprehension,
    Const,
    Expr,
    For,
    Local,
    expressions,
    operands,
    target_names,
    walk,
)
from anabranch.graph.effects import MUTATORS
from anabranch.lang import DenseVector, Vector
from anabranch.lang.types import Record, Type, is_mutable

_COPIES = frozenset((list, sorted, set, frozenset, dict, reversed, enumerate, zip, Vector, DenseVector))


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


def shared_inside(body: Body) -> set[str]:
    """Variables that may hold one mutable value in two places: `[[0]] * 2`, `[z, z]`, `q[0] = q[1]`."""
    found: set[str] = set()
    for stmt in walk(body):
        if isinstance(stmt, Assign) and _repeats(stmt.value):
            found.update(target_names(stmt.target))
        for expr in expressions(stmt):
            found.update(holder for holder, _ in _stored(expr, same=True))
    return found


def _repeats(expr: Expr) -> bool:
    match expr:
        case Apply("*", (left, _)):
            return _holds_mutable(iterate(left.type))
        case Apply("list" | "tuple" | "dict", args):
            return any(is_mutable(a.type) and not isinstance(a, Apply) for a in args) or any(map(_repeats, args))
        case Comprehension(_, element):
            return is_mutable(element.type) and not isinstance(element, Apply | Comprehension)
    return False


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
    return kind is not None and _mutable(kind)


def _mutable(kind: Type) -> bool:
    """Can it, or something it holds, be changed in place?"""
    return is_mutable(kind) or (isinstance(kind, Record) and any(_mutable(t) for _, t in kind.fields))


def _shares(expr: Expr, parts: bool = False) -> Iterator[str]:
    """Variables whose mutable value, or a part of it, this expression gives."""
    if not parts and not _mutable(expr.type):
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
        case Comprehension(_, element, clauses):
            for inner in (element, *(c.source for c in clauses)):
                yield from _shares(inner, parts=True)
        case Apply("call", (Const(function), *args)) if function in _COPIES:
            yield from _elements(args)
        case Apply("+" | "*" | "slice" | "|" | "&" | "-" | "^", args):
            yield from _elements(args)
        case Apply("list" | "tuple" | "dict" | "call" | "function" | "procedure", args):
            for arg in args:
                yield from _shares(arg, parts=_mutable(arg.type))


def _elements(args: Iterable[Expr]) -> Iterator[str]:
    """What a new container shares with those it was made from: their elements, where these can be changed."""
    for arg in args:
        if _holds_mutable(iterate(arg.type)):
            yield from _shares(arg, parts=True)


def _stored(expr: Expr, same: bool = False) -> Iterator[tuple[str, str]]:
    """`xs.append(ys)` and `d[k] = ys` make one value part of another; with `same`, of itself too."""
    if isinstance(expr, Apply):
        stores = expr.op == "setitem" or (expr.op.startswith("method:") and expr.op[7:] in MUTATORS)
        if stores and expr.args:
            holders = list(_shares(expr.args[0], parts=True))
            for arg in expr.args[1:]:
                for source in _shares(arg, parts=_holds_mutable(iterate(arg.type))):
                    yield from ((holder, source) for holder in holders if same or holder != source)
    for inner in operands(expr):
        yield from _stored(inner, same)
