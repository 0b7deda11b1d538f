"""Results of kernels in the form in which a batch came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.kernels.native.blocks import Results
from anabranch.kernels.native.columns import Words, decode
from anabranch.kernels.native.gathering import gather_pieces
from anabranch.kernels.native.layout import TEXT, TIMES, kinds
from anabranch.lang.arrow import arrow_array, arrow_field, arrow_type
from anabranch.lang.spec import EntrySpec
from anabranch.lang.types import BOOL, DATE, FLOAT, INT, NONE, Optional, Record, Sparse, Type


def result_parts(spec: EntrySpec, results: Results) -> list[tuple[str, Type, list[Any]]]:
    """Name, type and words of each column of a result."""
    assert spec.result is not None
    if spec.result == NONE:
        return []
    if not isinstance(spec.result, Record):
        return [("result", spec.result, list(results.columns))]
    found, at = [], 0
    for name, t in spec.result.fields:
        width = len(kinds(t))
        found.append((name, t, list(results.columns[at : at + width])))
        at += width
    return found


def result_dict(spec: EntrySpec, results: Results) -> dict[str, list[Any]] | None:
    if spec.result == NONE:
        return None
    return {name: decode(t, columns, len(results)) for name, t, columns in result_parts(spec, results)}


def result_arrow(spec: EntrySpec, results: Results) -> pa.Table | None:
    if spec.result == NONE:
        return None
    parts = result_parts(spec, results)
    arrays = [array_of(t, columns, len(results)) for _, t, columns in parts]
    return pa.Table.from_arrays(arrays, schema=pa.schema([arrow_field(name, t) for name, t, _ in parts]))


def array_of(t: Type, columns: list[Any], count: int) -> pa.Array:
    """Columns of words as an Arrow array; a Python object per value is made only where there is no other way."""
    if t in (INT, FLOAT):
        return pa.array(columns[0])
    if t == BOOL:
        return pa.array(columns[0].astype(np.bool_))
    if t in TIMES:
        return _times(t, pa.array(columns[0]))
    if t in TEXT:
        return pa.array(decode(t, columns, count), type=arrow_type(t))
    if isinstance(t, Optional) and t.of in (INT, FLOAT, BOOL):
        values = columns[1].astype(np.bool_) if t.of == BOOL else columns[1]
        return pa.array(values, mask=columns[0] == 0)
    if isinstance(t, Sparse) and int(columns[1].sum()) < 1 << 31:
        return _vectors(t, *map(np.ascontiguousarray, columns))
    return arrow_array(t, decode(t, columns, count))


def _vectors(t: Sparse, addresses: Words, sizes: Words) -> pa.Array:
    ends = np.cumsum(sizes)
    pairs = np.empty((int(sizes.sum()), 2), dtype=np.int64)
    gather_pieces(addresses.ctypes.data, 8, sizes.ctypes.data, len(sizes), 16, pairs.ctypes.data)
    of = arrow_type(t)
    fields = [pa.array(pairs[:, 0].copy()), pa.array(pairs[:, 1].copy().view(np.float64))]
    entries = pa.StructArray.from_arrays(fields, fields=list(of.value_type))
    return pa.ListArray.from_arrays(pa.array(np.append(0, ends), type=pa.int32()), entries, type=of)


def _times(t: Type, words: pa.Array) -> pa.Array:
    return (words.cast(pa.int32()) if t == DATE else words).cast(arrow_type(t))
