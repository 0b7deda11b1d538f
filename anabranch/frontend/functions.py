"""Helpers and functions of the user's sources.

Those without state become functions of the graph, specialised to the types of their arguments. Those that reach state
are inlined, so that their accesses are seen where they happen.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from anabranch.frontend import exits, expressions, statements
from anabranch.frontend.aliases import alias_groups
from anabranch.frontend.context import Context, Frame, is_multi
from anabranch.frontend.methods import empty
from anabranch.frontend.read import NoSource, read_function
from anabranch.frontend.scope import Env, Var, join_envs
from anabranch.frontend.unit import MISSING, Definition, Names, assigned_names, self_name
from anabranch.graph.code import Apply, Assign, Comprehension, Const, Expr, Function, Local
from anabranch.graph.effects import changed_names
from anabranch.lang.annotations import parse
from anabranch.lang.similar import with_question
from anabranch.lang.spec import EntrySpec, Parameter
from anabranch.lang.types import NEVER, NONE, UNKNOWN, Type, UnsupportedType, accepts, is_mutable, join
from anabranch.lang.values import type_of

Keywords = Sequence[tuple[str, Expr]]
MOST_INLINED = 200  # each is a copy of its code


def call_helper(cx: Context, node: ast.AST, name: str, args: Sequence[Expr], keywords: Keywords) -> Expr:
    """A method of the program without state."""
    unit = cx.unit
    definition = unit.methods[name]
    entry = unit.spec.entries.get(name)
    function = entry.function if entry is not None else unit.spec.helpers.get(name)
    bound = bind(cx, node, name, definition, function, args, keywords, skip=1)
    if bound is None or not isinstance(definition, ast.FunctionDef):
        return Const(None, UNKNOWN, cx.span(node))
    if entry is not None:
        check_arguments(cx, node, entry, bound)
    names = Names(_plain(function), unit.spec.namespace)
    frame = Frame(unit.source.file, names, self_name(definition), "", frozenset(), "function")
    found = specialise(cx, node, ("method", name), name, frame, definition, bound, entry)
    if entry is not None and entry.result is not None and found.type != UNKNOWN:
        return coerce_by(entry, None, found, entry.result)
    return found


def coerce_by(entry: EntrySpec, parameter: Parameter | None, value: Expr, wanted: Type) -> Expr:
    """The check that an entry makes of an argument, or of its result, when another entry calls it."""
    span = value.span
    return Apply("coerce", (value, Const(entry, NONE, span), Const(parameter, NONE, span)), wanted, span)


def call_user(cx: Context, node: ast.AST, target: FunctionType, args: Sequence[Expr], keywords: Keywords) -> Expr:
    """A function of the user's sources, checked like the program itself."""
    try:
        file, definition = read_function(target)
    except NoSource as error:
        return cx.error(node, "AB502", f"{error}", "define the function in a file, or use ab.pure")
    if isinstance(definition, ast.Lambda):
        body: list[ast.stmt] = [ast.copy_location(ast.Return(value=definition.body), definition.body)]
        definition = ast.copy_location(
            ast.FunctionDef(
                name="<lambda>", args=definition.args, body=body, decorator_list=[], returns=None, type_comment=None
            ),
            definition,
        )
    if [ast.unparse(d) for d in definition.decorator_list] not in ([], ["property"]):
        return cx.error(
            node, "AB502", f"'{target.__name__}' has a decorator", "call a plain function, or wrap it: ab.pure(...)"
        )
    bound = bind(cx, node, target.__name__, definition, target, args, keywords, skip=0)
    if bound is None:
        return Const(None, UNKNOWN, cx.span(node))
    frame = Frame(file, Names(target, {}), None, "", frozenset(), "function")
    return specialise(cx, node, ("function", target.__code__), target.__name__, frame, definition, bound)


