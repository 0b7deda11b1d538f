"""Assignments: to variables, to entries of state, to items of local containers; and what may not be assigned."""

from __future__ import annotations

import ast
from dataclasses import replace

from anabranch.frontend import (
    accesses,
    comprehensions,
    displays,
    expressions,
    functions,
    hints,
    resolve,
    stores,
    value_calls,
)
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.methods import Method, empty, method
from anabranch.frontend.scope import Var
from anabranch.frontend.unit import MISSING
from anabranch.graph.code import Apply, Assign, Config, Const, Do, Expr, Local
from anabranch.lang.similar import did_you_mean
from anabranch.lang.types import (
    FLOAT,
    INT,
    NONE,
    UNKNOWN,
    Dict,
    List,
    Optional,
    Set,
    Tuple,
    Type,
    accepts,
    freeze,
    is_mutable,
    thaw,
)

_IN_PLACE = {
    (List, "+"): "extend",
    (Set, "|"): "update",
    (Set, "&"): "intersection_update",
    (Set, "-"): "difference_update",
    (Set, "^"): "symmetric_difference_update",
    (Dict, "|"): "update",
}


def lower_assignment(cx: Context, node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Delete) -> None:
    match node:
        case ast.Assign():
            _assign(cx, node)
        case ast.AnnAssign():
            _annotated(cx, node)
        case ast.AugAssign():
            _augmented(cx, node)
        case ast.Delete():
            for target in node.targets:
                _delete(cx, node, target)


def _assign(cx: Context, node: ast.Assign) -> None:
    target = node.targets[0]
    if len(node.targets) == 1 and isinstance(target, ast.Name):
        state = accesses.state_of(cx, node.value) if isinstance(node.value, ast.Call) else None
        if state is not None and cx.env is not None:
            cx.env[cx.name(target.id)] = Var(UNKNOWN, True, handle=state[0].name)
            return
    if len(node.targets) == 1 and isinstance(target, ast.Subscript | ast.Attribute):
        stores.lower_store(cx, node, target, node.value)
        return
    value = expressions.lower(cx, node.value)
    if len(node.targets) > 1 and not isinstance(value, Const):
        value = cx.bind("value.", value)  # a target may rebind what it is made of
    for each in node.targets:
        if isinstance(each, ast.Subscript | ast.Attribute):
            stores.store_value(cx, node, each, value)
        else:
            assign_target(cx, node, each, value)


def assign_target(cx: Context, node: ast.AST, target: ast.expr, value: Expr) -> None:
    if isinstance(target, ast.Name):
        if target.id == cx.frame.self_name or _is_ours(cx, target.id):
            cx.error(
                target,
                "AB110",
                f"the variable '{target.id}' hides a name that the program needs",
                "rename the variable",
            )
            return
        expressions.assign(
            cx, cx.name(target.id), replace(value, span=cx.span(node)) if isinstance(value, Apply) else value
        )
        return
    if isinstance(target, ast.Tuple | ast.List) and any(
        isinstance(e, ast.Subscript | ast.Attribute) for e in target.elts
    ):
        _assign_each(cx, node, target, value)
        return
    if isinstance(value.type, Optional):
        expressions.maybe_none(cx, target, value)
        comprehensions.declare(cx, target, UNKNOWN)
        return
    if isinstance(value.type, Set):
        cx.error(target, "AB509", f"unpacking shows the order of a {value.type}", "unpack sorted(...) of it")
        return
    names = comprehensions.declare(cx, target, value.type, cx.depends_locally(value), is_multi(value))
    cx.emit(Assign(names, value, cx.span(node)))


