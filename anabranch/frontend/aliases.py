"""Which variables may share one mutable value."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from anabranch.graph.code import (
    Apply,
    Assign,
    Body,
    Clause,
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
from anabranch.graph.effects import COPIES, MUTATORS, holds_sharing, is_new, sharing, sharing_names
from anabranch.lang.types import Tuple, Type

# The list that a comprehension with state fills is used once: whoever takes it is its only owner.
_MOVED = re.compile(r"comp\.\d+\.out$")
_COPIES_OF_ONE = frozenset((list, sorted, set, frozenset, dict, reversed))


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
        if isinstance(stmt, Assign) and repeats(stmt.value):
            found.update(target_names(stmt.target))
        for expr in expressions(stmt):
            found.update(holder for holder, _ in stored(expr, same=True))
    while True:
        before = len(found)
        for stmt in walk(body):
            if isinstance(stmt, Assign) and sharing(stmt.value.type):
                names = sharing_names(stmt.value) | set(target_names(stmt.target))
            elif isinstance(stmt, For) and holds_sharing(stmt.source.type):
                names = sharing_names(stmt.source) | set(target_names(stmt.target))
            else:
                continue
            if names & found:
                found |= names
        if len(found) == before:
            return found


def repeats(expr: Expr) -> bool:
    """May it hold one mutable value in two places? Not if it is made of new parts alone, or copies what does not."""
    if not _holds_any(expr.type) or isinstance(expr, Local) or is_new(expr):
        return False
    source = _copied(expr)
    return source is None or repeats(source)


def _copied(expr: Expr) -> Expr | None:
    """What this expression copies, each element once."""
    match expr:
        case Apply("call", (Const(function), source)) if function in _COPIES_OF_ONE:
            return source
        case Apply("slice", (source, *_)) | Apply("method:copy", (source,)):
            return source
    return None


def _holds_any(kind: Type) -> bool:
    if isinstance(kind, Tuple):
        return sum(map(sharing, kind.items)) > 1 or any(map(_holds_any, kind.items))
    return holds_sharing(kind)


def changed_through(body: Body, changed: set[str], parts: set[str]) -> tuple[set[str], set[str]]:
    """Variables that are changed, and of which a part is changed, also under names taken from them in the body."""
    taken = [
        (target, source, isinstance(stmt, Assign) and isinstance(stmt.value, Local))
        for stmt in walk(body)
        if isinstance(stmt, Assign | For)
        for source in (shares(stmt.value) if isinstance(stmt, Assign) else elements_of(stmt.source))
        for target in target_names(stmt.target)
    ]
    while True:
        more = {s for t, s, _ in taken if t in changed} | {t for t, s, _ in taken if s in changed}
        deeper = {s for t, s, same in taken if t in (parts if same else changed)}
        if more <= changed and deeper <= parts:
            return changed, parts
        changed, parts = changed | more, parts | deeper


def aliased_names(body: Body) -> set[str]:
    return {name for group in alias_groups(body) for name in group}


def _pairs(body: Body) -> Iterator[tuple[str, str]]:
    for stmt in walk(body):
        if isinstance(stmt, Assign):
            yield from ((target, source) for source in shares(stmt.value) for target in target_names(stmt.target))
        elif isinstance(stmt, For):
            yield from ((target, source) for source in elements_of(stmt.source) for target in target_names(stmt.target))
        for expr in expressions(stmt):
            yield from stored(expr)


def shares(expr: Expr, parts: bool = False) -> Iterator[str]:
    """Variables whose mutable value, or a part of it, this expression may give."""
    if not parts and not sharing(expr.type):
        return
    match expr:
        case Local(name):
            if not _MOVED.search(name):
                yield name
        case Apply("coerce"):
            return  # what goes to an entry, or comes from it, is a copy
        case Apply("if", (_, *args)) | Apply("and" | "or" | "local", args):
            for arg in args:
                yield from shares(arg, parts)
        case Apply("[]", (receiver, _)):
            yield from shares(receiver, parts=True)
        case Apply(op, (receiver, *args)) if op.startswith("method:"):
            yield from elements_of(receiver)  # no method gives its receiver, only what it holds
            for arg in args:
                yield from shares(arg)
        case Apply("call", (Const(function), *args)) if function in COPIES:
            for arg in args:
                yield from elements_of(arg)
        case Apply("+" | "*" | "slice" | "|" | "&" | "-" | "^", args):
            for arg in args:
                yield from elements_of(arg)
        case Apply("list" | "tuple" | "dict" | "set", args):
            for arg in args:
                yield from shares(arg)
        case Comprehension(_, element, clauses):
            yield from _taken_by(element, clauses)
        case _:
            yield from (name for name in sharing_names(expr) if not _MOVED.search(name))


def _taken_by(element: Expr, clauses: Sequence[Clause]) -> set[str]:
    """What the elements of a comprehension share: variables of its own stand for elements of their sources."""
    found = set(shares(element))
    for clause in reversed(clauses):
        own = set(target_names(clause.target))
        if found & own:
            found = (found - own) | set(elements_of(clause.source))
    return found


def elements_of(expr: Expr) -> Iterator[str]:
    """What a new container, or a loop, shares with its source: the elements, where these can be changed."""
    if holds_sharing(expr.type):
        yield from shares(expr, parts=True)


def stored(expr: Expr, same: bool = False) -> Iterator[tuple[str, str]]:
    """`xs.append(ys)` and `d[k] = ys` make one value part of another; with `same`, of itself too."""
    if isinstance(expr, Apply):
        if expr.op == "setitem" or (expr.op.startswith("method:") and expr.op[7:] in MUTATORS):
            holders = list(shares(expr.args[0], parts=True))
            copies = expr.op[7:] in ("extend", "update")  # they take the elements, not the container
            for arg in expr.args[1:]:
                for source in elements_of(arg) if copies else shares(arg):
                    yield from ((holder, source) for holder in holders if same or holder != source)
        elif expr.op == "procedure":
            names = sorted({n for a in expr.args[1:] for n in shares(a)})
            yield from itertools.combinations(names, 2)
            if same:
                yield from ((a.name, a.name) for a in expr.args[1:] if isinstance(a, Local) and holds_sharing(a.type))
    for inner in operands(expr):
        yield from stored(inner, same)
