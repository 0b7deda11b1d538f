"""Which expressions change a local value in place."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.graph.code import Apply, Body, Comprehension, Expr, Local, expressions, operands, walk
from anabranch.lang.types import Dict, Iter, List, Type, is_mutable

MUTATORS = frozenset(
    "append extend insert pop remove sort reverse clear update setdefault add discard intersection_update "
    "difference_update symmetric_difference_update".split()
)


def changes(expr: Expr) -> bool:
    """May evaluating it change a value in place?"""
    return next(_changed(expr), None) is not None


def changed_names(body: Body) -> set[str]:
    """Variables whose value a body may change in place; a change of a part counts as one of the whole."""
    return {
        name
        for stmt in walk(body)
        for expr in expressions(stmt)
        for changed in _changed(expr)
        for name in _roots(changed)
    }


def changed_parts(body: Body) -> set[str]:
    """Variables of which a body may change a part in place, such as `xs` in `xs[0].append(1)`."""
    changed = (c for stmt in walk(body) for expr in expressions(stmt) for c in _changed(expr))
    return {name for expr in changed if not isinstance(expr, Local) for name in _roots(expr)}


def _changed(expr: Expr) -> Iterator[Expr]:
    """The operands that are changed."""
    if isinstance(expr, Apply):
        if expr.op in ("setitem", "delitem") or (expr.op.startswith("method:") and expr.op[7:] in MUTATORS):
            if is_mutable(expr.args[0].type) or expr.op in ("setitem", "delitem"):
                yield expr.args[0]
        elif expr.op == "procedure":
            yield from (a for a in expr.args[1:] if is_mutable(a.type) or isinstance(a.type, Iter))
        elif expr.op == "call":
            yield from (a for a in expr.args[1:] if isinstance(a, Local) and isinstance(a.type, Iter))
    if isinstance(expr, Comprehension):
        # Running over an iterator that has a name uses it up.
        yield from (c.source for c in expr.clauses if isinstance(c.source, Local) and isinstance(c.source.type, Iter))
    for inner in operands(expr):
        yield from _changed(inner)


def _holds_mutable(kind: Type) -> bool:
    match kind:
        case List(of) | Iter(of):
            return is_mutable(of) or _holds_mutable(of)
        case Dict(_, value):
            return is_mutable(value)
    return False


def _roots(expr: Expr) -> Iterator[str]:
    """The variables whose value this is, or is a part of."""
    match expr:
        case Local(name):
            yield name
        case Apply(op, (first, *_)) if op == "[]" or op.startswith(("attr:", "method:")):
            yield from _roots(first)
        case Apply("if", (_, then, orelse)):
            yield from _roots(then)
            yield from _roots(orelse)
        case Apply("and" | "or" | "local", args):
            for arg in args:
                yield from _roots(arg)
        case Apply("call", (_, *args)):
            # list(xs) is a new list; only what it holds may be shared.
            yield from (n for a in args if _holds_mutable(a.type) for n in _roots(a))
        case Apply("function" | "procedure" | "tuple" | "list" | "dict", args):
            for arg in args:
                yield from _roots(arg)
