"""Records: making them, replacing fields, calling their methods."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Sequence
from types import FunctionType

from anabranch.frontend import calls, displays, hints
from anabranch.frontend.context import Context
from anabranch.graph.code import Apply, Const, Expr
from anabranch.lang.annotations import parse
from anabranch.lang.similar import with_question
from anabranch.lang.types import FLOAT, INT, UNKNOWN, Record, Type, UnsupportedType, accepts


def lower_record(cx: Context, node: ast.Call, target: type) -> Expr:
    args, keywords = calls.arguments(cx, node)
    try:
        record = parse(target)
    except UnsupportedType as error:
        return cx.error(node, "AB204", str(error), "make it a NamedTuple or a frozen dataclass of value types")
    assert isinstance(record, Record)
    displays.no_multi_element(cx, node, [*args, *(v for _, v in keywords)])
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
            hint = f"{record}({', '.join(f'{n}: {t}' for n, t in fields.items())})"
            return cx.error(node, "AB206", message, with_question(hint, name, [] if wanted else fields))
    if len(args) > len(fields) or not _complete(target, set(given)):
        return cx.error(
            node, "AB513", f"{record} needs {', '.join(fields)}", f"got {len(given)}: give each field a value"
        )
    return calls.apply_call(cx, node, target, args, keywords, record)


def lower_replace(cx: Context, node: ast.Call) -> Expr:
    """`dataclasses.replace(record, field=value)`."""
    args, keywords = calls.arguments(cx, node)
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
    return calls.apply_call(cx, node, dataclasses.replace, args, keywords, record)


def _fits_field(wanted: Type, given: Type) -> bool:
    """A record keeps what it is given: an int does not become a float."""
    return given == UNKNOWN or (accepts(wanted, given) and not (wanted == FLOAT and given == INT))


def _complete(target: type, given: set[str]) -> bool:
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return False
    return all(p.name in given or p.default is not p.empty for p in parameters)


def lower_record_method(
    cx: Context, node: ast.Call, name: str, receiver: Expr, args: Sequence[Expr], keywords: calls.Keywords
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
        return calls.call_function(cx, node, function, [receiver, *args], keywords)
    known = [n for n, member in vars(cls).items() if isinstance(member, FunctionType) and not n.startswith("__")]
    hint = hints.known_of(name, [*known, "_replace"] if issubclass(cls, tuple) else known)
    return cx.error(node, "AB206", f"{receiver.type} has no method '{name}'", hint)
