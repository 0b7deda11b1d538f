"""Which expressions change a local value in place."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.graph.code import (
    Apply,
    Body,
    Comprehension,
    Const,
    Expr,
    Lambda,
    Local,
    expressions,
    operands,
    target_names,
    walk,
)
from anabranch.lang import DenseVector, Vector
from anabranch.lang.types import Dict, Iter, List, Optional, Record, Tuple, Type, is_mutable

MUTATORS = frozenset(
    "append extend insert pop remove sort reverse clear update setdefault add discard intersection_update "
    "difference_update symmetric_difference_update".split()
)
COPIES = frozenset((list, sorted, set, frozenset, dict, reversed, enumerate, zip, Vector, DenseVector))


def changes(expr: Expr) -> bool:
    """May evaluating it change a value in place?"""
    return next(_changed(expr), None) is not None


def changed_names(body: Body) -> set[str]:
    """Variables whose value a body may change in place; a change of a part counts as one of the whole."""
    found: set[str] = set()
    for expr in _expressions(body):
        found.update(name for changed in _changed(expr) for name in _roots(changed))
        if _changes_inside(expr):
            found.update(sharing_names(expr))
    return found


def changed_parts(body: Body) -> set[str]:
    """Variables of which a body may change a part in place, such as `xs` in `xs[0].append(1)`."""
    found: set[str] = set()
    for expr in _expressions(body):
        found.update(name for changed in _changed(expr) if not isinstance(changed, Local) for name in _roots(changed))
        found.update(_handed_over(expr))
        if _changes_inside(expr):
            found.update(sharing_names(expr))
    return found


def _expressions(body: Body) -> Iterator[Expr]:
    return (expr for stmt in walk(body) for expr in expressions(stmt))


def _changed(expr: Expr) -> Iterator[Expr]:
    """The operands that are changed."""
    if isinstance(expr, Apply):
        if expr.op in ("setitem", "delitem") or (expr.op.startswith("method:") and expr.op[7:] in MUTATORS):
            if is_mutable(expr.args[0].type) or expr.op in ("setitem", "delitem"):
                yield expr.args[0]
        elif expr.op == "procedure":
            yield from (a for a in expr.args[1:] if sharing(a.type) or isinstance(a.type, Iter))
        elif expr.op == "call":
            yield from (a for a in expr.args[1:] if isinstance(a, Local) and isinstance(a.type, Iter))
    if isinstance(expr, Comprehension):
        # Running over an iterator that has a name uses it up.
        yield from (c.source for c in expr.clauses if isinstance(c.source, Local) and isinstance(c.source.type, Iter))
    for inner in operands(expr):
        yield from _changed(inner)


def _handed_over(expr: Expr) -> Iterator[str]:
    """Variables that a procedure gets, and of which it may change a part."""
    if isinstance(expr, Apply) and expr.op == "procedure":
        yield from (a.name for a in expr.args[1:] if isinstance(a, Local) and holds_sharing(a.type))
    for inner in operands(expr):
        yield from _handed_over(inner)


def _changes_inside(expr: Expr) -> bool:
    """Does a comprehension or lambda in it change what it runs over? Then anything it reads may be changed."""
    own: set[str] = set()
    if isinstance(expr, Comprehension):
        own = {name for clause in expr.clauses for name in target_names(clause.target)}
    elif isinstance(expr, Lambda):
        own = set(expr.params)
    if own and any(name in own for changed in _changed(expr) for name in _roots(changed)):
        return True
    return any(map(_changes_inside, operands(expr)))


def sharing(kind: Type) -> bool:
    """Can it, or something it holds, be changed in place?"""
    return is_mutable(kind) or holds_sharing(kind)


def holds_sharing(kind: Type) -> bool:
    match kind:
        case List(of) | Iter(of) | Optional(of):
            return sharing(of)
        case Dict(_, value):
            return sharing(value)
        case Tuple(items):
            return any(map(sharing, items))
        case Record(_, fields):
            return any(sharing(t) for _, t in fields)
    return False


def is_new(expr: Expr) -> bool:
    """Is every part of it that can be changed made by this expression, so that nothing else has it?"""
    match expr:
        case Apply("list" | "tuple" | "dict" | "set", args):
            return all(not sharing(a.type) or is_new(a) for a in args)
        case Apply("slice" | "method:copy" | "+" | "*" | "|" | "&" | "-" | "^", args):
            return not any(holds_sharing(a.type) for a in args)
        case Apply("coerce"):
            return True
        case Comprehension(_, element):
            return is_new(element)
        case Apply("call", (Const(function), *args)) if function in COPIES:
            return not any(holds_sharing(a.type) for a in args)
    return not sharing(expr.type)


def sharing_names(expr: Expr) -> set[str]:
    """Every variable in an expression that holds something that can be changed in place."""
    if isinstance(expr, Local):
        return {expr.name} if sharing(expr.type) else set()
    found = {name for inner in operands(expr) for name in sharing_names(inner)}
    if isinstance(expr, Comprehension):
        return found - {name for clause in expr.clauses for name in target_names(clause.target)}
    return found - set(expr.params) if isinstance(expr, Lambda) else found


def _roots(expr: Expr) -> Iterator[str]:
    """The variables whose value this may be, or be a part of."""
    match expr:
        case Local(name):
            yield name
        case Apply("[]", (first, *_)):
            yield from _roots(first)
        case _:
            yield from sharing_names(expr)
