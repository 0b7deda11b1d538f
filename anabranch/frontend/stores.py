"""Stores: to entries of state, to items of local containers; and what may not be stored to."""

from __future__ import annotations

import ast

from anabranch.frontend import accesses, displays, expressions, hints, value_calls
from anabranch.frontend.context import Context
from anabranch.frontend.methods import Method, stored_item
from anabranch.graph.code import Apply, Do, Expr
from anabranch.graph.nodes import State
from anabranch.lang.types import (
    NONE,
    UNKNOWN,
    Optional,
    Record,
)


def lower_store(cx: Context, node: ast.AST, target: ast.Subscript | ast.Attribute, value: ast.expr) -> None:
    """`target = value`: Python evaluates the value first, then the target's parts."""
    if (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == cx.frame.self_name
    ):
        store_self(cx, node, target)
        return
    state = accesses.state_of(cx, target.value)
    if state is not None and isinstance(target, ast.Subscript):
        stored = expressions.lower(cx, value)
        if not cx.stable(stored) and not _simple_target(target.slice):
            stored = cx.bind("value.", expressions.filled(stored, state[0].value))  # evaluated before the key
        accesses.access(cx, node, *state, "__setitem__", [expressions.lower(cx, target.slice), stored])
        return
    store_value(cx, node, target, expressions.lower(cx, value))


def store_value(cx: Context, node: ast.AST, target: ast.Subscript | ast.Attribute, value: Expr) -> None:
    state = accesses.state_of(cx, target.value)
    if isinstance(target, ast.Attribute):
        store_attribute(cx, node, target, value, state)
        return
    if not cx.stable(value) and not (_simple_target(target.slice) and _simple_target(target.value)):
        value = cx.bind("value.", value)
    if state is not None:
        key = expressions.lower(cx, target.slice)
        accesses.access(cx, node, *state, "__setitem__", [key, value])
        return
    if isinstance(target.slice, ast.Slice):
        cx.error(target, "AB501", "programs have no assignment to slices", "build a new list")
        return
    receiver, key = expressions.lower_all(cx, [target.value, target.slice])
    store_item(cx, node, receiver, key, value)


def _simple_target(node: ast.expr) -> bool:
    """Can evaluating it neither fail nor change anything? Then it may happen before or after the value."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Tuple():
            return all(map(_simple_target, node.elts))
        case ast.Attribute():
            return isinstance(node.value, ast.Name)
    return False


def store_item(cx: Context, node: ast.AST, receiver: Expr, key: Expr, value: Expr) -> None:
    if UNKNOWN in (receiver.type, key.type, value.type):
        value_calls.fill_with_unknown(cx, receiver)
        return
    if isinstance(receiver.type, Optional):
        expressions.maybe_none(cx, node, receiver)
        return
    found = stored_item(receiver.type, key.type, value.type)
    if found is None:
        cx.error(
            node, "AB206", f"{receiver.type} cannot hold {value.type} under {key.type}", "give all its entries one type"
        )
        return
    displays.no_multi_element(cx, node, [key, value])
    value_calls.change(cx, node, receiver, Method(NONE, True, found), [key, value])
    cx.emit(Do(Apply("setitem", (receiver, key, value), NONE, cx.span(node)), cx.span(node)))


def store_attribute(
    cx: Context, node: ast.AST, target: ast.Attribute, value: Expr, state: tuple[State, bool] | None
) -> None:
    if state is not None:
        if target.attr == "value":
            accesses.access(cx, node, *state, "value=", [value])
        else:
            cx.error(node, "AB309", f"{state[0].type} has no attribute '{target.attr}' to set", "call a method of it")
        return
    if isinstance(target.value, ast.Name) and target.value.id == cx.frame.self_name:
        store_self(cx, node, target)
        return
    receiver = expressions.lower(cx, target.value)
    if receiver.type == UNKNOWN:
        return
    if isinstance(receiver.type, Record):
        of_state = expressions.emits(cx, target.value)
        cx.error(
            node,
            "AB302" if of_state else "AB501",
            f"a field of the record {receiver.type} is changed: "
            + ("it belongs to state, build a new value and store it" if of_state else "records are frozen"),
            "build a new record and store it: r._replace(n=...) or dataclasses.replace(r, n=...)",
        )
        return
    cx.error(node, "AB501", f"an attribute of {receiver.type} is set", "values have no attributes to set")


def store_self(cx: Context, node: ast.AST, target: ast.Attribute) -> None:
    name = target.attr
    if name in cx.unit.states:
        cx.error(
            node,
            "AB304",
            f"the state '{name}' is assigned outside __init__",
            hints.assignment_of(cx.unit.states[name]),
        )
    elif name in cx.unit.config:
        cx.error(
            node,
            "AB305",
            f"the configuration '{name}' is changed after __init__",
            f"make it a state: {name}: ab.Replicated[...]",
        )
    elif name not in cx.unit.broken:
        cx.error(
            node,
            "AB310",
            f"the attribute '{name}' is set outside __init__",
            f"keep it in a declared state: {name}: ab.Partitioned[ab.Table[...]]",
        )
