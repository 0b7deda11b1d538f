"""A state as a table: what `to_arrow` gives and `load` takes.

Law: `stored_in(state, row_of(state, key, value)) == (key, value)`, but for a single record, which is a row by itself.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from anabranch.graph.nodes import State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.scalars import show
from anabranch.lang.types import FLOAT, INT, Record, Type

Columns = list[tuple[str, Type]]


def load_columns(state: State) -> Columns:
    """Names and types of the columns."""
    if state.cls is Table:
        assert state.key is not None and state.value is not None
        return [("key", state.key), ("value", state.value)]
    if state.cls in (Vector, DenseVector):
        return [("index", INT), ("value", FLOAT)]
    if state.cls in (Matrix, DenseMatrix):
        return [("row", INT), ("column", INT), ("value", FLOAT)]
    if state.cls is Value:
        assert state.value is not None
        return [("value", state.value)]
    raise TypeError(f"{state.name} is a {state.cls.__name__}, an own type: read and fill it by entries")


def arrow_columns(state: State) -> Columns:
    """A single record gives its fields, as the result of an entry does; `load` takes both."""
    if state.cls is Value and isinstance(state.value, Record):
        return list(state.value.fields)
    return load_columns(state)


def row_of(state: State, key: Any, value: Any) -> tuple[Any, ...]:
    if state.cls in (Matrix, DenseMatrix):
        return (*key, value)
    if state.cls is not Value:
        return key, value
    if isinstance(state.value, Record):
        return tuple(getattr(value, name) for name, _ in state.value.fields)
    return (value,)


def stored_in(state: State, row: tuple[Any, ...]) -> tuple[Any, Any]:
    """Key and value of the entry that a row stores."""
    if state.cls in (Matrix, DenseMatrix):
        return (row[0], row[1]), row[2]
    return (None, row[0]) if state.cls is Value else (row[0], row[1])


def put(part: Any, key: Any, value: Any) -> None:
    if isinstance(part, Value):
        part.value = value
    else:
        part[key] = value


def put_nothing(part: Any, key: Any, beside: Any) -> None:
    """Let a part hold what changes no sum, where another holds `beside`."""
    if not isinstance(part, Table):
        put(part, key, _zero(beside) if isinstance(part, Value) else 0.0)
    elif key in part:
        del part[key]


def _zero(value: Any) -> Any:
    if isinstance(value, DenseVector):
        return DenseVector.zeros(len(value))
    if isinstance(value, int | float | str | bytes | list | dt.timedelta | Vector) and not isinstance(value, bool):
        return type(value)()
    raise TypeError(f"nobody knows what added to {show(value)} changes nothing: fill the state by an entry")
