"""What `many` is given as one table, and the results of the app in kind.

Columns that are plain enough go as they are, and the app checks them. All else is checked here first, by the code that
checks it everywhere: so values that have no form outside of this process are refused in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.engines.connected.adopting import Adopting
from anabranch.lang import types
from anabranch.lang.arrow import arrow_array, arrow_field, from_arrow
from anabranch.lang.arrow_columns import arrow_column, is_objects
from anabranch.lang.columns import fields_of, in_kind, read_batch, record_of, result_fields
from anabranch.lang.errors import BadInput
from anabranch.lang.pandas_floats import is_candidate
from anabranch.lang.spec import EntrySpec
from anabranch.lang.types import Record, Type
from anabranch.lang.values import coercer

_EXACT: dict[Type, type] = {types.INT: int, types.FLOAT: float, types.BOOL: bool, types.STR: str}
_PLAIN = frozenset((types.INT, types.FLOAT, types.BOOL, types.STR, types.BYTES))  # `to_pylist` gives their values
_NUMBERS = frozenset("b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8".split())


@dataclass(frozen=True)
class Outgoing:
    """A batch on its way: `table` is None where there are no columns.

    `check` raises what is wrong with it, for the app's error to be told in terms of what was given here.
    """

    rows: int
    table: pa.Table | None
    check: Callable[[], None]
    results: Callable[[pa.Table | None], Any]


def outgoing(spec: EntrySpec, data: Any, adopting: Adopting | None = None) -> Outgoing:
    given, quick = _read_once(spec, data)
    if adopting is not None and quick is None:
        given = adopting.batch(given)

    def check() -> None:
        read_batch(spec, given)

    def results(table: pa.Table | None) -> Any:
        return _in_kind(spec, data, table)

    if quick is not None:
        return Outgoing(quick.num_rows, quick, check, results)
    rows = read_batch(spec, given).rows
    return Outgoing(len(rows), _table_of(spec, rows), check, results)


def _read_once(spec: EntrySpec, data: Any) -> tuple[Any, pa.Table | None]:
    """The data in a form that can be read again, and as a table if it is plain enough."""
    if isinstance(data, Mapping):
        columns = {name: list(column) if hasattr(column, "__next__") else column for name, column in data.items()}
        return columns, _quick(spec, columns)
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return data, None
    if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns"):
        columns = {str(name): column for name, column in data.items()}
        return data, _quick(spec, columns) if len(columns) == len(data.columns) else None
    try:
        table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else pa.table(data)
    except (TypeError, ValueError, OverflowError):
        return data, None
    return table, table if table.num_columns else None


def _quick(spec: EntrySpec, columns: Mapping[Any, Any]) -> pa.Table | None:
    known = {p.name: p.type for p in (*spec.parameters, *fields_of(spec))}
    arrays = {}
    for name, column in columns.items():
        array = _quick_column(known.get(name), column)
        if array is None:
            return None
        arrays[name] = array
    if len({len(array) for array in arrays.values()}) != 1:
        return None
    return pa.table(arrays)


def _quick_column(t: Type | None, column: Any) -> Any:
    """The column in Arrow, if that holds the very values that reading it one by one would give."""
    if t is None or is_objects(column) or is_candidate(t, column):
        return None
    if isinstance(column, np.ndarray):
        return pa.array(column) if column.ndim == 1 and column.dtype.str[1:] in _NUMBERS else None
    if column.__class__ is not list:
        return arrow_column(column)
    if set(map(type, column)) != {_EXACT.get(t)}:
        return None
    try:
        return pa.array(column, type=arrow_field("", t).type)
    except (pa.ArrowException, ValueError, OverflowError):  # a number too large, text that is no UTF-8
        return None


def _table_of(spec: EntrySpec, rows: list[tuple[Any, ...]]) -> pa.Table | None:
    """Checked rows as columns; a single record as its fields."""
    record = record_of(spec)
    fields = [(p.name, p.type) for p in spec.parameters] if record is None else list(record.fields)
    if not fields:
        return None
    arrays = []
    for i, (name, t) in enumerate(fields):
        assert t is not None
        arrays.append(arrow_array(t, [row[i] if record is None else getattr(row[0], name) for row in rows]))
    return pa.Table.from_arrays(arrays, schema=pa.schema([arrow_field(n, t) for n, t in fields if t is not None]))


# -- results ----------------------------------------------------------------------------------------------------------


def _in_kind(spec: EntrySpec, data: Any, table: pa.Table | None) -> Any:
    if table is None or not isinstance(data, (Mapping, list)):
        return in_kind(data, table)
    columns = {name: _values(t, table.column(name)) for name, t, _ in result_fields(spec)}
    if isinstance(data, Mapping):
        return columns
    if isinstance(spec.result, Record):
        cls = spec.result.cls
        return [cls(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    return columns["result"]


def _values(t: Type, column: Any) -> list[Any]:
    if t in _PLAIN:
        return column.to_pylist()  # type: ignore[no-any-return]
    exact = coercer(t)
    return [exact(from_arrow(t, x)) for x in column.to_pylist()]


def tell_here(error: BadInput, check: Callable[[], None]) -> BadInput:
    """The error of the app in terms of what was given here; the same, but for values that do not travel."""
    try:
        check()
    except BadInput as found:
        return found
    return error
