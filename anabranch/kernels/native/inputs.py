"""Batches as blocks, without a Python object per value.

Law: what is read here is what `anabranch.lang.columns.read_batch` reads. Anything that is not plainly right (a null, a
column too many, a float that should be an int) is not read, and that reader says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.kernels.native.blocks import Block
from anabranch.kernels.native.columns import Encoded, Words, encode
from anabranch.kernels.native.layout import TEXT, TIMES, NotInKernels, is_plain_record
from anabranch.kernels.native.moments import RANGES
from anabranch.lang.arrow import arrow_type
from anabranch.lang.columns import fields_of, record_of
from anabranch.lang.spec import EntrySpec
from anabranch.lang.types import BOOL, BYTES, DATE, FLOAT, INT, STR, Dense, List, Optional, Scalar, Type

PYTHON = {INT: int, FLOAT: float, BOOL: bool, STR: str, BYTES: bytes}
EXACT = -(2**53), 2**53  # all integers in between are floats


class _Odd(Exception):
    """Not plainly right."""


def read_block(spec: EntrySpec, data: Any) -> Block | None:
    """The rows of a batch; None if they have to be read one by one."""
    try:
        given = _columns(data)
        record = record_of(spec)
        if record is not None and not is_plain_record(record):
            return None
        fields = fields_of(spec)
        if given is None or set(given) != {p.name for p in fields} or not fields:
            return None
        found = Encoded()
        counts = set()
        for p in fields:
            assert p.type is not None
            counts.add(_read(p.type, given[p.name], found))
        if len(counts) != 1:
            return None
        types = tuple(p.type for p in spec.parameters if p.type is not None)
        return Block(types, tuple(found.columns), counts.pop(), (found.kept, data))
    except (_Odd, NotInKernels, pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _columns(data: Any) -> dict[str, Any] | None:
    if isinstance(data, Mapping):
        return dict(data)
    if isinstance(data, pa.RecordBatch | pa.Table):
        names = data.schema.names
        return dict(zip(names, data.columns, strict=True)) if len(set(names)) == len(names) else None
    if type(data).__module__.partition(".")[0] == "polars" and hasattr(data, "__arrow_c_stream__"):
        return _columns(pa.table(data))
    return None


def _read(t: Type, column: Any, out: Encoded) -> int:
    """Add the words of a column; how many rows it has."""
    inner = t.of if isinstance(t, Optional) else t
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(t, Dense | List) and isinstance(column, pa.Array):
        return _read_lists(FLOAT if isinstance(t, Dense) else t.of, column, out)
    if not isinstance(inner, Scalar) or (inner not in PYTHON and inner not in TIMES):
        raise _Odd
    if isinstance(column, pa.Array):
        return _read_arrow(t, inner, column, out)
    if type(column) is np.ndarray:  # a masked array has values that are none
        return _read_numpy(t, column, out)
    if column.__class__ in (list, tuple) and t == inner and set(map(type, column)) <= {PYTHON.get(inner)}:
        found = encode(t, column)
        out.columns += found.columns
        out.kept.append(found.kept)
        return len(column)
    raise _Odd


def _read_numpy(t: Type, column: Any, out: Encoded) -> int:
    kinds_of = "iu" if t == INT else "fiu" if t == FLOAT else "b" if t == BOOL else ""
    if column.ndim != 1 or column.dtype.kind not in kinds_of:
        raise _Odd
    out.columns.append(_exactly(column, np.float64 if t == FLOAT else np.int64, copy=True))
    return len(column)


def _exactly(column: Any, dtype: Any, copy: bool = False) -> Words:
    """The numbers as another type, none of them changed."""
    if column.dtype == dtype:
        return np.array(column) if copy else column
    if column.dtype.kind in "iu" and len(column):
        least, greatest = EXACT if dtype is np.float64 else (-(2**63), 2**63 - 1)
        if int(column.min()) < least or int(column.max()) > greatest:
            raise _Odd
    elif column.dtype.itemsize > 8:
        raise _Odd
    with np.errstate(all="ignore"):  # a NaN may signal
        return column.astype(dtype)


def _read_arrow(t: Type, inner: Type, column: Any, out: Encoded) -> int:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()  # which may have nulls that the indices have not
    if column.null_count:
        if t == inner:
            raise _Odd
        there = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    else:
        there = np.broadcast_to(np.int64(1), len(column))
    if t != inner:
        out.columns.append(there)
    if inner in TEXT:
        _read_text(inner, column, there, out)
        return len(column)
    if inner in TIMES:
        _read_times(inner, column, out)
        return len(column)
    kind = column.type
    if column.null_count:
        column = pc.fill_null(column, False if inner == BOOL else 0)
    if inner == BOOL and pa.types.is_boolean(kind):
        out.columns.append(column.to_numpy(zero_copy_only=False).astype(np.int64))
    elif inner == INT and pa.types.is_integer(kind):
        out.columns.append(_exactly(column.to_numpy(zero_copy_only=False), np.int64))
    elif inner == FLOAT and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        out.columns.append(_exactly(column.to_numpy(zero_copy_only=False), np.float64))
    else:
        raise _Odd
    out.kept.append(column)
    return len(column)


def _read_lists(of: Type, column: Any, out: Encoded) -> int:
    """Addresses and sizes of lists of numbers where they are: vectors, above all."""
    if of not in (FLOAT, INT):
        raise _Odd
    wanted = arrow_type(of)
    if pa.types.is_fixed_size_list(column.type) and column.type.value_type == wanted:
        column = column.cast(pa.list_(wanted))
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise _Odd
    if column.type.value_type != wanted or column.null_count:
        raise _Odd
    column.validate(full=True)
    values = column.values
    ends = column.offsets.to_numpy().astype(np.int64)
    if values.null_count and values.slice(ends[0], ends[-1] - ends[0]).null_count:
        raise _Odd
    data = values.buffers()[1]
    first = 0 if data is None else data.address + 8 * values.offset
    out.columns += [first + 8 * ends[:-1], np.diff(ends)]
    out.kept.append(column)
    return len(column)


def _read_times(t: Type, column: Any, out: Encoded) -> None:
    """Arrow's own integers; those of no Python date are left for the other reader to refuse."""
    if column.type != arrow_type(t):
        raise _Odd
    if t == DATE:
        column = column.cast(pa.int32())
    words = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    least, greatest = RANGES[t]
    if len(words) and not (least <= int(words.min()) and int(words.max()) <= greatest):
        raise _Odd
    out.columns.append(words)
    out.kept.append(column)


