"""Rows of Arrow columns into flat memory, and who owns them.

The rows are those of `anabranch.state.changes`. Laws: `fill` leaves what the plain methods leave that are called row by
row; what `saving` gives and `fill` takes is the same again; `owners` gives for each row what
`anabranch.lang.keys.bucket` says of the place of its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.graph.nodes import State
from anabranch.kernels.native import memory as m
from anabranch.kernels.native.columns import Encoded, Words, strides
from anabranch.kernels.native.driver import append_rows, put_cells, put_rows
from anabranch.kernels.native.entries import make_room
from anabranch.kernels.native.gathering import hash_column, hash_further
from anabranch.kernels.native.hashing import hash_tuple_start
from anabranch.kernels.native.inputs import _is_ascii
from anabranch.kernels.native.layout import TEXT, TIMES, kinds
from anabranch.kernels.native.moments import RANGES
from anabranch.kernels.native.saving import DENSE, columns_of
from anabranch.kernels.native.shares import KINDS
from anabranch.kernels.native.stores import Store, zeros
from anabranch.kernels.native.words import Leave
from anabranch.lang import DenseMatrix, Matrix, Value, Vector
from anabranch.lang.dense import inside
from anabranch.lang.keys import BUCKETS
from anabranch.lang.types import BOOL, DATE, FLOAT, INT, NONE, Dense, List, Optional, Record, Scalar, Tuple, Type
from anabranch.state.changes import PRESENT
from anabranch.state.tables import load_columns


def fill(part: Any, rows: pa.RecordBatch, whole: bool = False, distinct: bool = False) -> None:
    """Put the rows that are present into a part and remove the others; with `whole` all that was there goes first.

    Of rows with one key the last one counts. With `distinct` the caller knows that all rows are present, no key is
    twice in them and none is in the part (if it is not emptied first), as with the pieces of one walk: that is faster.
    Nothing is logged: it is for when the arena does not log. Who knows how many entries will come in several pieces
    calls `part.store.reserve` first, and who has many short batches puts them together: each costs some 70 us.
    """
    store: Store = part.store
    if store.arena is not None and store.arena.logging:
        raise AssertionError(f"{store.shape.name} logs what is written: rows would not be taken back with it")
    check_rows(store, rows)
    present = _bools(rows.column(PRESENT))
    if store.shape.cls in DENSE:
        _fill_dense(part, rows, present, whole)
        return
    if whole and store.shape.cls is not Value:
        store.empty()
    if store.shape.cls is Matrix:
        _fill_lines(store, rows, present)
    elif len(rows):
        _fill_entries(store, rows, present, distinct and bool(present.all()))
    if store.is_wasteful():
        store.compact()


def check_rows(store: Store, rows: pa.RecordBatch) -> None:
    wanted = columns_of(store).schema
    if not rows.schema.equals(wanted):
        raise TypeError(f"rows of {store.shape.name} have the columns\n{wanted}\nbut got\n{rows.schema}")


def _fill_dense(part: Any, rows: pa.RecordBatch, present: Any, whole: bool) -> None:
    given = Encoded()
    for column, there in zip(rows.columns[:-1], (*(None,) * (rows.num_columns - 2), present), strict=True):
        _read(FLOAT if there is not None else INT, column, there, given)
    *where, values = given.columns
    for index, size in zip(where, part._data.shape, strict=True):
        for i in (index.min(), index.max()) if len(index) else ():
            inside(int(i), size)
    places = where[0] * part._data.shape[1] + where[1] if isinstance(part, DenseMatrix) else where[0]
    if whole:
        part._data[...] = 0.0
    part._data.reshape(-1)[places] = np.where(present, values, 0.0)


def _fill_lines(store: Store, rows: pa.RecordBatch, present: Any) -> None:
    given = Encoded()
    row, column, value = rows.columns[:-1]
    line, index = (row, column) if store.shape.axis == "row" else (column, row)
    _read(INT, line, None, given)
    _read(INT, index, None, given)
    _read(FLOAT, value, present, given)
    key, columns, nowhere = zeros(1), strides(given.columns), zeros(m.STORES // 8)  # an instance that logs nothing
    at = store.address, columns.ctypes.data, present.ctypes.data, len(rows), key.ctypes.data
    _growing(store, put_cells, nowhere.ctypes.data, *at)


def _fill_entries(store: Store, rows: pa.RecordBatch, present: Any, distinct: bool) -> None:
    shape, given = store.shape, Encoded()
    if shape.key != NONE:
        _read(shape.key, rows.column(0), None, given)
    hashes = hashes_of(shape.key, given.columns, len(rows))
    _read(shape.value, rows.column(rows.num_columns - 2), present, given)
    columns = strides(given.columns)
    pieces, end, _, stack = store._layout()
    if len(rows) > store.used:  # it grows by a few entries at a time
        store.reserve(store.used + len(rows))
    sparse = shape.cls is Vector
    at = store.address, hashes.ctypes.data, columns.ctypes.data
    if distinct and not (sparse and (given.columns[1] == 0.0).any()):
        _growing(store, append_rows, *at, len(rows), pieces, end, stack)
        return
    row, values = zeros(shape.size // 8), store.pieces_of_key
    more = int(sparse), row.ctypes.data, pieces, values, end, stack
    _growing(store, put_rows, *at, present.ctypes.data, len(rows), *more)


def _growing(store: Store, function: Any, *args: Any) -> None:
    """Call a function, which goes on where it has left, until all it needs is there."""
    context = zeros(m.CONTEXT_WORDS)
    while True:
        try:
            function(context.ctypes.data, *args)
            return
        except Leave:
            make_room(context, (), {store.address: store})


# -- Arrow arrays as words ------------------------------------------------------------------------------------------


def read_words(t: Type, column: pa.Array[Any], out: Encoded) -> None:
    """Add the words of a column that has no nulls but where the type has them."""
    _read(t, column, None, out)


def _read(t: Type, column: pa.Array[Any], there: Any, out: Encoded) -> None:
    """Add the words of a column. `there`, if given, has a byte for each row: what is not there may be null."""
    if isinstance(t, Optional):
        if column.null_count:
            valid = _valid(column)
            there = valid if there is None else there & valid
            out.columns.append(valid.astype(np.int64))
        else:
            out.columns.append(np.broadcast_to(np.int64(1), len(column)))
        t = t.of
    elif column.null_count and t != NONE and (there is None or (there > _valid(column)).any()):
        raise ValueError(f"expected {t}, got a null")
    match t:
        case Scalar():
            if t != NONE:
                _read_scalars(t, column, there, out)
        case Tuple(items):
            for i, item in enumerate(items):
                _read(item, column.field(i), there, out)
        case Record(_, fields):
            for i, (_, field) in enumerate(fields):
                _read(field, column.field(i), there, out)
        case List(of):
            _read_lists(of, column, there, out)
        case Dense():
            _read_lists(FLOAT, column, there, out)


def _read_scalars(t: Type, column: pa.Array[Any], there: Any, out: Encoded) -> None:
    out.kept.append(column)
    if t in TEXT:
        _read_text(column, there, out)
    elif t == BOOL:
        out.columns.append(_bools(column).astype(np.int64))
    else:
        words = _plain(column, np.float64 if t == FLOAT else np.int32 if t == DATE else np.int64)
        words = words.astype(np.int64) if t == DATE else words
        if t in TIMES:
            words = words if there is None else words * there
            least, greatest = RANGES[t]
            if len(words) and not (least <= int(words.min()) and int(words.max()) <= greatest):
                raise ValueError(f"expected {t}, got a time that Python has not")
        out.columns.append(words)


def _plain(column: pa.Array[Any], dtype: Any) -> Words:
    """The items of an array where they are; those that are null may be anything."""
    return _items(column.buffers()[1], dtype, column.offset, len(column))


def _items(buffer: pa.Buffer | None, dtype: Any, first: int, count: int) -> Words:
    if buffer is None or not count:
        return np.zeros(count, dtype=dtype)
    return np.frombuffer(buffer, dtype, count, first * np.dtype(dtype).itemsize)


def _bits(buffer: pa.Buffer, offset: int, count: int) -> Any:
    octets = np.frombuffer(buffer, np.uint8)[offset // 8 : (offset + count + 7) // 8]
    return np.unpackbits(octets, bitorder="little")[offset % 8 : offset % 8 + count]


def _bools(column: pa.Array[Any]) -> Any:
    """A byte for each item."""
    buffer = column.buffers()[1]
    return np.zeros(len(column), dtype=np.uint8) if buffer is None else _bits(buffer, column.offset, len(column))


def _valid(column: pa.Array[Any]) -> Any:
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.uint8)
    buffer = column.buffers()[0]
    return np.ones(len(column), dtype=np.uint8) if buffer is None else _bits(buffer, column.offset, len(column))


def _ends(column: pa.Array[Any]) -> Words:
    offsets = column.buffers()[1]
    if offsets is None or not offsets.size:
        return np.zeros(len(column) + 1, dtype=np.int64)
    return _items(offsets, np.int32, column.offset, len(column) + 1).astype(np.int64)


def _read_text(column: pa.Array[Any], there: Any, out: Encoded) -> None:
    """Addresses and sizes of text where it is."""
    ends, data = _ends(column), column.buffers()[2]
    sizes = np.diff(ends)
    if not _is_ascii(ends, sizes, data):
        column.validate(full=True)
    out.columns += [ends[:-1] + (data.address if data is not None else 0), sizes if there is None else sizes * there]


def _read_lists(of: Type, column: pa.Array[Any], there: Any, out: Encoded) -> None:
    """All items in one array of rows of words; a list is the address of its first and their number."""
    ends, width = _ends(column), max(len(kinds(of)), 1)
    items, first = Encoded(), int(ends[0])
    values = column.values.slice(first, int(ends[-1]) - first)
    _read(of, values, None, items)
    rows = np.zeros((len(values), width), dtype=np.int64)
    for i, word in enumerate(items.columns):
        rows[:, i] = word.view(np.int64)
    sizes = np.diff(ends)
    out.kept += [rows, items.kept]
    out.columns += [(ends[:-1] - first) * (8 * width) + rows.ctypes.data, sizes if there is None else sizes * there]


# -- who owns a row -------------------------------------------------------------------------------------------------


def hashes_of(t: Type, columns: Sequence[Words], count: int) -> Words:
    """`hash_key` of the keys whose words these are; of nothing it is 0."""
    if isinstance(t, Tuple):
        found = np.full(count, hash_tuple_start.py_func(len(t.items)), dtype=np.int64)
        at = 0
        for item in t.items:
            width = len(kinds(item))
            hashed = hashes_of(item, columns[at : at + width], count)
            hash_further(found.ctypes.data, hashed.ctypes.data, count)
            at += width
        return found
    if t == NONE:
        return np.zeros(count, dtype=np.int64)
    assert isinstance(t, Scalar)
    found, words, sizes = np.empty(count, dtype=np.int64), columns[0], columns[-1]
    given = words.ctypes.data, words.strides[0], sizes.ctypes.data, sizes.strides[0]
    hash_column(KINDS[t], *given, count, found.ctypes.data)
    return found


def owners(state: State, rows: pa.RecordBatch, instance_of_bucket: Sequence[int]) -> Words:
    """The instance that owns the entry of each row of a partitioned state."""
    names = load_columns(state)
    if len(names) < 2:
        raise TypeError(f"{state.name} is a {state.cls.__name__}: nobody owns an entry of it")
    if len(names) == 3:
        key: Type = Tuple((INT, INT))
        columns = [rows.column(0), rows.column(1)]
    else:
        key = names[0][1]
        columns = [rows.column(0)]
        if state.axis in ("row", "column") and isinstance(key, Tuple):
            columns = [rows.column(0).field(i) for i in range(len(key.items))]
    if state.axis in ("row", "column") and isinstance(key, Tuple):
        at = 0 if state.axis == "row" else 1
        key, columns = key.items[at], columns[at : at + 1]
    given = Encoded()
    for t, column in zip(key.items if len(columns) > 1 else (key,), columns, strict=True):  # type: ignore[union-attr]
        _read(t, column, None, given)
    hashes = hashes_of(key, given.columns, len(rows))
    return np.asarray(instance_of_bucket, dtype=np.int64)[hashes & (BUCKETS - 1)]