def _assign_each(cx: Context, node: ast.AST, target: ast.Tuple | ast.List, value: Expr) -> None:
    """`xs[i], xs[j] = xs[j], xs[i]`: all values first, then the stores from left to right."""
    if not isinstance(value.type, Tuple) or len(value.type.items) != len(target.elts):
        if value.type != UNKNOWN:
            cx.error(target, "AB501", f"{value.type} is unpacked into items", "unpack a tuple of the same length")
        return
    if isinstance(value, Apply) and value.op == "tuple":
        parts: list[Expr] = [v if isinstance(v, Const) else cx.bind("value.", v) for v in value.args]
    else:
        whole = cx.bind("value.", value)
        kinds = enumerate(value.type.items)
        parts = [Apply("[]", (whole, Const(i, INT, value.span)), kind, value.span) for i, kind in kinds]
    for each, part in zip(target.elts, parts, strict=True):
        if isinstance(each, ast.Subscript | ast.Attribute):
            stores.store_value(cx, node, each, part)
        else:
            assign_target(cx, node, each, part)


def _is_ours(cx: Context, name: str) -> bool:
    value = cx.frame.names.find(name)
    return getattr(value, "__name__", None) == "anabranch" or id(value) in resolve.our_ids()


def _annotated(cx: Context, node: ast.AnnAssign) -> None:
    target = node.target
    if not isinstance(target, ast.Name):
        if node.value is None:
            cx.error(node, "AB501", f"'{cx.text(node)}' declares an item or attribute", "annotate variables only")
            return
        stores.lower_store(cx, node, target, node.value)
        return
    declared = functions.annotation_type(cx, node.annotation)
    if declared is None:
        cx.error(
            node.annotation,
            "AB204",
            f"'{cx.text(node.annotation)}' is no value type",
            _meant(cx, node.annotation) or "annotate with int, list[str], a record, ...",
        )
    if node.value is None:
        return
    value = expressions.lower(cx, node.value)
    kind = value.type
    if declared is not None and kind != UNKNOWN:
        if not accepts(declared, kind) or _int_for_float(declared, kind):
            hint = (
                f"write {cx.text(node.value)}.0 or float(...)"
                if _int_for_float(declared, kind)
                else "change the annotation or convert"
            )
            cx.error(node, "AB206", f"'{target.id}' is declared {declared} and gets {kind}", hint)
        else:
            kind = _declare(declared, kind)
    expressions.assign(cx, cx.name(target.id), _retyped(value, kind))


def _meant(cx: Context, annotation: ast.expr) -> str:
    """The question about a name in an annotation that is not defined."""
    names = [n.id for n in ast.walk(annotation) if isinstance(n, ast.Name) and cx.frame.names.find(n.id) is MISSING]
    return did_you_mean(names[0], resolve.known_names(cx)) if names else ""


def _declare(declared: Type, given: Type) -> Type:
    return declared if empty(given) or is_mutable(given) or thaw(given) == given else freeze(declared)


def _retyped(value: Expr, kind: Type) -> Expr:
    if value.type == kind:
        return value
    return replace(value, type=kind)


def _int_for_float(declared: Type, given: Type) -> bool:
    """Python would keep the int: declared and actual type would differ."""
    if declared == FLOAT:
        return given != FLOAT
    match declared, given:
        case Optional(x), Optional(y):
            return _int_for_float(x, y)
        case Optional(x), _ if given != NONE:
            return _int_for_float(x, given)
        case (List(x), List(y)) | (Set(x), Set(y)):
            return not empty(given) and _int_for_float(x, y)
        case Dict(_, x), Dict(_, y):
            return not empty(given) and _int_for_float(x, y)
    return False


def _augmented(cx: Context, node: ast.AugAssign) -> None:
    op = expressions.BINARY[type(node.op)]
    target = node.target
    if isinstance(target, ast.Name):
        load = ast.copy_location(ast.Name(id=target.id, ctx=ast.Load()), target)
        old, value = expressions.lower_all(cx, [load, node.value])
        if not _in_place(cx, node, op, old, value):
            assign_target(cx, node, target, expressions.apply_binary(cx, node, op, old, value))
        return
    state = accesses.state_of(cx, target.value)
    if isinstance(target, ast.Attribute):
        if state is None:
            if isinstance(target.value, ast.Name) and target.value.id == cx.frame.self_name:
                stores.store_self(cx, node, target)
                return
            stores.store_attribute(cx, node, target, Const(0, INT, cx.span(node)), None)
            return
        old = accesses.lower_property(cx, target, *state)
        new = expressions.apply_binary(cx, node, op, old, expressions.lower(cx, node.value))
        if new.type != UNKNOWN:
            accesses.access(cx, node, *state, "value=", [new])
        return
    if state is not None:
        key = expressions.lower(cx, target.slice)
        if not cx.stable(key) and not (isinstance(key, Apply) and key.op == "tuple" and all(map(cx.stable, key.args))):
            key = cx.bind(f"{state[0].name}.key", key)
        old = accesses.access(cx, node, *state, "__getitem__", [key])
        value = expressions.lower(cx, node.value)
        new = expressions.apply_binary(cx, node, op, old, value)
        if new.type != UNKNOWN:
            accesses.access(cx, node, *state, "__setitem__", [key, new])
        return
    _augmented_item(cx, node, target, op)


