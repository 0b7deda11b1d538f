"""Calls: helpers, entries, our own functions, builtins, the user's functions, methods of values."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any

from anabranch.frontend import (
    accesses,
    displays,
    expressions,
    functions,
    hints,
    library,
    library_calls,
    records,
    resolve,
    value_calls,
)
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.operators import iterate
from anabranch.frontend.scope import Var
from anabranch.frontend.unit import MISSING, is_users_own
from anabranch.graph.code import Apply, Const, Expr, Gather, Local
from anabranch.graph.nodes import State
from anabranch.lang.annotations import parse
from anabranch.lang.similar import did_you_mean
from anabranch.lang.types import (
    DENSE_VECTOR,
    FLOAT,
    INT,
    NEVER,
    NONE,
    UNKNOWN,
    VECTOR,
    Dict,
    Fault,
    Iter,
    List,
    Tuple,
    Type,
)

Keywords = Sequence[tuple[str, Expr]]
_NUMBERS = (FLOAT, INT, NEVER)


def lower_call(cx: Context, node: ast.Call) -> Expr:
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return cx.error(node, "AB501", "programs have no '*' in calls", "name each argument")
    func = node.func
    if isinstance(func, ast.Attribute):
        if isinstance(func.value, ast.Name) and func.value.id == cx.frame.self_name and func.attr in cx.unit.methods:
            return _call_method(cx, node, func.attr)
        state = accesses.state_of(cx, func.value)
        if state is not None:
            return _call_state(cx, node, func.attr, *state)
        if isinstance(func.value, ast.Name) and func.value.id == cx.frame.self_name:
            known = [n for n in cx.unit.methods if n != "__init__"]
            hint = hints.known_of(func.attr, known, "write it, or call a function of the module")
            return cx.error(node, "AB306", f"the program has no method '{func.attr}'", hint)
    ours = resolve.ours(cx, func)
    if ours is not None:
        return _call_ours(cx, node, ours)
    target = resolve.static(cx, func)
    if target is not MISSING:
        return _call_static(cx, node, target)
    if isinstance(func, ast.Attribute):
        owner = resolve.static(cx, func.value)
        if isinstance(owner, ModuleType | type):
            question = did_you_mean(func.attr, dir(owner), cx.text(func.value) + ".{}")
            return cx.error(node, "AB502", f"'{cx.text(func)}' does not exist", question or "check the name")
        return value_calls.lower_value_call(cx, node, func)
    if isinstance(func, ast.Name) and func.id not in cx.frame.locals:
        hint = did_you_mean(func.id, resolve.known_names(cx)) or f"define or import {func.id} first"
        return cx.error(node, "AB502", f"the function '{func.id}' is not defined", hint)
    if isinstance(func, ast.Name) and _is_unknown(cx, func.id):
        return Const(None, UNKNOWN, cx.span(node))
    if isinstance(func, ast.Name) and _shadows(func.id):
        return cx.error(
            node, "AB110", f"the variable '{func.id}' hides the builtin that is called here", "rename the variable"
        )
    return cx.error(
        node,
        "AB502",
        f"'{cx.text(func)}' is not a known function",
        "call a helper (self._name), a function of yours or one through ab.pure",
    )


def _shadows(name: str) -> bool:
    return hasattr(builtins, name)


def _is_unknown(cx: Context, name: str) -> bool:
    """A variable after an error: there is nothing more to say."""
    var = (cx.env or {}).get(cx.name(name))
    return var is not None and var.type == UNKNOWN


# State and our own functions


def _call_state(cx: Context, node: ast.Call, name: str, state: State, everywhere: bool) -> Expr:
    if node.keywords:
        return cx.error(node, "AB309", f"'{name}' of a state takes no keywords", "pass the arguments by position")
    if name in ("value", "shape"):
        return cx.error(node, "AB309", f"'{name}' is an attribute of {state.type}, not a method", f"write .{name}")
    return accesses.lower_access(cx, node, state, everywhere, name, node.args)


def _call_ours(cx: Context, node: ast.Call, name: str) -> Expr:
    if name not in ("everywhere", "gather", "local"):
        return cx.error(
            node, "AB502", f"ab.{name} is not for use inside entries", "use it in the class body or in __init__"
        )
    if len(node.args) != 1 or node.keywords:
        return cx.error(node, "AB513", f"ab.{name} takes one argument", f"write ab.{name}(x)")
    arg = node.args[0]
    if name == "everywhere":
        return _everywhere(cx, node, arg)
    value = expressions.lower(cx, arg)
    if name == "local":
        return Apply("local", (value,), value.type, cx.span(node))
    if value.type == UNKNOWN:
        return value
    if not is_multi(value):
        return cx.error(
            node,
            "AB408",
            f"'{cx.text(arg)}' is a single value: there is nothing to gather",
            "gather what is read everywhere: ab.gather(ab.everywhere(...))",
        )
    if cx.everywhere:
        return cx.error(node, "AB411", "gather inside everywhere", "gather the result of everywhere(...)")
    source = value if isinstance(value, Local) else cx.bind("each.", value)
    target = cx.fresh("gather.")
    cx.unnamed.add(target)
    kind = List(value.type)
    cx.set(target, Var(kind))
    cx.emit(Gather(target, source, kind, cx.span(node)))
    return Local(target, kind, cx.span(node))


def _everywhere(cx: Context, node: ast.Call, arg: ast.expr) -> Expr:
    if cx.everywhere:
        return cx.error(
            node, "AB411", "everywhere inside another everywhere", "one is enough: it holds for all of its argument"
        )
    state = accesses.state_of(cx, arg)
    if state is not None:
        name = state[0].name
        return cx.error(
            node,
            "AB303",
            f"the state '{name}' on every instance is used as a value",
            hints.everywhere_read_of(state[0], f"ab.everywhere(self.{name})"),
        )
    if not expressions.emits(cx, arg):
        value = expressions.lower(cx, arg)
        if value.type == UNKNOWN:
            return value
        return cx.error(node, "AB411", "everywhere without state in it", "write ab.everywhere(self.NAME.method(...))")
    cx.everywhere += 1
    value = expressions.lower(cx, arg)
    cx.everywhere -= 1
    return value


# Methods of the program


def _call_method(cx: Context, node: ast.Call, name: str) -> Expr:
    unit = cx.unit
    if name == "__init__" or name.startswith("__"):
        return cx.error(node, "AB502", f"'{name}' cannot be called from an entry", "write a helper")
    if cx.everywhere and unit.touches_state(name):
        return cx.error(
            node,
            "AB411",
            f"the helper '{name}' reaches state inside everywhere",
            f"use everywhere inside {name}, on the state itself",
        )
    args, keywords = arguments(cx, node)
    if unit.touches_state(name):
        return functions.inline(cx, node, name, args, keywords)
    return functions.call_helper(cx, node, name, args, keywords)


def arguments(cx: Context, node: ast.Call) -> tuple[list[Expr], list[tuple[str, Expr]]]:
    values = expressions.lower_all(cx, [*node.args, *(k.value for k in node.keywords)])
    count = len(node.args)
    named = [(k.arg or "", v) for k, v in zip(node.keywords, values[count:], strict=True)]
    return values[:count], named


# Functions known when the class is read


def _call_static(cx: Context, node: ast.Call, target: Any) -> Expr:
    later = resolve.not_yet(target)
    text = cx.text(node.func)
    if later is not None:
        return cx.error(node, "AB901", f"ab.{later} is reserved: not yet available", resolve.not_yet_hint(later))
    why = library.forbidden(target)
    if why is not None:
        return resolve.forbidden(cx, node, why, text, _HASH_HINT if target is hash else None)
    if hasattr(target, "__anabranch_pure__"):
        return _call_pure(cx, node, target)
    if resolve.is_exception(target):
        args, keywords = arguments(cx, node)
        if any(map(is_multi, args)):
            return cx.error(node, "AB406", "a value per instance goes into an exception", "use ab.gather(...) first")
        return apply_call(cx, node, target, args, keywords, Fault(target.__name__))
    if target in resolve.VALUE_STATES:
        return _call_vector(cx, node, target)
    if getattr(target, "__self__", None) in resolve.VALUE_STATES:
        args, keywords = arguments(cx, node)
        return apply_call(cx, node, target, args, keywords, DENSE_VECTOR)
    if isinstance(target, type) and target in resolve.STATE_TYPES:
        return cx.error(
            node,
            "AB303",
            f"'{text}' makes a state inside an entry",
            f"declare it as a field: name: ab.Partitioned[{text}[...]]",
        )
    if resolve.is_record(target):
        return records.lower_record(cx, node, target)
    if target is dataclasses.replace:
        return records.lower_replace(cx, node)
    rule = library.rule_of(target)
    if rule is not None:
        return library_calls.lower_library_call(cx, node, target, rule)
    if isinstance(target, FunctionType):
        return _call_function_object(cx, node, target)
    if isinstance(target, ModuleType) or not callable(target):
        return cx.error(node, "AB502", f"'{text}' cannot be called", "call a function")
    return _unknown(cx, node, target)


_HASH_HINT = "ab.stable_hash(x) is the same in every run, for str, bytes, int, bool and tuples of these"


def _unknown(cx: Context, node: ast.Call, target: Any) -> Expr:
    text = cx.text(node.func)
    instead = library.instead_of(target)
    return cx.error(
        node,
        "AB502",
        f"'{text}' is not known to be free of effects",
        instead or "if it is, write a function with annotations around it and mark that with @ab.pure",
    )


def _call_function_object(cx: Context, node: ast.Call, target: FunctionType) -> Expr:
    if not is_users_own(target):
        return _unknown(cx, node, target)
    args, keywords = arguments(cx, node)
    return call_function(cx, node, target, args, keywords)


def call_function(cx: Context, node: ast.AST, target: FunctionType, args: Sequence[Expr], keywords: Keywords) -> Expr:
    return functions.call_user(cx, node, target, args, keywords)


def _call_pure(cx: Context, node: ast.Call, target: Any) -> Expr:
    original = target.__anabranch_pure__
    args, keywords = arguments(cx, node)
    try:
        hints = inspect.get_annotations(original, eval_str=True)
        result = parse(hints["return"])
    except Exception:  # an annotation may be any expression, and fail in any way
        return cx.error(
            node,
            "AB205",
            f"the result of '{cx.text(node.func)}' has no known type",
            "write a function with annotations around it and mark that with @ab.pure",
        )
    return apply_call(cx, node, original, args, keywords, result)


def apply_call(cx: Context, node: ast.AST, target: Any, args: Sequence[Expr], keywords: Keywords, result: Type) -> Expr:
    span = cx.span(node)
    operands = (Const(target, NONE, span), *args, *(v for _, v in keywords))
    return Apply("call", operands, result, span, tuple(k for k, _ in keywords))


def _call_vector(cx: Context, node: ast.Call, target: Any) -> Expr:
    args, keywords = arguments(cx, node)
    result: Type = VECTOR if target is resolve.VALUE_STATES[0] else DENSE_VECTOR
    displays.no_multi_element(cx, node, args)
    for arg in args:
        fits = (
            arg.type in (UNKNOWN, NEVER)
            or isinstance(arg.type, type(result))
            or (result == VECTOR and isinstance(arg.type, Dict))
            or (result == DENSE_VECTOR and isinstance(arg.type, List | Iter | Tuple) and iterate(arg.type) in _NUMBERS)
        )
        if not fits or len(args) > 1 or keywords:
            wanted = "a dict[int, float]" if result == VECTOR else "a list[float]"
            return cx.error(node, "AB206", f"{result} cannot be made from {arg.type}", f"give it {wanted}")
    return apply_call(cx, node, target, args, keywords, result)


# Builtins and the standard library


# Methods of values
