"""Kinds of batches: how to make each from columns, and what its results look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

Columns = dict[str, list[Any]]


class OnlyStream:
    """Arrow data of an unknown library, as a stream."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class OnlyArray:
    """Arrow data of an unknown library, as one batch."""

    def __init__(self, table: pa.Table) -> None:
        self._batch = one_batch(table)

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    arrays = [pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks() for column in table]
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)


def rows(columns: Columns) -> list[tuple[Any, ...]]:
    return list(zip(*columns.values(), strict=True))


def records(columns: Columns) -> list[Any]:
    """Rows of a named tuple whose fields are not in the order of the columns."""
    names = sorted(columns, reverse=True)
    cls = NamedTuple("Given", [(name, Any) for name in names])  # type: ignore[misc]
    return [cls(*[columns[name][i] for name in names]) for i in range(len(next(iter(columns.values()))))]


def objects(values: list[Any]) -> Any:
    """An array of exactly these objects: numpy would make lists and tuples dimensions of it."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def halves(table: pa.Table) -> pa.Table:
    """The same table in two chunks, the second of which starts inside its buffers."""
    half = table.num_rows // 2
    return pa.concat_tables([table.slice(0, half), table.slice(half)])


def pandas_frame(table: pa.Table) -> Any:
    pytest.importorskip("pandas", reason="pandas is not installed: no data frames of it to read")
    return table.to_pandas(integer_object_nulls=True)


def polars_frame(table: pa.Table) -> Any:
    polars = pytest.importorskip("polars", reason="polars is not installed: no data frames of it to read")
    return polars.from_arrow(table)


def duckdb_relation(table: pa.Table) -> Any:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: no relations of it to read")
    return duckdb.from_arrow(table)


@dataclass(frozen=True)
class Kind:
    """`make` builds a batch of columns and their Arrow table; `is_result` and `read` say what comes back."""

    make: Callable[[Columns, pa.Table], Any]
    is_result: Callable[[Any], bool]
    read: Callable[[Any], Columns]


def _columns(make: Callable[[Columns, pa.Table], Any]) -> Kind:
    return Kind(make, lambda result: type(result) is dict, lambda result: result)


def _arrow(make: Callable[[pa.Table], Any]) -> Kind:
    return Kind(lambda _, table: make(table), lambda result: type(result) is pa.Table, pa.Table.to_pydict)


def _rows(make: Callable[[Columns], Any]) -> Kind:
    return Kind(lambda columns, _: make(columns), lambda result: type(result) is list, _fields)


def _fields(results: list[Any]) -> Columns:
    if results and hasattr(results[0], "_fields"):
        return {name: [getattr(x, name) for x in results] for name in results[0]._fields}
    return {"result": results}


def _is_of(library: str) -> Callable[[Any], bool]:
    return lambda result: type(result).__name__ == "DataFrame" and type(result).__module__.startswith(library)


KINDS: dict[str, Kind] = {
    "dict of lists": _columns(lambda columns, _: columns),
    "dict of tuples": _columns(lambda columns, _: {name: tuple(x) for name, x in columns.items()}),
    "dict of iterators": _columns(lambda columns, _: {name: iter(x) for name, x in columns.items()}),
    "dict of arrays": _columns(lambda columns, _: {name: np.array(x) for name, x in columns.items()}),
    "dict of object arrays": _columns(lambda columns, _: {name: objects(x) for name, x in columns.items()}),
    "dict of Arrow arrays": _columns(lambda _, table: dict(zip(table.column_names, table.columns, strict=True))),
    "table": _arrow(lambda table: table),
    "table in chunks": _arrow(halves),
    "record batch": _arrow(one_batch),
    "reader": _arrow(lambda table: halves(table).to_reader()),
    "only a stream": _arrow(OnlyStream),
    "only an array": _arrow(OnlyArray),
    "tuples": _rows(rows),
    "dicts": _rows(lambda columns: [dict(zip(columns, row, strict=True)) for row in rows(columns)]),
    "records": _rows(records),
    "pandas": Kind(lambda _, t: pandas_frame(t), _is_of("pandas"), lambda result: result.to_dict("list")),
    "polars": Kind(lambda _, t: polars_frame(t), _is_of("polars"), lambda result: result.to_dict(as_series=False)),
    "duckdb": _arrow(duckdb_relation),
}  # fmt: skip
