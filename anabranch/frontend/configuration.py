"""The configuration of a program: what its class body and `__init__` set that is no state, and of which types it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from anabranch.frontend import expressions, library, resolve
from anabranch.frontend.context import Context, Frame
from anabranch.frontend.diagnostics import Report
from anabranch.frontend.functions import annotation_type
from anabranch.frontend.read import plain_function
from anabranch.frontend.scope import Env, Var
from anabranch.frontend.unit import MISSING, Definition, Names, Unit, assigned_names, self_name
from anabranch.lang.types import UNKNOWN, Iter, Type, UnsupportedType
from anabranch.lang.values import type_of


def configuration(unit: Unit) -> dict[str, Type]:
    """Types of the attributes set in the class body and in `__init__`."""
    found: dict[str, Type] = {}
    for name, value in unit.spec.config.items():
        found[name] = _config_type(value)
        if found[name] == UNKNOWN:
            _note_outside(unit, name, type(value))
    init = unit.methods.get("__init__")
    if init is None:
        return found
    unit.config.update(found)
    function = plain_function(vars(unit.spec.cls).get("__init__"))
    scratch = Unit(unit.spec, unit.source, Report(), unit.states, dict(found), unit.methods)
    names = Names(function, unit.spec.namespace)
    parameters = [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs][1:]
    own = frozenset((*(p.arg for p in parameters), *assigned_names(init.body)))
    frame = Frame(unit.source.file, names, self_name(init), "", own, "init")
    cx = Context(scratch, frame, {})
    defaults = function.__defaults__ or () if function is not None else ()
    by_default = dict(zip(reversed([p.arg for p in parameters]), reversed(defaults), strict=False))
    env: Env = {}
    for parameter in parameters:
        kind = None if parameter.annotation is None else annotation_type(cx, parameter.annotation)
        if kind is None and parameter.arg in by_default:
            kind = _config_type(by_default[parameter.arg])
        env[parameter.arg] = Var(kind or UNKNOWN)
    cx.env = env
    for name, node in _self_assignments(init):
        if name in unit.states or name in unit.broken or name in found:
            continue
        found[name] = scratch.config[name] = _value_type(cx, node)
        if found[name] == UNKNOWN and isinstance(node, ast.expr):
            _note_outside(unit, name, _class_of(cx, node))
    return found


def _note_outside(unit: Unit, name: str, made: type | None) -> None:
    why = None if made is None else library.forbidden_object(made)
    if why is not None:
        unit.outside[name] = why


def _class_of(cx: Context, node: ast.expr) -> type | None:
    """The class of a global object, or of what a call makes; None where it is not known."""
    if isinstance(node, ast.Call):
        made = resolve.static(cx, node.func)
        return None if made is MISSING else library.made_by(made)
    value = resolve.static(cx, node)
    return None if value is MISSING else type(value)


def _config_type(value: Any) -> Type:
    if type(value).__module__ == "anabranch.lang.types":
        return value  # type: ignore[no-any-return]
    try:
        return type_of(value)
    except UnsupportedType:
        return UNKNOWN


def _self_assignments(init: Definition) -> Iterator[tuple[str, ast.expr | ast.AnnAssign | None]]:
    """Attributes of `self`, and what they are set to: None where that is an item of what only a run can take apart."""
    me = self_name(init)
    for node in ast.walk(init):
        match node:
            case ast.AnnAssign(annotated):
                yield from ((name, node) for name, _ in _set_in(me, annotated, None))
            case ast.Assign(targets, value):
                for target in targets:
                    yield from _set_in(me, target, value)


def _set_in(me: str | None, target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    match target:
        case ast.Attribute(ast.Name(name), attribute) if name == me:
            yield attribute, value
        case ast.Tuple(targets) | ast.List(targets):
            values: list[ast.expr | None] = [None] * len(targets)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(targets):
                starred = any(isinstance(each, ast.Starred) for each in (*targets, *value.elts))
                values = values if starred else [*value.elts]
            for each, of in zip(targets, values, strict=True):
                yield from _set_in(me, each, of)
        case ast.Starred(inner):
            yield from _set_in(me, inner, None)


def _value_type(cx: Context, given: ast.expr | ast.AnnAssign | None) -> Type:
    if given is None:
        return UNKNOWN
    if isinstance(given, ast.AnnAssign):
        return annotation_type(cx, given.annotation) or UNKNOWN
    value = expressions.lower(cx, given).type
    return UNKNOWN if isinstance(value, Iter) else value
