"""A loop that is left in the middle: its position becomes a variable like others."""

from __future__ import annotations

from anabranch.frontend.operators import iterate
from anabranch.graph.code import (
    Apply,
    Assign,
    Body,
    Const,
    Expr,
    For,
    Local,
    While,
)
from anabranch.lang.types import BOOL, INT, NONE, UNKNOWN, List, Type


def as_while(loop: For, number: int) -> Body:
    span = loop.span
    at = Local(f"for.{number}.at", INT, span)
    start, count, item = _positions(loop, f"for.{number}", at)
    body = (
        Assign(loop.target, item, span),
        Assign(at.name, Apply("+", (at, Const(1, INT, span)), INT, span), span),
        *loop.body,
    )
    test = Apply("<", (at, count), BOOL, span)
    return (*start, Assign(at.name, Const(0, INT, span), span), While(test, body, loop.orelse, span))


def _positions(loop: For, prefix: str, at: Local) -> tuple[Body, Expr, Expr]:
    """What to keep of the source, how many items it has, and the item at a position."""
    source, span = loop.source, loop.span
    if isinstance(source, Apply) and is_range(source):
        zero, one = Const(0, INT, span), Const(1, INT, span)
        given = source.args[1:]
        first, stop, step = (zero, *given, one) if len(given) == 1 else (*given, one)[:3]
        kept = [Local(f"{prefix}.{name}", INT, span) for name in ("start", "stop", "step")]
        assigns = tuple(Assign(k.name, v, span) for k, v in zip(kept, (first, stop, step), strict=True))
        whole = Apply("call", (source.args[0], *kept), source.type, span)
        item = Apply("[]", (whole, at), INT, span)
        return assigns, Apply("call", (Const(len, NONE, span), whole), INT, span), item
    element: Type = iterate(source.type) or UNKNOWN
    kind: Type = source.type
    if not isinstance(kind, List):
        kind = List(element)
        source = Apply("call", (Const(list, NONE, span), source), kind, span)
    items = Local(f"{prefix}.items", kind, span)
    count = Apply("call", (Const(len, NONE, span), items), INT, span)
    return (Assign(items.name, source, span),), count, Apply("[]", (items, at), element, span)


def is_range(source: Expr) -> bool:
    if not isinstance(source, Apply) or source.op != "call":
        return False
    return isinstance(source.args[0], Const) and source.args[0].value is range
