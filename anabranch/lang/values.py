"""Values at run time: check them against a type, copy them, freeze them, find their type.

`coerce(type, value)` gives a value of exactly that type or raises `TypeError`, `ValueError` or `OverflowError`; the
same function guards parameters, results and what is stored, in plain runs and in engines.

Laws: `coerce` is idempotent; what it returns shares no mutable part with its argument; with `freeze=True` no part
of the result can be changed.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NoReturn, cast

import numpy as np

from anabranch.lang import types
from anabranch.lang.annotations import parse
from anabranch.lang.dense import DenseVector
from anabranch.lang.frozen import FrozenDict, FrozenList, FrozenSet
from anabranch.lang.scalars import SCALARS, as_int, as_str, reject, short, show
from anabranch.lang.types import Type, UnsupportedType
from anabranch.lang.vector import Vector

Coercer = Callable[[Any], Any]
class_of = type
"""Of a value, whatever it says of itself; here `type` is often the name of a type of ours."""


def coerce(type: Type, value: Any, *, freeze: bool = False) -> Any:
    """The value as a value of `type`.

    >>> coerce(types.FLOAT, 3), coerce(parse(list[int] | None), [1])
    (3.0, [1])
    >>> coerce(types.INT, True)
    Traceback (most recent call last):
        ...
    TypeError: expected int, got True (bool)
    """
    return coercer(type, freeze)(value)


@lru_cache(maxsize=4096)
def coercer(type: Type, freeze: bool = False) -> Coercer:
    """`coerce` for one type, ready to be called often."""
    match type:
        case types.Scalar() if type in SCALARS:
            return SCALARS[type]
        case types.Optional(of):
            return _optional(coercer(of, freeze))
        case types.Tuple(items):
            return _tuple(type, [coercer(t, freeze) for t in items])
        case types.Record():
            return _record(type, [(name, coercer(t, freeze)) for name, t in type.fields])
        case types.List(of):
            return _list(type, coercer(of, freeze), FrozenList if freeze else list)
        case types.Set(of):
            return _set(type, coercer(of, freeze), FrozenSet if freeze else set)
        case types.Dict(key, value):
            return _dict(type, coercer(key, freeze), coercer(value, freeze), FrozenDict if freeze else dict)
        case types.Sparse():
            return _vector(type, Vector, freeze)
        case types.Dense():
            return _vector(type, DenseVector, freeze)
    return _no_value(type)


def _no_value(type: Type) -> Coercer:
    def to_nothing(value: Any) -> NoReturn:
        raise TypeError(f"{type} is not a type of values that can be stored, sent, passed or returned")

    return to_nothing


def _optional(inner: Coercer) -> Coercer:
    return lambda value: None if value is None else inner(value)


def _inside(error: Exception, step: str) -> Exception:
    """The same error, its message led by where in the value it is."""
    text = str(error)
    return error.__class__(f"{step}{text}" if text.startswith(("[", ".")) else f"{step}: {text}")


_ERRORS = (TypeError, ValueError, OverflowError)


def _plain(error: Exception) -> Exception:
    return ValueError(str(error)) if isinstance(error, UnicodeError) else error


def _tuple(type: Type, items: list[Coercer]) -> Coercer:
    size = len(items)

    def to_tuple(value: Any) -> Any:
        if class_of(value) is not tuple or len(value) != size:
            reject(type, value)
        i = 0
        try:
            new = []
            for i, item in enumerate(items):
                new.append(item(value[i]))
        except _ERRORS as error:
            raise _inside(_plain(error), f"[{i}]") from None
        return tuple(new)

    return to_tuple


def _record(type: types.Record, fields: list[tuple[str, Coercer]]) -> Coercer:
    cls = type.cls
    is_tuple = issubclass(cls, tuple)

    def to_record(value: Any) -> Any:
        if class_of(value) is not cls:
            reject(type, value)
        changed = False
        new = []
        name = ""
        try:
            for name, field in fields:
                old = getattr(value, name)
                x = field(old)
                changed = changed or x is not old
                new.append(x)
        except _ERRORS as error:
            raise _inside(_plain(error), f".{name}") from None
        if not changed:
            return value
        if is_tuple:
            return cls._make(new)
        # Not cls(...): the value was built once already, its checks must not run again on every store.
        copy = object.__new__(cls)
        for (name, _), x in zip(fields, new, strict=True):
            object.__setattr__(copy, name, x)
        return copy

    return to_record


def _list(type: Type, item: Coercer, build: Callable[[list[Any]], Any]) -> Coercer:
    def to_list(value: Any) -> Any:
        if not isinstance(value, list):
            reject(type, value)
        new: list[Any] = []
        try:
            for x in value:
                new.append(item(x))
        except _ERRORS as error:
            raise _inside(_plain(error), f"[{len(new)}]") from None
        return new if build is list else build(new)

    return to_list


def _set(type: Type, item: Coercer, build: Callable[[set[Any]], Any]) -> Coercer:
    def to_set(value: Any) -> Any:
        if not isinstance(value, (set, frozenset)):
            reject(type, value)
        try:
            return build({item(x) for x in value})
        except _ERRORS as error:
            raise _inside(_plain(error), "[member]") from None

    return to_set


def _dict(type: Type, key: Coercer, item: Coercer, build: Callable[[dict[Any, Any]], Any]) -> Coercer:
    def to_dict(value: Any) -> Any:
        if not isinstance(value, dict):
            reject(type, value)
        new = {}
        k: Any = None
        try:
            for k, x in value.items():
                new[key(k)] = item(x)
        except _ERRORS as error:
            raise _inside(_plain(error), f"[{short(k)}]") from None
        return new if build is dict else build(new)

    return to_dict


def _vector(type: Type, cls: type[Vector] | type[DenseVector], freeze: bool) -> Coercer:
    def to_vector(value: Any) -> Any:
        if not issubclass(class_of(value), cls):
            reject(type, value)
        return value._as_frozen() if freeze else value.copy()

    return to_vector


def freeze(value: Any) -> Any:
    """The value as state hands it out, whatever its type: containers frozen, numpy scalars as Python's."""
    cls = value.__class__
    if cls in _ATOMS:
        return value
    if isinstance(value, list):
        return FrozenList([freeze(x) for x in value])
    if isinstance(value, dict):
        return FrozenDict({freeze(k): freeze(x) for k, x in value.items()})
    if isinstance(value, (set, frozenset)):
        return FrozenSet({freeze(x) for x in value})
    if isinstance(value, (Vector, DenseVector)):
        return value._as_frozen()
    if cls is tuple:
        return tuple([freeze(x) for x in value])
    if isinstance(value, tuple) and hasattr(cls, "_fields"):
        return cls._make([freeze(x) for x in value])
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value)]
        new = [freeze(getattr(value, n)) for n in names]
        if all(getattr(value, n) is x for n, x in zip(names, new, strict=True)):
            return value
        copy = object.__new__(cls)
        for n, x in zip(names, new, strict=True):
            object.__setattr__(copy, n, x)
        return copy
    if isinstance(value, np.ndarray):
        array = value.copy()
        array.setflags(write=False)
        return array
    if isinstance(value, np.generic) and _scalar_of(value) is not None:
        return coerce(type_of(value), value)
    return value


