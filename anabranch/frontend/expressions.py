"""Python expressions to typed ones. State accesses and inlined helpers inside them become statements before."""

from __future__ import annotations

import ast
import types as pytypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anabranch.frontend import accesses, calls, comprehensions, conditions, displays, hints, resolve
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.methods import attribute, attribute_names, empty
from anabranch.frontend.operators import binary, index, sliced, unary
from anabranch.frontend.scope import Var
from anabranch.frontend.unit import MISSING
from anabranch.graph.code import Access, Apply, Assign, Config, Const, Expr, Gather, Local
from anabranch.lang.similar import did_you_mean
from anabranch.lang.types import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    NONE,
    STR,
    UNKNOWN,
    Optional,
    Record,
    Tuple,
    Type,
    accepts,
    is_known,
)

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
}
UNARY: dict[type[ast.unaryop], str] = {ast.Not: "not", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_LITERALS: dict[type, Type] = {int: INT, float: FLOAT, bool: BOOL, str: STR, bytes: BYTES, type(None): NONE}


def lower(cx: Context, node: ast.expr) -> Expr:
    """One expression; what it needs of state is written to `cx.out` first, in Python's order.

    After an error, what holds a part of unknown type is of unknown type: something was said of the part already. Of
    configuration nothing is said before it is used, and only a part of it may be.
    """
    found = _lower(cx, node)
    said = cx.frame.kind != "init" and cx.unit.report.failed
    return Const(None, UNKNOWN, cx.span(node)) if said and not is_known(found.type) else found


def _lower(cx: Context, node: ast.expr) -> Expr:
    match node:
        case ast.Constant():
            return _constant(cx, node)
        case ast.Name():
            return _name(cx, node)
        case ast.Attribute():
            return _attribute(cx, node)
        case ast.Subscript():
            return _subscript(cx, node)
        case ast.Call():
            return calls.lower_call(cx, node)
        case ast.BinOp():
            left, right = lower_all(cx, [node.left, node.right])
            return apply_binary(cx, node, BINARY[type(node.op)], left, right)
        case ast.UnaryOp():
            return _unary(cx, node)
        case ast.BoolOp():
            return conditions.lower_bool_op(cx, node)
        case ast.Compare():
            return conditions.lower_compare(cx, node)
        case ast.IfExp():
            return conditions.lower_if_exp(cx, node)
        case ast.Tuple() | ast.List() | ast.Set():
            return displays.lower_display(cx, node)
        case ast.Dict():
            return displays.lower_dict(cx, node)
        case ast.JoinedStr():
            return displays.lower_fstring(cx, node)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return comprehensions.lower_comprehension(cx, node)
        case ast.Lambda():
            return cx.error(
                node,
                "AB501",
                "a lambda may only be an argument of sorted, min, max, map, filter or list.sort",
                "write a helper: def _name(self, ...)",
            )
        case ast.NamedExpr():
            cx.set(cx.name(node.target.id), Var(UNKNOWN))
            return cx.error(
                node,
                "AB501",
                "programs have no ':='",
                f"write {cx.text(node.target)} = {cx.text(node.value)} on a line before",
            )
        case ast.Starred():
            return cx.error(node, "AB501", "programs have no '*' in calls and displays", "name each element")
        case ast.Await():
            return cx.error(node, "AB501", "programs have no await", "write an ordinary call")
        case ast.Yield() | ast.YieldFrom():
            return cx.error(node, "AB901", "yield is reserved: not yet", "return a list of the rows")
        case ast.Slice():
            return cx.error(node, "AB501", "a slice stands alone", "write xs[a:b]")
    return cx.error(node, "AB501", f"programs have no {type(node).__name__}", "write it with plain expressions")


def emits(cx: Context, node: ast.AST) -> bool:
    """Does this expression write statements: does it reach state, also through a helper, or gather?"""
    frame = cx.frame
    for inner in ast.walk(node):
        if cx.unit.reaches(inner, frame.self_name):
            return True
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            var = (cx.env or {}).get(cx.name(inner.id))
            if var is not None and var.handle is not None:
                return True
        if isinstance(inner, ast.Call) and resolve.ours(cx, inner.func) in ("everywhere", "gather"):
            return True
    return False


def lower_all(cx: Context, nodes: Sequence[ast.expr]) -> list[Expr]:
    """Operands from left to right: one that is evaluated before a later one's statements is kept in a variable."""
    last = max((i for i, n in enumerate(nodes) if emits(cx, n)), default=0)
    found = []
    for i, node in enumerate(nodes):
        expr = lower(cx, node)
        if i < last and not cx.stable(expr):
            expr = cx.bind("operand.", expr)
        found.append(expr)
    return found


def _constant(cx: Context, node: ast.Constant) -> Expr:
    kind = _LITERALS.get(type(node.value))
    if kind is None:
        return cx.error(node, "AB204", f"{cx.text(node)} is no value type", "use int, float, str, bytes, bool or None")
    return Const(node.value, kind, cx.span(node))


def _name(cx: Context, node: ast.Name) -> Expr:
    frame = cx.frame
    if node.id == frame.self_name:
        return cx.error(
            node,
            "AB303",
            "the program itself is used as a value",
            "pass the values that are needed, or call a helper of it",
        )
    if node.id not in frame.locals:
        return resolve.global_name(cx, node)
    var = (cx.env or {}).get(cx.name(node.id))
    if var is None or var.unbound:
        if cx.env is None:
            return Const(None, UNKNOWN, cx.span(node))
        return cx.error(
            node,
            "AB208",
            f"'{node.id}' may have no value here: some path does not assign it",
            f"assign {node.id} on every path before",
            about=node.id,
        )
    if var.handle is not None:
        return cx.error(
            node,
            "AB303",
            f"'{node.id}' is the state {var.handle} on every instance, not a value",
            hints.everywhere_read_of(cx.unit.states[var.handle], node.id),
        )
    if var.mixed:
        return cx.error(
            node,
            "AB407",
            f"'{node.id}' has one value per instance on one path and a single value on another",
            f"use ab.gather({node.id}) before the paths meet",
            about=node.id,
        )
    if var.type == UNKNOWN:
        return cx.error(
            node,
            "AB205",
            f"the type of '{node.id}' differs between paths or cannot be inferred",
            f"annotate it: {node.id}: int = ...",
            about=node.id,
            consequence=not var.conflict,
        )
    return Local(cx.name(node.id), var.type, cx.span(node), var.multi)


def _attribute(cx: Context, node: ast.Attribute) -> Expr:
    frame = cx.frame
    if isinstance(node.value, ast.Name) and node.value.id == frame.self_name:
        return _self_attribute(cx, node)
    state = accesses.state_of(cx, node.value)
    if state is not None:
        return accesses.lower_property(cx, node, *state)
    static = resolve.static(cx, node)
    if static is not MISSING:
        return resolve.constant(cx, node, static)
    receiver = lower(cx, node.value)
    return read_attribute(cx, node, receiver)


def read_attribute(cx: Context, node: ast.Attribute, receiver: Expr) -> Expr:
    found = attribute(receiver.type, node.attr)
    if receiver.type == UNKNOWN:
        return receiver
    if isinstance(receiver.type, Optional):
        return maybe_none(cx, node, receiver)
    if found is None:
        prop = _property(receiver.type, node.attr)
        if prop is not None:
            return calls.call_function(cx, node, prop, [receiver], [])
        known = attribute_names(receiver.type)
        return cx.error(
            node,
            "AB206",
            f"{receiver.type} has no attribute '{node.attr}'",
            hints.known_of(node.attr, known, "use a record (NamedTuple or frozen dataclass) for named fields"),
        )
    return Apply(f"attr:{node.attr}", (receiver,), found, cx.span(node))


def _property(receiver: Type, name: str) -> Any:
    prop = getattr(receiver.cls, name, None) if isinstance(receiver, Record) else None
    return prop.fget if isinstance(prop, property) and isinstance(prop.fget, pytypes.FunctionType) else None


def _self_attribute(cx: Context, node: ast.Attribute) -> Expr:
    unit = cx.unit
    if node.attr in unit.states:
        hint = hints.read_of(unit.states[node.attr])
        return cx.error(node, "AB303", f"the state '{node.attr}' is used as a value", hint)
    if node.attr in unit.broken:
        return Const(None, UNKNOWN, cx.span(node))
    kind = unit.config.get(node.attr)
    if kind is not None:
        why = unit.outside.get(node.attr)
        if why is not None:
            return resolve.forbidden(cx, node, why, cx.text(node))
        if kind == UNKNOWN and cx.frame.kind != "init":
            return cx.error(
                node,
                "AB205",
                f"the type of the configuration '{node.attr}' cannot be inferred",
                f"annotate it in the class body: {node.attr}: float",
            )
        return Config(node.attr, kind, cx.span(node))
    if node.attr in unit.methods:
        return cx.error(
            node, "AB303", f"the method '{node.attr}' is used as a value", f"call it: self.{node.attr}(...)"
        )
    return cx.error(
        node,
        "AB306",
        f"the program has no attribute '{node.attr}'",
        did_you_mean(node.attr, [*unit.states, *unit.config, *unit.methods], "self.{}")
        or f"declare a state ({node.attr}: ab.Partitioned[...]) or set configuration in __init__",
        about=f"self.{node.attr}",
    )


def maybe_none(cx: Context, node: ast.AST, expr: Expr) -> Expr:
    """`expr`, a part of `node`, may be None where a value is needed."""
    what = cx.source(expr.span)
    test = f"if {what} is None: ..." if what.isidentifier() else f"x = {what}; if x is None: ..."
    message = f"{what} may be None: its type is {expr.type}"
    about = expr.name if isinstance(expr, Local) and what.isidentifier() else ""
    return cx.error(node, "AB211", message, f"test it first: {test}", about=about)


def _subscript(cx: Context, node: ast.Subscript) -> Expr:
    state = accesses.state_of(cx, node.value)
    if state is not None:
        return accesses.lower_access(cx, node, *state, "__getitem__", [node.slice])
    if isinstance(node.slice, ast.Slice):
        bounds = [
            b or ast.copy_location(ast.Constant(None), node)
            for b in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        receiver, *limits = lower_all(cx, [node.value, *bounds])
        found = sliced(receiver.type)
        if isinstance(receiver.type, Optional):
            return maybe_none(cx, node, receiver)
        if found is None or any(limit.type not in (INT, NONE, UNKNOWN) for limit in limits):
            return cx.error(
                node, "AB206", f"{receiver.type} cannot be sliced like this", "slice a list, str or bytes with ints"
            )
        return Apply("slice", (receiver, *limits), found, cx.span(node))
    receiver, key = lower_all(cx, [node.value, node.slice])
    return read_item(cx, node, receiver, key)


def read_item(cx: Context, node: ast.AST, receiver: Expr, key: Expr) -> Expr:
    if isinstance(receiver.type, Optional):
        return maybe_none(cx, node, receiver)
    if key.type == UNKNOWN and not isinstance(receiver.type, Tuple):
        return key
    literal = _literal_int(key)
    found = index(receiver.type, key.type, literal)
    if found is None:
        return cx.error(node, "AB206", f"{receiver.type} cannot be indexed by {_show(key)}", _index_hint(receiver.type))
    return Apply("[]", (receiver, key), found, cx.span(node))


def _index_hint(receiver: Type) -> str:
    if isinstance(receiver, Tuple):
        return "index a tuple by a literal within its length, or unpack it"
    return "index a list or vector by int, a dict by its key type"


def _literal_int(expr: Expr) -> int | None:
    match expr:
        case Const(value) if isinstance(value, int):
            return value
        case Apply("neg", (Const(value),)) if isinstance(value, int):
            return -value
    return None


def _show(expr: Expr) -> str:
    return repr(expr.value) if isinstance(expr, Const) and expr.type != UNKNOWN else str(expr.type)


def apply_binary(cx: Context, node: ast.AST, op: str, left: Expr, right: Expr) -> Expr:
    for operand, other in ((left, right), (right, left)):
        if (isinstance(operand.type, Optional) or operand.type == NONE) and other.type != UNKNOWN:
            return maybe_none(cx, node, operand)
    if op == "%" and left.type == STR and displays.shows_order(right.type):
        return cx.error(node, "AB509", f"the text of a {right.type} shows its order", "format sorted(...) of it")
    found = binary(op, left.type, right.type, right.value if isinstance(right, Const) else None)
    if found is None:
        return cx.error(
            node,
            "AB206",
            f"'{op}' does not go with {left.type} and {right.type}",
            "convert one side to the other's type",
        )
    return Apply(op, (left, right), found, cx.span(node))


def _unary(cx: Context, node: ast.UnaryOp) -> Expr:
    operand = lower(cx, node.operand)
    op = UNARY[type(node.op)]
    found = unary(op, operand.type)
    if found is None and isinstance(operand.type, Optional):
        return maybe_none(cx, node, operand)
    if found is None:
        return cx.error(node, "AB206", f"'{cx.text(node)[0]}' does not go with {operand.type}", "use a number")
    if op == "neg" and isinstance(operand, Const) and operand.type in (INT, FLOAT):
        return Const(-operand.value, operand.type, cx.span(node))
    return Apply(op, (operand,), found, cx.span(node))


def filled(value: Expr, declared: Type | None) -> Expr:
    """An empty container says nothing of what it holds, a declared type does."""
    if declared is None or not empty(value.type) or not accepts(declared, value.type):
        return value
    return replace(value, type=declared)


def assign(cx: Context, name: str, value: Expr) -> None:
    value = filled(value, cx.declared.get(name))
    cx.set(name, Var(value.type, is_multi(value), cx.depends_locally(value)))
    last = cx.out[-1] if cx.out else None
    if isinstance(last, Access | Gather) and last.target in cx.unnamed and _is_local(value, last.target):
        cx.unnamed.discard(last.target)
        cx.out[-1] = replace(last, target=name)  # what was just read needs no name of ours
    else:
        cx.emit(Assign(name, value, value.span))


def _is_local(expr: Expr, name: str) -> bool:
    return isinstance(expr, Local) and expr.name == name
