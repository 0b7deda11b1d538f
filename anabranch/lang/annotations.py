"""From annotations to value types.

Law: `parse` gives the type of every supported annotation and raises `UnsupportedType` on all others; its message says
what to write.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import types as pytypes
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from anabranch.lang.types import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NONE,
    STR,
    TIMEDELTA,
    UTC_DATETIME,
    Dict,
    List,
    Record,
    Scalar,
    Set,
    Tuple,
    Type,
    UnsupportedType,
    is_hashable,
    optional,
)

_SCALARS: dict[Any, Scalar] = {
    int: INT,
    float: FLOAT,
    bool: BOOL,
    str: STR,
    bytes: BYTES,
    dt.date: DATE,
    dt.datetime: DATETIME,
    dt.timedelta: TIMEDELTA,
    None: NONE,
    type(None): NONE,
}


def parse(annotation: Any, names: Mapping[str, Any] | None = None) -> Type:
    """The type an annotation means; `names` resolve what records defined inside functions leave as text.

    >>> str(parse(dict[str, list[float]]))
    'dict[str, list[float]]'
    >>> str(parse(int | None))
    'int | None'
    """
    if isinstance(annotation, str):
        raise UnsupportedType(f"the annotation {annotation!r} could not be resolved: define or import the name first")
    try:
        scalar = _SCALARS.get(annotation)
    except TypeError:
        scalar = None
    if scalar is not None:
        return scalar
    alias = getattr(annotation, "__supertype__", None) or _type_alias(annotation)
    if alias is not None:
        return parse(alias, names)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        if args[0] is dt.datetime and "utc" in args[1:]:
            return UTC_DATETIME
        return parse(args[0], names)
    if origin in (Union, pytypes.UnionType):
        return _parse_union(annotation, args, names)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            raise UnsupportedType(f"{_show(annotation)} has no fixed length: write list[{_show(args[0])}]")
        return Tuple(tuple(parse(a, names) for a in args if a != ()))
    if origin in _ARITY and len(args) != _ARITY[origin]:
        raise UnsupportedType(f"{_show(annotation)} does not say what it holds: write for example {_example(origin)}")
    if origin is list:
        return List(parse(args[0], names))
    if origin is dict:
        return Dict(_hashable(parse(args[0], names), annotation), parse(args[1], names))
    if origin in (set, frozenset):
        return Set(_hashable(parse(args[0], names), annotation))
    if annotation in (list, dict, set, tuple):
        raise UnsupportedType(
            f"{_show(annotation)} does not say what it holds: write for example {_example(annotation)}"
        )
    if isinstance(annotation, type):
        return _parse_class(annotation, names)
    raise UnsupportedType(f"{_show(annotation)} is not a value type: {_SUPPORTED}")


_ARITY: dict[Any, int] = {list: 1, set: 1, frozenset: 1, dict: 2}


_SUPPORTED = (
    "use int, float, bool, str, bytes, date, datetime, timedelta, T | None, tuple, list, dict, set, "
    "a NamedTuple, a frozen dataclass, Vector or DenseVector"
)


def _type_alias(annotation: Any) -> Any:
    """What a `type X = ...` statement (Python 3.12) stands for."""
    return annotation.__value__ if type(annotation).__name__ == "TypeAliasType" else None


def _parse_union(annotation: Any, args: tuple[Any, ...], names: Mapping[str, Any] | None) -> Type:
    rest = [a for a in args if a is not type(None)]
    if len(rest) == 1 and len(args) == 2:
        return optional(parse(rest[0], names))
    raise UnsupportedType(f"{_show(annotation)} is a union: only T | None has one Arrow type; use a record with fields")


def _parse_class(cls: type, names: Mapping[str, Any] | None = None) -> Type:
    value_type = getattr(cls, "__anabranch_value__", None)
    if value_type is not None:
        return typing.cast(Type, value_type)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _parse_record(cls, list(cls._fields), names)
    if dataclasses.is_dataclass(cls):
        if not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise UnsupportedType(f"the dataclass {cls.__name__} can be changed: write @dataclass(frozen=True)")
        return _parse_record(cls, [f.name for f in dataclasses.fields(cls)], names)
    raise UnsupportedType(f"{cls.__name__} is not a value type: {_SUPPORTED}")


def _parse_record(cls: type, fields: list[str], names: Mapping[str, Any] | None) -> Record:
    hidden = [n for n in fields if n.startswith("_")]
    if hidden:
        raise UnsupportedType(
            f"the field {hidden[0]} of {cls.__name__} starts with an underscore: those names are ours"
        )
    known: Mapping[str, Any] | None = vars(cls).get("__anabranch_names__")
    try:
        hints = _record_hints(cls, known)
    except NameError as error:
        if not names:
            raise UnsupportedType(f"a field of {cls.__name__} could not be resolved: {error}") from None
        try:
            hints = _record_hints(cls, names)
        except NameError as still:
            raise UnsupportedType(f"a field of {cls.__name__} could not be resolved: {still}") from None
        # Kept on the class, so that whoever meets the record later need not know where it was defined.
        cls.__anabranch_names__ = names  # type: ignore[attr-defined]
    missing = [n for n in fields if n not in hints]
    if missing:
        raise UnsupportedType(f"the field {missing[0]} of {cls.__name__} has no type: write a NamedTuple class")
    try:
        return Record(cls, tuple((n, parse(hints[n], names or known)) for n in fields))
    except RecursionError:
        raise UnsupportedType(f"the record {cls.__name__} contains itself, which has no Arrow type") from None


def _record_hints(cls: type, names: Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, localns=None if names is None else dict(names), include_extras=True)
    except NameError:
        raise
    except Exception as error:  # an annotation may be any expression, and fail in any way
        raise UnsupportedType(f"a field of {cls.__name__} has an annotation that cannot be read: {error}") from None


def _hashable(t: Type, annotation: Any) -> Type:
    if not is_hashable(t):
        raise UnsupportedType(
            f"{t} in {_show(annotation)} cannot be hashed: use int, str, bytes, bool, date or a tuple"
        )
    return t


def _show(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)


def _example(annotation: type) -> str:
    examples: dict[type, str] = {list: "list[int]", dict: "dict[str, float]", set: "set[int]", tuple: "tuple[int, str]"}
    return examples[annotation]
