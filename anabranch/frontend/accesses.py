"""Accesses to state: which state, by which key, and what the rules of its distribution say."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from anabranch.frontend import expressions, hints, resolve
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.scope import Var
from anabranch.frontend.states import Misuse, Use, method_names, use
from anabranch.graph.code import Access, Apply, Config, Const, Expr, Local
from anabranch.graph.nodes import State
from anabranch.lang import DenseMatrix, DenseVector
from anabranch.lang.distribution import Distribution
from anabranch.lang.types import INT, NONE, UNKNOWN, Tuple, Type

_NAMES = {
    "__getitem__": "[]",
    "__setitem__": "[]=",
    "__delitem__": "del",
    "__contains__": "in",
    "__len__": "len",
    "__iter__": "for",
    "value=": "value =",
}


def state_of(cx: Context, node: ast.expr) -> tuple[State, bool] | None:
    """The state an expression stands for, and whether on every instance."""
    states = cx.unit.states
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == cx.frame.self_name:
        if node.attr in states:
            return states[node.attr], cx.everywhere > 0
        return None
    if isinstance(node, ast.Call) and len(node.args) == 1 and resolve.ours(cx, node.func) == "everywhere":
        if cx.everywhere:
            cx.error(
                node, "AB411", "everywhere inside another everywhere", "one is enough: it holds for all of its argument"
            )
        cx.everywhere += 1
        inner = state_of(cx, node.args[0])
        cx.everywhere -= 1
        return None if inner is None else (inner[0], True)
    if isinstance(node, ast.Name):
        var = (cx.env or {}).get(cx.name(node.id))
        if var is not None and var.handle is not None:
            return states[var.handle], True
    return None


def lower_property(cx: Context, node: ast.Attribute, state: State, everywhere: bool) -> Expr:
    """`self.total.value`, `self.m.shape`."""
    if node.attr not in ("value", "shape") or use(state, node.attr, ()) is None:
        return cx.error(
            node,
            "AB309",
            f"{state.type} has no attribute '{node.attr}'",
            hints.known_of(node.attr, method_names(state)),
        )
    return access(cx, node, state, everywhere, node.attr, [])


def lower_access(
    cx: Context, node: ast.AST, state: State, everywhere: bool, method: str, nodes: Sequence[ast.expr]
) -> Expr:
    kept, cx.everywhere = cx.everywhere, 0 if not everywhere else cx.everywhere
    args = expressions.lower_all(cx, nodes)
    cx.everywhere = kept
    return access(cx, node, state, everywhere, method, args)


def access(cx: Context, node: ast.AST, state: State, everywhere: bool, method: str, args: Sequence[Expr]) -> Expr:
    """Write the access; the result is a new variable."""
    span = cx.span(node)
    nothing = Const(None, UNKNOWN, span)
    if cx.in_try:
        cx.error(
            node,
            "AB307",
            f"the state '{state.name}' is used inside try",
            "read it before the try and write it after: what fails inside try must not touch state",
        )
    found = use(state, method, [a.type for a in args])
    if found is None:
        cx.error(
            node,
            "AB309",
            f"{state.type} has no method '{_NAMES.get(method, method)}'",
            hints.known_of(method, method_names(state)),
        )
        return nothing
    if isinstance(found, Misuse):
        if UNKNOWN not in [a.type for a in args]:
            _misuse(cx, node, state, method, args, found)
        return nothing
    if not _allowed(cx, node, state, everywhere, method, found, args):
        return nothing
    key = _key(cx, state, everywhere, found, args)
    if key is not None:
        args = [key[1] if i == found.key else a for i, a in enumerate(args)]
    local = state.distribution is Distribution.PARTIAL and not everywhere
    _warn_local(cx, node, state, everywhere, found, args)
    target = None
    if found.result != NONE:
        target = cx.fresh(f"{state.name}.{_target_name(method)}")
        cx.unnamed.add(target)
        cx.set(target, Var(found.result, everywhere, local or any(map(cx.depends_locally, args))))
    cx.emit(
        Access(
            target,
            state.name,
            method,
            tuple(args),
            key[0] if key else None,
            found.writes,
            everywhere,
            found.result,
            span,
        )
    )
    if target is None:
        return Const(None, NONE, span)
    return Local(target, found.result, span, everywhere)


def _target_name(method: str) -> str:
    return {"__getitem__": "item", "__contains__": "has", "__len__": "len", "__iter__": "keys"}.get(
        method, method.strip("=")
    )


def _misuse(cx: Context, node: ast.AST, state: State, method: str, args: Sequence[Expr], found: Misuse) -> None:
    given = ", ".join(str(a.type) for a in args)
    cx.error(
        node,
        "AB206" if method.startswith("__") or method.endswith("=") else "AB309",
        f"{state.type} does not take ({given}) for '{_NAMES.get(method, method)}'",
        f"it takes {found.wanted}",
    )


def _allowed(
    cx: Context, node: ast.AST, state: State, everywhere: bool, method: str, found: Use, args: Sequence[Expr]
) -> bool:
    """The rules of the three distributions; false if one is broken."""
    shown = _NAMES.get(method, method)
    multi = any(map(is_multi, args))
    name = state.name
    if state.distribution is Distribution.PARTITIONED and not everywhere:
        if found.whole or found.key is None:
            cx.error(
                node,
                "AB301",
                f"'{shown}' needs the whole of the partitioned state '{name}'",
                hints.whole_of(state, found.writes),
            )
            return False
        if is_multi(args[found.key]):
            cx.error(node, "AB403", f"the key of '{name}' has one value per instance", "use ab.gather(...) first")
            return False
    if state.distribution is Distribution.PARTITIONED and everywhere:
        if found.writes:
            cx.error(
                node,
                "AB409",
                f"'{shown}' writes the partitioned state '{name}' on every instance",
                hints.write_by_key(state),
            )
            return False
        if state.cls in (DenseVector, DenseMatrix):
            cx.error(
                node,
                "AB309",
                f"'{shown}' of each worker's part of '{name}': a {state.cls.__name__} has a fixed shape and no parts",
                "use ab.Vector, ab.Matrix or ab.Table, or keep what is asked for in a Partial state",
            )
            return False
        if not found.whole:
            cx.error(
                node,
                "AB309",
                f"'{shown}' by key on each worker's part of '{name}'",
                hints.read_by_key(state),
            )
            return False
    if state.distribution is Distribution.REPLICATED and found.writes and not everywhere:
        cx.error(
            node,
            "AB311",
            f"'{shown}' writes the replicated state '{name}' on one instance only",
            f"write it on all: {hints.write_everywhere(state, method)}",
        )
        return False
    if multi and (not everywhere or (found.writes and state.distribution is Distribution.REPLICATED)):
        cx.error(
            node,
            "AB404",
            f"a value per instance goes into '{shown}' of '{name}'",
            "use ab.gather(...) and merge the values into one first",
        )
        return False
    return True


def _key(cx: Context, state: State, everywhere: bool, found: Use, args: Sequence[Expr]) -> tuple[Expr, Expr] | None:
    """The expression that names the place, and the argument it is a part of."""
    if state.distribution is not Distribution.PARTITIONED or everywhere or found.key is None:
        return None
    arg = args[found.key]
    if not _simple(arg):
        arg = cx.bind(f"{state.name}.key", arg)
    if found.part is None:
        return arg, arg
    return component(arg, found.part), arg


def component(arg: Expr, part: int) -> Expr:
    if isinstance(arg, Apply) and arg.op == "tuple":
        return arg.args[part]
    kind: Type = arg.type.items[part] if isinstance(arg.type, Tuple) else UNKNOWN
    return Apply("[]", (arg, Const(part, INT, arg.span)), kind, arg.span)


def _simple(expr: Expr) -> bool:
    """Cheap, and cannot fail: may be evaluated once to find the place and again there."""
    match expr:
        case Const() | Local() | Config():
            return True
        case Apply("tuple", args):
            return all(map(_simple, args))
        case Apply(op, (inner,)) if op.startswith("attr:"):
            return _simple(inner)
        case Apply("[]", (inner, Const())) if isinstance(inner.type, Tuple):
            return _simple(inner)
    return False


def _warn_local(cx: Context, node: ast.AST, state: State, everywhere: bool, found: Use, args: Sequence[Expr]) -> None:
    if state.distribution is Distribution.PARTIAL or (everywhere and state.distribution is Distribution.PARTITIONED):
        return
    if any(map(cx.depends_locally, args)):
        reason = f"a local read of partial state reaches the {state.distribution.value.lower()} state '{state.name}'"
    elif cx.control:
        reason = f"a local read of partial state decides about '{state.name}'"
    else:
        return
    warn_local(cx, node, reason)


def warn_local(cx: Context, node: ast.AST, reason: str) -> None:
    cx.error(
        node,
        "AB420",
        f"{reason}: it depends on the number of workers",
        "gather all instances with ab.everywhere and ab.gather, or state the intent with ab.local(...)",
    )