_ATOMS = frozenset({int, float, bool, str, bytes, dt.date, dt.datetime, dt.timedelta, type(None)})


def type_of(value: Any, names: Mapping[str, Any] | None = None) -> Type:
    """The type of a value at hand; `UnsupportedType` where it has none. `names` are for records, as in `parse`.

    >>> str(type_of({"a": [1, 2]})), str(type_of([1, None]))
    ('dict[str, list[int]]', 'list[int | None]')
    """
    scalar = _scalar_of(value)
    if scalar is not None:
        return scalar
    if isinstance(value, Vector):
        return types.VECTOR
    if isinstance(value, DenseVector):
        return types.DENSE_VECTOR
    if isinstance(value, list):
        return types.List(_type_of_all(value, value, names))
    if isinstance(value, (set, frozenset)):
        return types.Set(_type_of_all(value, value, names))
    if isinstance(value, dict):
        return types.Dict(_type_of_all(value, value, names), _type_of_all(value.values(), value, names))
    if value.__class__ is tuple:
        return types.Tuple(tuple([type_of(x, names) for x in value]))
    return parse(value.__class__, names)


def _scalar_of(value: Any) -> types.Scalar | None:
    if isinstance(value, dt.datetime):
        return types.DATETIME if value.tzinfo is None else types.UTC_DATETIME
    for cls, scalar in _KINDS:
        if isinstance(value, cls):
            return scalar
    if value.__class__.__module__ == "numpy":
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        if getattr(value, "ndim", 1) == 0 and kind in _NUMPY_KINDS:
            return _NUMPY_KINDS[kind]
    return None


_KINDS: tuple[tuple[type, types.Scalar], ...] = (
    (bool, types.BOOL),
    (int, types.INT),
    (float, types.FLOAT),
    (str, types.STR),
    (bytes, types.BYTES),
    (dt.date, types.DATE),
    (dt.timedelta, types.TIMEDELTA),
    (type(None), types.NONE),
)
_NUMPY_KINDS = {"b": types.BOOL, "i": types.INT, "u": types.INT, "f": types.FLOAT}
_NUMPY_KINDS |= {"M": types.DATETIME, "m": types.TIMEDELTA}


def _type_of_all(values: Any, whole: Any, names: Mapping[str, Any] | None) -> Type:
    joined: Type = types.NEVER
    for x in values:
        new = types.join(joined, type_of(x, names))
        if new in (types.UNKNOWN, types.NUMBER):
            raise UnsupportedType(f"{whole!r} mixes {joined} and {type_of(x)}: give all its items one type")
        joined = new
    return joined


def as_key(value: Any) -> Any:
    """A key without a schema, as its Python kin; `TypeError` where it is no key type."""
    if type(value) in (int, str):
        return as_int(value) if type(value) is int else as_str(value)
    try:
        t = type_of(value)
    except RecursionError:
        raise TypeError(f"{short(value)} is no key: it is nested too deeply") from None
    if not types.is_key(t):
        raise TypeError(f"{show(value)} is no key: use int, str, bytes, bool or a tuple of these")
    return coerce(t, value)


def same_value(a: Any, b: Any) -> bool:
    """Equality of content: NaN is NaN, -0.0 is not 0.0, 1 is not 1.0, frozen or not does not matter."""
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or (a == b and str(a) == str(b))
    for kind in (list, tuple):
        if isinstance(a, kind) and isinstance(b, kind):
            return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_value(x, b[k]) for k, x in a.items())
    if isinstance(a, set) and isinstance(b, set):
        return a == b
    if a.__class__ is not b.__class__:
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, (Vector, DenseVector)):
        return same_value(list(a._cells()), list(b._cells()))
    if dataclasses.is_dataclass(a):
        return all(same_value(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    return cast(bool, a == b)
