"""How a batch is handed to `many`: rows, columns, Arrow data in many forms, data frames.

Law: whatever the form, a plain run gives the same results for the same rows, up to the kind of container.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from anabranch.lang.arrow import arrow_array
from anabranch.lang.spec import EntrySpec

Rows = list[tuple[Any, ...]]


def table_of(spec: EntrySpec, rows: Rows) -> pa.Table:
    columns = {p.name: arrow_array(p.type, [row[i] for row in rows]) for i, p in enumerate(spec.parameters)}
    return pa.table(columns)


def columns_of(spec: EntrySpec, rows: Rows) -> dict[str, list[Any]]:
    return {p.name: [row[i] for row in rows] for i, p in enumerate(spec.parameters)}


def _numpy(spec: EntrySpec, rows: Rows) -> Any:
    kinds = {"int": np.int64, "float": np.float64, "bool": np.bool_}
    columns = columns_of(spec, rows)
    types = {p.name: str(p.type) for p in spec.parameters}
    return {n: np.array(c, kinds[types[n]]) if types[n] in kinds else c for n, c in columns.items()}


def _chunked(spec: EntrySpec, rows: Rows) -> Any:
    middle = len(rows) // 3
    tables = [table_of(spec, part) for part in (rows[:middle], rows[middle:middle], rows[middle:])]
    return pa.concat_tables(tables)


def _sliced(spec: EntrySpec, rows: Rows) -> Any:
    around = rows[:3]
    return table_of(spec, [*around, *rows, *around]).slice(len(around), len(rows))


def _batch(spec: EntrySpec, rows: Rows) -> Any:
    around = rows[:1]
    table = table_of(spec, [*around, *rows]).combine_chunks()
    if not table.num_rows:
        return table
    return table.to_batches()[0].slice(len(around))


def _reader(spec: EntrySpec, rows: Rows) -> Any:
    return table_of(spec, rows).to_reader(max_chunksize=7)


def _cast(change: Callable[[pa.DataType], pa.DataType]) -> Callable[[EntrySpec, Rows], Any]:
    def give(spec: EntrySpec, rows: Rows) -> Any:
        table = table_of(spec, rows)
        columns = {}
        for name in table.column_names:
            column = table[name]
            wanted = change(column.type)
            try:
                columns[name] = column if wanted == column.type else column.cast(wanted)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # Arrow has no such cast, or a number does not fit
                columns[name] = column
        return pa.table(columns)

    return give


def _large(type: pa.DataType) -> pa.DataType:
    if pa.types.is_list(type):
        return pa.large_list(type.value_type)
    return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(type, type)


def _view(type: pa.DataType) -> pa.DataType:
    return {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}.get(type, type)


def _narrow(type: pa.DataType) -> pa.DataType:
    return {pa.int64(): pa.int16(), pa.timestamp("us"): pa.timestamp("ms")}.get(type, type)


def _unsigned(type: pa.DataType) -> pa.DataType:
    return {pa.int64(): pa.uint64(), pa.date32(): pa.date64(), pa.timestamp("us"): pa.timestamp("s")}.get(type, type)


def _encoded(type: pa.DataType) -> pa.DataType:
    plain = pa.types.is_string(type) or pa.types.is_integer(type) or pa.types.is_binary(type)
    return pa.dictionary(pa.int8(), type) if plain else type


def _pandas(spec: EntrySpec, rows: Rows) -> Any:
    table = table_of(spec, rows)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    frame.index = frame.index * 2 + 5
    return frame


FORMS: dict[str, Callable[[EntrySpec, Rows], Any]] = {
    "columns": columns_of,
    "numpy": _numpy,
    "arrow": table_of,
    "chunked": _chunked,
    "sliced": _sliced,
    "record batch": _batch,
    "reader": _reader,
    "large": _cast(_large),
    "view": _cast(_view),
    "narrow": _cast(_narrow),
    "unsigned": _cast(_unsigned),
    "dictionary": _cast(_encoded),
    "pandas": _pandas,
    "polars": lambda spec, rows: pl.from_arrow(table_of(spec, rows)),
    "dicts": lambda spec, rows: [dict(zip([p.name for p in spec.parameters], row, strict=True)) for row in rows],
}


def handed(form: str, spec: EntrySpec, rows: Rows) -> Any:
    """The rows as data of the form; as they are where the entry has no columns."""
    return FORMS[form](spec, rows) if form != "rows" and spec.parameters else None
