"""Methods of values, and changes of values in place."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from anabranch.frontend import (
    calls,
    displays,
    expressions,
    hints,
    library_calls,
    records,
)
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.methods import Method, attribute_names, empty, method
from anabranch.frontend.operators import iterate
from anabranch.frontend.scope import Var
from anabranch.graph.code import Apply, Config, Const, Expr, Local
from anabranch.lang.types import (
    UNKNOWN,
    Optional,
    Record,
    Set,
    Type,
    is_mutable,
    strip_optional,
)


def lower_value_call(cx: Context, node: ast.Call, func: ast.Attribute) -> Expr:
    if func.attr == "sort" and node.keywords:
        return _sort(cx, node, func)
    values = expressions.lower_all(cx, [func.value, *node.args, *(k.value for k in node.keywords)])
    receiver, args = values[0], values[1 : 1 + len(node.args)]
    keywords = [(k.arg or "", v) for k, v in zip(node.keywords, values[1 + len(node.args) :], strict=True)]
    return call_value_method(cx, node, func.attr, receiver, args, keywords)


def _sort(cx: Context, node: ast.Call, func: ast.Attribute) -> Expr:
    receiver = expressions.lower(cx, func.value)
    keywords: list[tuple[str, Expr]] = []
    for keyword in node.keywords:
        if keyword.arg == "key":
            keywords.append(
                ("key", library_calls.function_argument(cx, keyword.value, iterate(receiver.type) or UNKNOWN))
            )
        else:
            keywords.append((keyword.arg or "", expressions.lower(cx, keyword.value)))
    return call_value_method(cx, node, "sort", receiver, [], keywords)


def call_value_method(
    cx: Context, node: ast.Call, name: str, receiver: Expr, args: Sequence[Expr], keywords: calls.Keywords
) -> Expr:
    kind = receiver.type
    if kind == UNKNOWN:
        return receiver
    if isinstance(kind, Optional):
        assert isinstance(node.func, ast.Attribute)
        return expressions.maybe_none(cx, node.func, receiver)
    if isinstance(kind, Record):
        return records.lower_record_method(cx, node, name, receiver, args, keywords)
    types = [a.type for a in args]
    values = [v for _, v in keywords]
    if UNKNOWN in types or any(v.type == UNKNOWN for v in values):
        fill_with_unknown(cx, receiver)
        return Const(None, UNKNOWN, cx.span(node))
    for arg in args:
        if isinstance(arg.type, Set) and not isinstance(kind, Set):
            return cx.error(node, "AB509", f"'{name}' shows the order of a {arg.type}", "use sorted(...) of it")
    found = method(kind, name, [*types, *(v.type for v in values)])
    if found is None:
        return _no_method(cx, node, name, kind, args)
    if found.changes and change(cx, node, receiver, found, args):
        displays.no_multi_element(cx, node, args)
    span = cx.span(node)
    return Apply(f"method:{name}", (receiver, *args, *values), found.result, span, tuple(k for k, _ in keywords))


def fill_with_unknown(cx: Context, receiver: Expr) -> None:
    """An empty container takes its type from what is put into it: of unknown values it gets none."""
    if isinstance(receiver, Local) and empty(receiver.type):
        cx.set(receiver.name, Var(UNKNOWN))


def _kind_name(kind: Type) -> str:
    return str(kind).partition("[")[0] if empty(kind) else str(kind)


def _no_method(cx: Context, node: ast.Call, name: str, kind: Type, args: Sequence[Expr]) -> Expr:
    types = [a.type for a in args]
    absent = next((a for a in args if isinstance(a.type, Optional)), None)
    if absent is not None and method(kind, name, [strip_optional(t) for t in types]) is not None:
        return expressions.maybe_none(cx, node, absent)
    shown = ", ".join(map(str, types))
    known = attribute_names(kind)
    if name in ("pop", "popitem") and isinstance(kind, Set):
        return cx.error(
            node,
            "AB509",
            "set.pop takes an element that differs from run to run",
            "take min(...) of it and discard that",
        )
    hint = hints.known_of(name, known, "see docs/language.md for what values can do")
    return cx.error(node, "AB206", f"{_kind_name(kind)} has no method '{name}' for ({shown})", hint)


def _holder(receiver: Expr) -> str:
    """Whose value it is: that of a record, whoever has it, or what state handed out."""
    of_record = isinstance(receiver, Apply) and any(isinstance(a.type, Record) for a in receiver.args[:1])
    return "a record, which is a value as a whole" if of_record else "state"


def change(cx: Context, node: ast.AST, receiver: Expr, found: Method, args: Sequence[Expr]) -> bool:
    """A change of a value in place: it must be the entry's own, and it may tell the type of an empty container.

    False after a broken rule was reported.
    """
    kind = receiver.type
    if isinstance(receiver, Config) or _root_is_config(receiver):
        cx.error(
            node,
            "AB305",
            "configuration is read-only after __init__",
            "make it a state, for example ab.Replicated[...]",
        )
        return False
    if not is_mutable(kind):
        cx.error(
            node,
            "AB302",
            f"this value belongs to {_holder(receiver)}: build a new value and store it",
            hints.new_value(cx.unit.states.values(), kind),
        )
        return False
    if cx.everywhere and not is_multi(receiver):
        cx.error(
            node,
            "AB412",
            "a single value is changed inside everywhere",
            "change it outside, with what ab.gather(ab.everywhere(...)) gives",
        )
        return False
    if isinstance(receiver, Local) and found.receiver is not None and cx.env is not None:
        var = cx.env.get(receiver.name)
        if var is not None:
            local = var.local or any(map(cx.depends_locally, args)) or cx.control
            cx.env[receiver.name] = Var(found.receiver, var.multi, local)
    elif isinstance(receiver, Local) and cx.env is not None and any(map(cx.depends_locally, args)):
        var = cx.env.get(receiver.name)
        if var is not None:
            cx.env[receiver.name] = Var(var.type, var.multi, True)
    return True


def _root_is_config(expr: Expr) -> bool:
    while isinstance(expr, Apply) and expr.args and (expr.op == "[]" or expr.op.startswith("attr:")):
        expr = expr.args[0]
    return isinstance(expr, Config)