def _augmented_item(cx: Context, node: ast.AugAssign, target: ast.Subscript, op: str) -> None:
    receiver, key = expressions.lower_all(cx, [target.value, target.slice])
    receiver, key = (e if cx.stable(e) else cx.bind("item.", e) for e in (receiver, key))
    if not isinstance(receiver, Local | Config):
        receiver = cx.bind("item.", receiver)
    old = expressions.read_item(cx, target, receiver, key)
    if expressions.emits(cx, node.value):
        old = cx.bind("item.", old)
    value = expressions.lower(cx, node.value)
    if _in_place(cx, node, op, old, value):
        return
    new = expressions.apply_binary(cx, node, op, old, value)
    if new.type != UNKNOWN:
        stores.store_item(cx, node, receiver, key, new)


def _in_place(cx: Context, node: ast.AugAssign, op: str, old: Expr, value: Expr) -> bool:
    """`xs += ys` changes the list itself, as in Python; of what state handed out it makes a new one."""
    if not isinstance(old.type, List | Set | Dict) or value.type == UNKNOWN or not is_mutable(old.type):
        return False
    if isinstance(old.type, List) and isinstance(value.type, Set):
        cx.error(node, "AB509", f"'{op}=' shows the order of a {value.type}", "use sorted(...) of it")
        return True
    name = _IN_PLACE.get((type(old.type), op))
    if name is None:
        cx.error(node, "AB501", f"'{op}=' on a {old.type}", f"write x = x {op} ...")
        return True
    found = method(old.type, name, [value.type])
    if found is None:
        cx.error(node, "AB206", f"'{op}=' does not go with {old.type} and {value.type}", "give both one type")
        return True
    displays.no_multi_element(cx, node, [value])
    value_calls.change(cx, node, old, found, [value])
    cx.emit(Do(Apply(f"method:{name}", (old, value), NONE, cx.span(node)), cx.span(node)))
    return True


def _delete(cx: Context, node: ast.Delete, target: ast.expr) -> None:
    if not isinstance(target, ast.Subscript):
        _delete_whole(cx, node, target)
        return
    state = accesses.state_of(cx, target.value)
    if state is not None:
        accesses.lower_access(cx, node, *state, "__delitem__", [target.slice])
        return
    receiver, key = expressions.lower_all(cx, [target.value, target.slice])
    if UNKNOWN in (receiver.type, key.type):
        return
    if not isinstance(receiver.type, List | Dict):
        cx.error(node, "AB206", f"an item of {receiver.type} cannot be deleted", "delete from a list or a dict")
        return
    value_calls.change(cx, node, receiver, Method(NONE, True), [])
    cx.emit(Do(Apply("delitem", (receiver, key), NONE, cx.span(node)), cx.span(node)))


def _delete_whole(cx: Context, node: ast.Delete, target: ast.expr) -> None:
    state = accesses.state_of(cx, target)
    if state is not None:
        message = f"'del {cx.text(target)}' deletes the state '{state[0].name}'"
        cx.error(node, "AB501", message, hints.deletion_of(state[0]))
        return
    cx.error(
        node,
        "AB501",
        f"'del {cx.text(target)}' forgets a variable",
        "leave it, or delete an entry of a state or a dict: del NAME[key]",
    )
