"""Calls: helpers, entries, our own functions, builtins, the user's functions, methods of values."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any

from anabranch.frontend import accesses, comprehensions, expressions, functions, library, resolve
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.methods import Method, attribute_names, empty, method
from anabranch.frontend.operators import iterate
from anabranch.frontend.scope import Var
from anabranch.frontend.unit import MISSING, is_users_own
from anabranch.graph.code import Apply, Comprehension, Config, Const, Expr, Gather, Local
from anabranch.graph.nodes import State
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
    Optional,
    Record,
    Set,
    Tuple,
    Type,
    UnsupportedType,
    accepts,
    is_mutable,
    parse,
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
            known = ", ".join(n for n in cx.unit.methods if n != "__init__")
            return cx.error(node, "AB306", f"the program has no method '{func.attr}'", f"it has {known}")
    ours = resolve.ours(cx, func)
    if ours is not None:
        return _call_ours(cx, node, ours)
    target = resolve.static(cx, func)
    if target is not MISSING:
        return _call_static(cx, node, target)
    if isinstance(func, ast.Attribute):
        owner = resolve.static(cx, func.value)
        if isinstance(owner, ModuleType | type):
            return cx.error(node, "AB502", f"'{cx.text(func)}' does not exist", "check the name")
        return _call_value_method(cx, node, func)
    if isinstance(func, ast.Name) and func.id not in cx.frame.locals:
        return cx.error(node, "AB502", f"the function '{func.id}' is not defined", f"define or import {func.id} first")
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
        target = cx.fresh("local.")
        kept, cx.control = cx.control, False
        expressions.assign(cx, target, value)
        cx.control = kept
        if cx.env is not None:
            cx.env[target] = Var(value.type, is_multi(value))
        return Local(target, value.type, cx.span(node), is_multi(value))
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
            f"call a method of it: ab.everywhere(self.{name}).items()",
        )
    if not expressions.emits(cx, arg):
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
    args, keywords = _arguments(cx, node)
    if unit.touches_state(name):
        return functions.inline(cx, node, name, args, keywords)
    return functions.call_helper(cx, node, name, args, keywords)


def _arguments(cx: Context, node: ast.Call) -> tuple[list[Expr], list[tuple[str, Expr]]]:
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
        return cx.error(
            node,
            why[0],
            f"'{text}' is {why[1]}: entries must give the same result whenever they run",
            _forbidden_hint(why[0]),
        )
    if hasattr(target, "__anabranch_pure__"):
        return _call_pure(cx, node, target)
    if resolve.is_exception(target):
        args, keywords = _arguments(cx, node)
        if any(map(is_multi, args)):
            return cx.error(node, "AB406", "a value per instance goes into an exception", "use ab.gather(...) first")
        return _apply_call(cx, node, target, args, keywords, Fault(target.__name__))
    if target in resolve.VALUE_STATES:
        return _call_vector(cx, node, target)
    if getattr(target, "__self__", None) in resolve.VALUE_STATES:
        args, keywords = _arguments(cx, node)
        return _apply_call(cx, node, target, args, keywords, DENSE_VECTOR)
    if isinstance(target, type) and target in resolve.STATE_TYPES:
        return cx.error(
            node,
            "AB303",
            f"'{text}' makes a state inside an entry",
            f"declare it as a field: name: ab.Partitioned[{text}[...]]",
        )
    if resolve.is_record(target):
        return _call_record(cx, node, target)
    if target is dataclasses.replace:
        return _replace_fields(cx, node)
    rule = library.rule_of(target)
    if rule is not None:
        return _call_library(cx, node, target, rule)
    if isinstance(target, FunctionType):
        return _call_function_object(cx, node, target)
    if isinstance(target, ModuleType) or not callable(target):
        return cx.error(node, "AB502", f"'{text}' cannot be called", "call a function")
    return _unknown(cx, node)


def _forbidden_hint(code: str) -> str:
    return {
        "AB504": "take the time as a parameter",
        "AB505": "take the random number as a parameter (ab.random comes later)",
        "AB506": "read before and pass it as a parameter, or return what is to be shown or saved",
        "AB508": "write out what is meant",
        "AB509": "use a key of your own, or compare with ==",
    }[code]


def _unknown(cx: Context, node: ast.Call) -> Expr:
    text = cx.text(node.func)
    return cx.error(
        node,
        "AB502",
        f"'{text}' is not known to be free of effects",
        "if it is, write a function with annotations around it and mark that with @ab.pure",
    )


def _call_function_object(cx: Context, node: ast.Call, target: FunctionType) -> Expr:
    if not is_users_own(target):
        return _unknown(cx, node)
    args, keywords = _arguments(cx, node)
    return call_function(cx, node, target, args, keywords)


def call_function(cx: Context, node: ast.AST, target: FunctionType, args: Sequence[Expr], keywords: Keywords) -> Expr:
    return functions.call_user(cx, node, target, args, keywords)


def _call_pure(cx: Context, node: ast.Call, target: Any) -> Expr:
    original = target.__anabranch_pure__
    args, keywords = _arguments(cx, node)
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
    return _apply_call(cx, node, original, args, keywords, result)


def _apply_call(
    cx: Context, node: ast.AST, target: Any, args: Sequence[Expr], keywords: Keywords, result: Type
) -> Expr:
    span = cx.span(node)
    operands = (Const(target, NONE, span), *args, *(v for _, v in keywords))
    return Apply("call", operands, result, span, tuple(k for k, _ in keywords))


def _call_vector(cx: Context, node: ast.Call, target: Any) -> Expr:
    args, keywords = _arguments(cx, node)
    result: Type = VECTOR if target is resolve.VALUE_STATES[0] else DENSE_VECTOR
    expressions.no_multi_element(cx, node, args)
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
    return _apply_call(cx, node, target, args, keywords, result)


def _call_record(cx: Context, node: ast.Call, target: type) -> Expr:
    args, keywords = _arguments(cx, node)
    try:
        record = parse(target)
    except UnsupportedType as error:
        return cx.error(node, "AB204", str(error), "make it a NamedTuple or a frozen dataclass of value types")
    assert isinstance(record, Record)
    expressions.no_multi_element(cx, node, [*args, *(v for _, v in keywords)])
    fields = dict(record.fields)
    given = dict(zip(fields, args, strict=False))
    given.update(keywords)
    for name, value in given.items():
        wanted = fields.get(name)
        if (
            wanted is None
            or (wanted == FLOAT and value.type == INT)
            or not (value.type == UNKNOWN or accepts(wanted, value.type))
        ):
            message = (
                f"the field '{name}' of {record} is {wanted}, got {value.type}"
                if wanted
                else f"{record} has no field '{name}'"
            )
            return cx.error(node, "AB206", message, f"{record}({', '.join(f'{n}: {t}' for n, t in fields.items())})")
    if len(args) > len(fields) or not _complete(target, set(given)):
        return cx.error(
            node, "AB513", f"{record} needs {', '.join(fields)}", f"got {len(given)}: give each field a value"
        )
    return _apply_call(cx, node, target, args, keywords, record)


def _replace_fields(cx: Context, node: ast.Call) -> Expr:
    """`dataclasses.replace(record, field=value)`."""
    args, keywords = _arguments(cx, node)
    nothing = Const(None, UNKNOWN, cx.span(node))
    if len(args) == 1 and args[0].type == UNKNOWN:
        return nothing
    record = args[0].type if len(args) == 1 else UNKNOWN
    if not isinstance(record, Record) or issubclass(record.cls, tuple):
        cx.error(node, "AB206", "replace takes one frozen dataclass and its fields by name", "replace(r, n=1)")
        return nothing
    for name, value in keywords:
        wanted = record.field(name)
        if wanted is None or not _fits_field(wanted, value.type):
            return cx.error(node, "AB206", f"the field '{name}' of {record} is {wanted}, got {value.type}", "check it")
    return _apply_call(cx, node, dataclasses.replace, args, keywords, record)


def _fits_field(wanted: Type, given: Type) -> bool:
    """A record keeps what it is given: an int does not become a float."""
    return given == UNKNOWN or (accepts(wanted, given) and not (wanted == FLOAT and given == INT))


def _complete(target: type, given: set[str]) -> bool:
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return False
    return all(p.name in given or p.default is not p.empty for p in parameters)


# Builtins and the standard library

_WITH_KEY = (sorted, min, max)


def _call_library(cx: Context, node: ast.Call, target: Any, rule: library.Rule) -> Expr:
    if (
        len(node.args) == 1
        and not node.keywords
        and target in (len, list, sorted, enumerate, set, iter, any, all, sum, min, max)
    ):
        state = accesses.state_of(cx, node.args[0])
        if state is not None:
            method_name = "__len__" if target is len else "__iter__"
            found = accesses.lower_access(cx, node, *state, method_name, [])
            return found if target is len or found.type == UNKNOWN else _typed(cx, node, target, rule, [found], [])
    args, keywords = _library_arguments(cx, node, target)
    return _typed(cx, node, target, rule, args, keywords)


def _typed(cx: Context, node: ast.Call, target: Any, rule: library.Rule, args: list[Expr], keywords: Keywords) -> Expr:
    types = [a.type for a in args]
    named = {k: v.type for k, v in keywords}
    if UNKNOWN in types or UNKNOWN in named.values():
        return Const(None, UNKNOWN, cx.span(node))
    if target in (str, repr, format) and any(map(expressions.shows_order, types)):
        return cx.error(node, "AB509", "the text of a set or dict shows its order", "use sorted(...) of it")
    for arg in args:
        if isinstance(arg, Comprehension) and target is sum and arg.element.type == FLOAT and _over_set(arg):
            return cx.error(node, "AB509", "the sum of floats depends on the order of a set", "use sorted(...) of it")
        if isinstance(arg.type, Optional) and target not in (str, repr, bool, min, max):
            return expressions.maybe_none(cx, node, arg)
        ordered = target is sum and isinstance(arg.type, Set) and arg.type.of == FLOAT
        if isinstance(arg.type, Set) and (target not in library.ORDER_FREE or ordered or "key" in named):
            return cx.error(
                node, "AB509", f"'{cx.text(node.func)}' shows the order of a {arg.type}", "use sorted(...) of it"
            )
    found = rule(types, named)
    shown = ", ".join(map(str, types))
    if found is None:
        return cx.error(
            node,
            "AB206",
            f"'{cx.text(node.func)}' does not take ({shown})",
            "convert the arguments, or check their number",
        )
    if found == UNKNOWN:
        hint = "give sum a start: sum(xs, ab.Vector())" if target is sum else "annotate a variable with the result"
        return cx.error(node, "AB205", f"the type of '{cx.text(node)}' cannot be inferred", hint)
    if any(map(is_multi, args)) and target in (iter, zip, enumerate, map, filter):
        return cx.error(node, "AB402", "a value per instance is iterated over", "use ab.gather(...) on it first")
    return _apply_call(cx, node, target, args, keywords, found)


def _over_set(comprehension: Comprehension) -> bool:
    return any(isinstance(c.source.type, Set) for c in comprehension.clauses)


def _library_arguments(cx: Context, node: ast.Call, target: Any) -> tuple[list[Expr], list[tuple[str, Expr]]]:
    """Like others, but lambdas and functions get the type of the elements they will be called with."""
    nodes = [*node.args, *(k.value for k in node.keywords)]
    names = [None] * len(node.args) + [k.arg for k in node.keywords]
    is_function = [_is_function(cx, target, i, n, name) for i, (n, name) in enumerate(zip(nodes, names, strict=True))]
    plain = [n for n, f in zip(nodes, is_function, strict=True) if not f]
    lowered = iter(_lower_sources(cx, plain, target, "key" in names and target is not sorted))
    found: list[Expr | None] = [None if f else next(lowered) for f in is_function]
    sources = [e for e in found if e is not None]
    element: Type = UNKNOWN
    if sources:
        several = target in (min, max) and len(node.args) > 1
        element = sources[0].type if several else (iterate(sources[0].type) or UNKNOWN)
    values = [_function_argument(cx, n, element) if e is None else e for n, e in zip(nodes, found, strict=True)]
    count = len(node.args)
    return values[:count], [(k.arg or "", v) for k, v in zip(node.keywords, values[count:], strict=True)]


def _lower_sources(cx: Context, nodes: Sequence[ast.expr], target: Any, with_key: bool) -> list[Expr]:
    first = nodes[0] if nodes else None
    order_free = target in library.ORDER_FREE and not with_key
    if order_free and isinstance(first, ast.GeneratorExp | ast.ListComp) and not expressions.emits(cx, first):
        values = comprehensions.lower_comprehension(cx, first, order_free=True)
        return [values, *expressions.lower_all(cx, nodes[1:])]
    return expressions.lower_all(cx, nodes)


def _is_function(cx: Context, target: Any, position: int, node: ast.expr, name: str | None) -> bool:
    if isinstance(node, ast.Lambda):
        return True
    wanted = (name == "key" and target in _WITH_KEY) or (position == 0 and name is None and target in (map, filter))
    return wanted and not (isinstance(node, ast.Constant) and node.value is None)


def _function_argument(cx: Context, node: ast.expr, element: Type) -> Expr:
    if isinstance(node, ast.Lambda):
        return comprehensions.lower_lambda(cx, node, [element])
    # A function by name is the same as a lambda that calls it.
    name = "x."
    argument = ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node)
    call = ast.copy_location(ast.Call(func=node, args=[argument], keywords=[]), node)
    parameters = ast.arguments(posonlyargs=[], args=[ast.arg(arg=name)], kwonlyargs=[], kw_defaults=[], defaults=[])
    return comprehensions.lower_lambda(cx, ast.copy_location(ast.Lambda(args=parameters, body=call), node), [element])


# Methods of values


def _call_value_method(cx: Context, node: ast.Call, func: ast.Attribute) -> Expr:
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
            keywords.append(("key", _function_argument(cx, keyword.value, iterate(receiver.type) or UNKNOWN)))
        else:
            keywords.append((keyword.arg or "", expressions.lower(cx, keyword.value)))
    return call_value_method(cx, node, "sort", receiver, [], keywords)


def call_value_method(
    cx: Context, node: ast.Call, name: str, receiver: Expr, args: Sequence[Expr], keywords: Keywords
) -> Expr:
    kind = receiver.type
    if kind == UNKNOWN:
        return receiver
    if isinstance(kind, Optional):
        assert isinstance(node.func, ast.Attribute)
        return expressions.maybe_none(cx, node.func, receiver)
    if isinstance(kind, Record):
        return _record_method(cx, node, name, receiver, args, keywords)
    types = [a.type for a in args]
    values = [v for _, v in keywords]
    if UNKNOWN in types or any(v.type == UNKNOWN for v in values):
        return Const(None, UNKNOWN, cx.span(node))
    for arg in args:
        if isinstance(arg.type, Set) and not isinstance(kind, Set):
            return cx.error(node, "AB509", f"'{name}' shows the order of a {arg.type}", "use sorted(...) of it")
    found = method(kind, name, [*types, *(v.type for v in values)])
    if found is None:
        return _no_method(cx, node, name, kind, types)
    if found.changes and change(cx, node, receiver, found, args):
        expressions.no_multi_element(cx, node, args)
    span = cx.span(node)
    return Apply(f"method:{name}", (receiver, *args, *values), found.result, span, tuple(k for k, _ in keywords))


def _kind_name(kind: Type) -> str:
    return str(kind).partition("[")[0] if empty(kind) else str(kind)


def _no_method(cx: Context, node: ast.Call, name: str, kind: Type, types: Sequence[Type]) -> Expr:
    shown = ", ".join(map(str, types))
    known = attribute_names(kind)
    if name in ("pop", "popitem") and isinstance(kind, Set):
        return cx.error(
            node,
            "AB509",
            "set.pop takes an element that differs from run to run",
            "take min(...) of it and discard that",
        )
    hint = f"it has {', '.join(known)}" if known else "see docs/language.md for what values can do"
    return cx.error(node, "AB206", f"{_kind_name(kind)} has no method '{name}' for ({shown})", hint)


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
            "this value belongs to state: build a new value and store it",
            _new_value_hint(kind),
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


def _new_value_hint(kind: Type) -> str:
    match kind:
        case List():
            return "self.t[k] = self.t.get(k, []) + [x]"
        case Dict():
            return "self.t[k] = old | {key: value}"
        case Set():
            return "self.t[k] = old | {x}"
    return "write the entry of the state itself: self.m[i, j] = x, or change a copy: x = x.copy()"


def _root_is_config(expr: Expr) -> bool:
    while isinstance(expr, Apply) and expr.args and (expr.op == "[]" or expr.op.startswith("attr:")):
        expr = expr.args[0]
    return isinstance(expr, Config)


def _record_method(
    cx: Context, node: ast.Call, name: str, receiver: Expr, args: Sequence[Expr], keywords: Keywords
) -> Expr:
    assert isinstance(receiver.type, Record)
    cls = receiver.type.cls
    if name == "_replace" and issubclass(cls, tuple) and not args:
        for key, value in keywords:
            wanted = receiver.type.field(key)
            if wanted is None or (value.type != UNKNOWN and not accepts(wanted, value.type)):
                return cx.error(
                    node,
                    "AB206",
                    f"the field '{key}' of {receiver.type} is {wanted}, got {value.type}",
                    "check name and type",
                )
        values = tuple(v for _, v in keywords)
        return Apply(
            "method:_replace", (receiver, *values), receiver.type, cx.span(node), tuple(k for k, _ in keywords)
        )
    function = cls.__dict__.get(name)
    if isinstance(function, FunctionType):
        return call_function(cx, node, function, [receiver, *args], keywords)
    return cx.error(node, "AB206", f"{receiver.type} has no method '{name}'", "check the name")
