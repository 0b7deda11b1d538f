"""Values on a flow: copies, of the type the flow says.

Integers are not checked for 64 bits here: the plain run, which is the specification, has no flows. An engine that
cannot carry a larger one runs the row as a whole.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from anabranch.lang import DenseVector, Vector
from anabranch.lang.types import (
    UTC_DATETIME,
    Dense,
    Dict,
    List,
    Optional,
    Record,
    Scalar,
    Set,
    Sparse,
    Tuple,
    Type,
)

_SCALARS: dict[str, type] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "bytes": bytes,
    "date": dt.date,
    "datetime": dt.datetime,
    "timedelta": dt.timedelta,
    "None": type(None),
}


def copied(value: Any) -> Any:
    """A copy that shares nothing that can be changed."""
    match value:
        case list():
            return [copied(v) for v in value]
        case dict():
            return {k: copied(v) for k, v in value.items()}
        case set():
            return set(value)
        case Vector() | DenseVector():
            return value.copy()
        case tuple() if type(value) is tuple:
            return tuple(copied(v) for v in value)
    return value


def fits(kind: Type, value: Any) -> bool:
    """Is the value of this type, without any coercion?"""
    match kind:
        case Optional(of):
            return value is None or fits(of, value)
        case Scalar(name):
            if kind == UTC_DATETIME:
                return isinstance(value, dt.datetime)
            return type(value) is _SCALARS.get(name)
        case List(of):
            return isinstance(value, list) and all(fits(of, v) for v in value)
        case Set(of):
            return isinstance(value, set | frozenset) and all(fits(of, v) for v in value)
        case Dict(key, of):
            return isinstance(value, dict) and all(fits(key, k) and fits(of, v) for k, v in value.items())
        case Tuple(items):
            return isinstance(value, tuple) and len(value) == len(items) and all(map(fits, items, value))
        case Record(cls, fields):
            return isinstance(value, cls) and all(fits(t, getattr(value, n)) for n, t in fields)
        case Sparse():
            return isinstance(value, Vector)
        case Dense():
            return isinstance(value, DenseVector)
    return False
