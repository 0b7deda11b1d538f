"""Names that are not variables: modules, functions, classes and constants of the user's file."""

from __future__ import annotations

import ast
import dataclasses
import sys
from types import ModuleType
from typing import Any

from anabranch import lang
from anabranch.frontend import library
from anabranch.frontend.context import Context
from anabranch.frontend.read import NoSource, parse_file
from anabranch.frontend.unit import MISSING, global_changes
from anabranch.graph.code import Const, Expr
from anabranch.lang.later import NotYet
from anabranch.lang.similar import did_you_mean
from anabranch.lang.types import UNKNOWN, Fault, Type, UnsupportedType, freeze, is_mutable
from anabranch.lang.values import type_of

_OURS = {
    id(getattr(lang, name)): name
    for name in (
        "everywhere",
        "gather",
        "local",
        "pure",
        "reads",
        "writes",
        "partial",
        "add",
        "mean",
        "largest",
        "smallest",
    )
}
STATE_TYPES = (lang.Table, lang.Matrix, lang.DenseMatrix, lang.Value)
VALUE_STATES = (lang.Vector, lang.DenseVector)


def static(cx: Context, node: ast.expr) -> Any:
    """The object a chain of names stands for when the class is read, or MISSING."""
    if isinstance(node, ast.Name):
        own = node.id in cx.frame.locals or node.id == cx.frame.self_name
        return MISSING if own else cx.frame.names.find(node.id)
    if isinstance(node, ast.Attribute):
        owner = static(cx, node.value)
        if isinstance(owner, ModuleType | type):
            return getattr(owner, node.attr, MISSING)
    return MISSING


def ours(cx: Context, node: ast.expr) -> str | None:
    """The name of the function of ours that this is, under whatever name the user imported it."""
    return _OURS.get(id(static(cx, node)))


def not_yet_hint(name: str) -> str:
    return {
        "random": "take the random number as a parameter",
        "stale": "read the state itself",
        "every": "call the entry from outside, with the time as a parameter",
    }.get(name, "leave it out for now")


def not_yet(value: Any) -> str | None:
    return value.name if isinstance(value, NotYet) else None


def is_record(value: Any) -> bool:
    if not isinstance(value, type):
        return False
    return dataclasses.is_dataclass(value) or (issubclass(value, tuple) and hasattr(value, "_fields"))


def is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def global_name(cx: Context, node: ast.Name) -> Expr:
    value = cx.frame.names.find(node.id)
    if value is MISSING:
        hint = did_you_mean(node.id, known_names(cx)) or f"define or import {node.id} first"
        return cx.error(node, "AB306", f"the name '{node.id}' is not defined", hint, about=node.id)
    found = constant(cx, node, value)
    if isinstance(found, Const) and found.type != UNKNOWN and not is_exception(value) and _changes(cx, node.id):
        return cx.error(
            node,
            "AB510",
            f"the global '{node.id}' is assigned more than once",
            f"make it configuration: set self.{node.id.lower()} in __init__",
        )
    return found


def known_names(cx: Context) -> list[str]:
    """The names that mean something where an entry or a function is read, nearest first."""
    return [*(n for n in cx.frame.locals if n.isidentifier()), *cx.frame.names.known()]


def _changes(cx: Context, name: str) -> bool:
    function = cx.frame.names.function
    if cx.frame.names.is_closure(name) or function is None or name not in function.__globals__:
        return False
    try:
        return global_changes(parse_file(function.__code__.co_filename), name)
    except NoSource:
        return False


def constant(cx: Context, node: ast.expr, value: Any) -> Expr:
    """A global object used as a value."""
    text = cx.text(node)
    if value is MISSING:
        return cx.error(node, "AB306", f"'{text}' is not defined", "check the name")
    later = not_yet(value)
    if later is not None:
        return cx.error(node, "AB901", f"ab.{later} is reserved: not yet available", not_yet_hint(later))
    if is_exception(value):
        return Const(value, Fault(value.__name__), cx.span(node))
    if callable(value) or isinstance(value, ModuleType):
        return cx.error(node, "AB206", f"'{text}' is used as a value", f"call it: {text}(...)")
    try:
        kind: Type = type_of(value)
    except UnsupportedType as error:
        why = library.forbidden_object(value)
        if why is not None:
            return forbidden(cx, node, why, text)
        hint = "keep its values in configuration (self.NAME in __init__), or use it in a function marked with @ab.pure"
        return cx.error(node, "AB204", f"the global '{text}' is no value: {error}", hint)
    if isinstance(value, frozenset):
        kind = freeze(kind)
    if is_mutable(kind) and cx.frame.kind != "init":
        return cx.error(
            node,
            "AB510",
            f"the global '{text}' can change: it is a {kind}",
            f"make it configuration: set self.{text.rpartition('.')[2].lower()} = {text} in __init__",
        )
    if isinstance(node, ast.Attribute) and attribute_changes(static(cx, node.value), node.attr):
        hint = f"make it configuration: set self.{node.attr.lower()} in __init__"
        return cx.error(node, "AB510", f"'{text}' is assigned more than once", hint)
    return Const(value, kind, cx.span(node))


def forbidden(cx: Context, node: ast.expr, why: tuple[str, str], text: str, hint: str | None = None) -> Expr:
    """A function or an object that works outside, or gives something else whenever it is asked."""
    code, what = why
    message = f"'{text}' is {what}: entries must give the same result whenever they run"
    return cx.error(node, code, message, hint or _FORBIDDEN_HINTS[code])


_FORBIDDEN_HINTS = {
    "AB504": "take the time as a parameter",
    "AB505": "take the random number as a parameter (ab.random comes later)",
    "AB506": "read before and pass it as a parameter, or return what is to be shown or saved",
    "AB508": "write out what is meant",
    "AB509": "use a key of your own, or compare with ==",
}


def attribute_changes(owner: Any, name: str) -> bool:
    """Is an attribute of a user's module or class assigned again somewhere in its file?"""
    module = owner if isinstance(owner, ModuleType) else sys.modules.get(getattr(owner, "__module__", ""))
    file = getattr(module, "__file__", None)
    if module is None or file is None or module.__name__.partition(".")[0] in sys.stdlib_module_names:
        return False
    try:
        tree = parse_file(str(file))
    except NoSource:
        return False
    if isinstance(owner, ModuleType):
        return global_changes(tree, name)
    owners = (owner.__name__, "cls")
    stores = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    return any(n.attr == name and isinstance(n.value, ast.Name) and n.value.id in owners for n in stores)


def our_ids() -> frozenset[int]:
    return frozenset(_OURS)