def _read_text(t: Type, column: Any, there: Words, out: Encoded) -> None:
    """Addresses and sizes of text where it is; what is null may be any bytes and is none of ours."""
    large = pa.large_string() if t == STR else pa.large_binary()
    small = pa.string() if t == STR else pa.binary()
    if column.type not in (large, small):
        if t == STR and pa.types.is_string_view(column.type):
            column = column.cast(large)
        else:
            raise _Odd
    _, offsets, data = column.buffers()
    dtype = np.int64 if column.type == large else np.int32
    first = column.offset
    ends = np.frombuffer(offsets, dtype=dtype)[first : first + len(column) + 1].astype(np.int64) if offsets else None
    if ends is None or not len(ends):
        ends = np.zeros(len(column) + 1, dtype=np.int64)
    sizes = np.diff(ends)
    if not _is_ascii(ends, sizes, data):
        column.validate(full=True)
    out.columns += [
        ends[:-1] + (data.address if data is not None else 0),
        sizes * there if column.null_count else sizes,
    ]
    out.kept.append(column)


def _is_ascii(ends: Words, sizes: Words, data: Any) -> bool:
    """Is it sound, and text of ASCII alone? Six times as fast to see as whether it is sound text of any kind."""
    if data is None or not len(sizes) or ends[0] < 0 or ends[-1] > data.size or sizes.min() < 0:
        return False
    octets = np.frombuffer(data, np.int8)[ends[0] : ends[-1]]
    return not len(octets) or int(octets.min()) >= 0