def check_arguments(cx: Context, node: ast.AST, entry: EntrySpec, bound: dict[str, Expr]) -> None:
    for parameter in entry.parameters:
        value = bound[parameter.name]
        wanted = parameter.type
        if wanted is not None and value.type != UNKNOWN and not accepts(wanted, value.type):
            cx.error(
                node,
                "AB206",
                f"the parameter '{parameter.name}' of '{entry.name}' is {wanted}, got {value.type}",
                "convert the argument",
            )


def coerced(entry: EntrySpec, bound: Mapping[str, Expr]) -> dict[str, Expr]:
    """An entry called by an entry checks and coerces its arguments as any caller's, after all are evaluated."""
    found = dict(bound)
    for parameter in entry.parameters:
        value = bound[parameter.name]
        if parameter.type is not None and value.type != UNKNOWN:
            found[parameter.name] = coerce_by(entry, parameter, value, parameter.type)
    return found


def bind(
    cx: Context,
    node: ast.AST,
    name: str,
    definition: Definition,
    function: Any,
    args: Sequence[Expr],
    keywords: Keywords,
    skip: int,
) -> dict[str, Expr] | None:
    """Arguments by parameter name, defaults filled in; None after a mismatch was reported."""
    given = definition.args
    parameters = [*given.posonlyargs, *given.args][skip:] + given.kwonlyargs
    names = [p.arg for p in parameters]
    if given.vararg or given.kwarg:
        cx.error(node, "AB108", f"'{name}' takes *args or **kwargs", "name each parameter")
        return None
    bound: dict[str, Expr] = {}
    positional = names[: len(names) - len(given.kwonlyargs)]
    if len(args) > len(positional):
        cx.error(
            node,
            "AB513",
            f"'{name}' takes ({', '.join(positional)}), got {len(args)} arguments",
            f"{name}({', '.join(names)})",
        )
        return None
    bound.update(zip(positional, args, strict=False))
    for key, value in keywords:
        if key not in names or key in bound:
            hint = with_question(f"{name}({', '.join(names)})", key, [n for n in names if n not in bound])
            cx.error(node, "AB513", f"'{name}' has no parameter '{key}' left", hint)
            return None
        bound[key] = value
    _check_order(cx, node, names, bound)
    defaults = _defaults(function)
    for missing in [n for n in names if n not in bound]:
        if missing not in defaults:
            cx.error(node, "AB513", f"'{name}' needs the argument '{missing}'", f"{name}({', '.join(names)})")
            return None
        value = defaults[missing]
        try:
            bound[missing] = Const(value, type_of(value), cx.span(node))
            if is_mutable(bound[missing].type):
                cx.error(
                    node,
                    "AB510",
                    f"the default of '{missing}' can change: all calls share it",
                    "use None, and make it inside",
                )
        except UnsupportedType as error:
            cx.error(node, "AB204", f"the default of '{missing}': {error}", "use a constant")
            return None
    return {n: _annotated(cx, definition, n, bound[n]) for n in names}


def _check_order(cx: Context, node: ast.AST, names: list[str], bound: dict[str, Expr]) -> None:
    """Arguments are evaluated in the order of the call, here in that of the parameters: both must be one."""
    unstable = [n for n in bound if not cx.stable(bound[n])]
    if len(unstable) > 1 and unstable != [n for n in names if n in unstable]:
        hint = f"give them in order: {', '.join(names)}"
        cx.error(node, "AB501", "arguments by name in another order than the parameters", hint)


def _annotated(cx: Context, definition: Definition, name: str, value: Expr) -> Expr:
    """An empty list says nothing of its elements, the parameter's annotation does."""
    parameter = next(
        p for p in [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs] if p.arg == name
    )
    if parameter.annotation is None or not isinstance(value, Apply | Comprehension):
        return value
    return expressions.filled(value, annotation_type(cx, parameter.annotation))


def annotation_type(cx: Context, node: ast.expr) -> Type | None:
    """The type an annotation in the text means; None if it means none."""
    value = _annotation(cx, node)
    try:
        return None if value is MISSING else parse(value)
    except UnsupportedType:
        return None


def _annotation(cx: Context, node: ast.expr) -> Any:
    """The value of an annotation made of names, subscripts and '|'; MISSING for anything else."""
    match node:
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=str(text)):
            try:
                return _annotation(cx, ast.parse(text, mode="eval").body)
            except SyntaxError:
                return MISSING
        case ast.Name():
            return cx.frame.names.find(node.id)
        case ast.Attribute():
            owner = _annotation(cx, node.value)
            return MISSING if owner is MISSING else getattr(owner, node.attr, MISSING)
        case ast.BinOp(op=ast.BitOr()):
            sides = [_annotation(cx, node.left), _annotation(cx, node.right)]
            return MISSING if MISSING in sides else _tried(lambda: sides[0] | sides[1])
        case ast.Subscript():
            origin = _annotation(cx, node.value)
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            args = [_annotation(cx, e) for e in inner]
            if origin is MISSING or MISSING in args:
                return MISSING
            return _tried(lambda: origin[tuple(args) if isinstance(node.slice, ast.Tuple) else args[0]])
    return MISSING


def _tried(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception:  # subscripting any object can fail in any way: then it is no type
        return MISSING


def _defaults(function: Any) -> dict[str, Any]:
    plain = _plain(function)
    if plain is None:
        return {}
    parameters = inspect.signature(plain).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _plain(function: Any) -> FunctionType | None:
    return function if isinstance(function, FunctionType) else None


def specialise(
    cx: Context,
    node: ast.AST,
    identity: tuple[Any, ...],
    name: str,
    frame: Frame,
    definition: ast.FunctionDef,
    bound: dict[str, Expr],
    entry: EntrySpec | None = None,
) -> Expr:
    """A call of the function's version for these types; one that is an entry coerces its arguments first."""
    unit = cx.unit
    types = tuple(e.type for e in bound.values())
    if UNKNOWN in types:
        return Const(None, UNKNOWN, cx.span(node))
    if identity in unit.in_progress:
        return cx.error(node, "AB503", f"'{name}' calls itself", "write a loop")
    key = (*identity, types)
    function = unit.functions.get(key)
    if function is None:
        unit.in_progress.append(identity)
        function = _build(cx, name, frame, definition, dict(zip(bound, types, strict=True)), entry)
        unit.in_progress.pop()
        if function.result == UNKNOWN:
            return Const(None, UNKNOWN, cx.span(node))
        unit.functions[key] = function
    operands = (Const(function.name, NONE, cx.span(node)), *bound.values())
    op = "procedure" if _changes_arguments(function) else "function"
    return Apply(op, operands, function.result, cx.span(node))


def _changes_arguments(function: Function) -> bool:
    """May a call change a value that its caller holds?"""
    changed = changed_names(function.body)
    for group in alias_groups(function.body):
        if group & changed:
            changed |= group
    return any(name in changed for name, _ in function.params)


def _build(
    cx: Context,
    name: str,
    frame: Frame,
    definition: ast.FunctionDef,
    params: dict[str, Type],
    entry: EntrySpec | None,
) -> Function:

    own = frozenset((*params, *assigned_names(definition.body)))
    inner_frame = Frame(frame.file, frame.names, frame.self_name, "", own, "function")
    env: Env = {n: Var(t) for n, t in params.items()}
    inner = Context(cx.unit, inner_frame, env)
    if entry is not None:
        given = {n: Local(n, t, inner.span(definition)) for n, t in params.items()}
        for parameter, value in coerced(entry, given).items():
            inner.set(parameter, Var(value.type))
            inner.emit(Assign(parameter, value, value.span))
    statements.lower_body(inner, definition.body)
    if inner.env is not None:
        inner.results.append(NONE)
    result: Type = NEVER
    for each in inner.results:
        result = join(result, each)
    if result == UNKNOWN and UNKNOWN not in inner.results:
        inner.error(definition, "AB206", f"'{name}' returns values of different types", "return one type on every path")
    if empty(result) and definition.returns is not None:
        declared = annotation_type(inner, definition.returns)
        result = declared if declared is not None and accepts(declared, result) else result
    taken = {f.name for f in cx.unit.functions.values()}
    number = 1
    unique = name
    while unique in taken:
        number += 1
        unique = f"{name}.{number}"
    span = inner.span(definition)
    return Function(unique, tuple(params.items()), result, tuple(inner.out), span)


def inline(cx: Context, node: ast.AST, name: str, args: Sequence[Expr], keywords: Keywords) -> Expr:
    """Write the statements of a method that reaches state here; its result is a variable."""

    unit = cx.unit
    definition = unit.methods[name]
    if name in cx.calls:
        return cx.error(node, "AB503", f"'{name}' calls itself", "write a loop")
    cx.inlined[0] += 1
    if cx.inlined[0] > MOST_INLINED:
        return cx.error(
            node,
            "AB501",
            f"helpers with state are called more than {MOST_INLINED} times in one entry, counting calls inside calls",
            "read the state once and pass the value to helpers without state",
        )
    entry: EntrySpec | None = unit.spec.entries.get(name)
    function = entry.function if entry is not None else unit.spec.helpers.get(name)
    bound = bind(cx, node, name, definition, function, args, keywords, skip=1)
    if bound is None or isinstance(definition, ast.AsyncFunctionDef):
        return Const(None, UNKNOWN, cx.span(node))
    if entry is not None:
        check_arguments(cx, node, entry, bound)
        if not all(map(cx.stable, bound.values())):
            bound = {n: v if cx.stable(v) else cx.bind(f"{name}.argument", v) for n, v in bound.items()}
        bound = coerced(entry, bound)
    kept = (cx.frame, cx.loops, cx.calls, cx.returned, cx.flagged)
    prefix = cx.fresh(name) + "."
    names = Names(_plain(function), unit.spec.namespace)
    own = frozenset((*bound, *assigned_names(definition.body), exits.RESULT, exits.DONE))
    assigned = set(assigned_names(definition.body))
    same = {}
    for parameter, value in bound.items():
        if isinstance(value, Local) and parameter not in assigned:
            same[parameter] = value.name  # the caller's variable does not change while the helper runs
            cx.unnamed.discard(value.name)
            continue
        cx.set(prefix + parameter, Var(value.type, is_multi(value), cx.depends_locally(value)))
        cx.emit(Assign(prefix + parameter, value, value.span))
    cx.frame = Frame(unit.source.file, names, self_name(definition), prefix, own, "helper", same)
    result_type = annotation_type(cx, definition.returns) if definition.returns is not None else None
    if result_type is not None:
        cx.declared[prefix + exits.RESULT] = result_type
    cx.loops, cx.calls = [], (*cx.calls, name)
    body = exits.single_exit(definition.body, definition.body[-1])
    cx.returned, cx.flagged = [], exits.flagged(body)
    statements.lower_body(cx, body)
    for env in cx.returned:
        cx.env = join_envs(cx.env, env)
    cx.frame, cx.loops, cx.calls, cx.returned, cx.flagged = kept
    var = (cx.env or {}).get(prefix + exits.RESULT)
    span = cx.span(node)
    if var is None:
        return Const(None, UNKNOWN if cx.env is None else NONE, span)
    result: Expr = Local(prefix + exits.RESULT, var.type, span, var.multi)
    if entry is not None and entry.result is not None and var.type != UNKNOWN:
        if not accepts(entry.result, var.type):
            cx.error(
                node, "AB206", f"'{name}' promises {entry.result} and gives {var.type}", "mend the entry that is called"
            )
        return cx.bind(f"{name}.result", coerce_by(entry, None, result, entry.result))
    return result
