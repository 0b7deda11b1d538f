"""What is in flat memory as rows of Arrow columns: what an epoch has changed, and all of it piece by piece.

The rows are those of `anabranch.state.changes`. Laws: `changed` gives each entry that the log of an arena names once,
as it is now, in a time proportional to the log; what `Slices` gives, and then what was changed since it began, is what
a part holds; no buffer is memory of a store.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from anabranch.graph.nodes import State
from anabranch.kernels.native.columns import Words
from anabranch.kernels.native.driver import (
    CHANGE,
    FEW,
    FEW_SLOTS,
    each_once,
    gather_cells,
    gather_entries,
    gather_lines,
    gather_range,
    walk_few,
    walk_log,
)
from anabranch.kernels.native.gathering import gather_pieces
from anabranch.kernels.native.layout import TEXT, TIMES, kinds
from anabranch.kernels.native.stores import Arena, Place, Store
from anabranch.lang import DenseMatrix, DenseVector, Matrix
from anabranch.lang.arrow import arrow_type
from anabranch.lang.types import BOOL, DATE, FLOAT, INT, NONE, Dense, List, Optional, Record, Tuple, Type
from anabranch.state.changes import schema_of
from anabranch.state.tables import load_columns

DENSE = (DenseVector, DenseMatrix)
MARKED = 32  # entries for a word of the log: so many are marked rather than collected
LONGEST = 2**31 - 1  # what offsets of Arrow's text and lists can say


def changed(arena: Arena, parts: Mapping[str, Any]) -> dict[str, pa.RecordBatch]:
    """For each of these states of an instance that was written since its log began: what was, as it is now.

    An entry that is absent has a row that is not present. It may never have been there.
    """
    written = arena.written()
    if len(written) == 1:
        ((start, end),) = written
        if start == end:
            return {}
        if end - start <= 8 * FEW:
            return _few(arena, parts, start, end)
    return _many(arena, parts, written)


def _few(arena: Arena, parts: Mapping[str, Any], start: int, end: int) -> dict[str, pa.RecordBatch]:
    room = pa.allocate_buffer(CHANGE * FEW + 4 * FEW_SLOTS)
    count = walk_few.machine(arena.address, start, end, room.address)
    changes = np.frombuffer(room, np.int64, 3 * count)
    numbers = changes[::3].tolist()
    found = {}
    for name, part in parts.items():
        here = numbers.count(part.store.shape.number)
        if here == count:
            found[name] = _now(part, changes, room.address, count)
        elif here:
            of_it = changes.reshape(-1, 3)[changes[::3] == part.store.shape.number]
            found[name] = _now(part, of_it.reshape(-1), of_it.ctypes.data, here)
    return found


def _many(arena: Arena, parts: Mapping[str, Any], written: list[tuple[int, int]]) -> dict[str, pa.RecordBatch]:
    words = sum(end - start for start, end in written) // 8
    marks = np.full(len(arena.block), -1)  # as many as there are states, and some
    bytes_of = {}
    for name, part in parts.items():
        size = _places(part)
        if size is not None and size <= MARKED * words:
            bytes_of[name] = np.zeros(size, dtype=np.uint8)
        marks[part.store.shape.number] = bytes_of[name].ctypes.data if name in bytes_of else 0
    changes = np.empty(3 * words if len(bytes_of) < len(parts) else 0, dtype=np.int64)
    count = 0
    for start, end in written:
        count = walk_log(arena.address, start, end, marks.ctypes.data, changes.ctypes.data, count)
    if count:
        slots = np.full(1 << (2 * count - 1).bit_length(), -1, dtype=np.int32)
        count = each_once(changes.ctypes.data, count, slots.ctypes.data, len(slots) - 1, secrets.randbits(62))
    changes = changes[: 3 * count]
    found = {}
    for name, part in parts.items():
        number = part.store.shape.number
        if name in bytes_of:
            chosen = np.flatnonzero(bytes_of[name].view(np.bool_))
            if len(chosen):
                found[name] = _marked(part, chosen)
            continue
        alone = len(bytes_of) + 1 == len(parts)
        of_it = changes if alone else changes.reshape(-1, 3)[changes[::3] == number].reshape(-1)
        if len(of_it):
            found[name] = _now(part, of_it, of_it.ctypes.data, len(of_it) // 3)
    return found


def _places(part: Any) -> int | None:
    """How many things a log can name; None where that is not known."""
    cls = part.store.shape.cls
    return None if cls is Matrix else part._data.size if cls in DENSE else part.store.used


def _marked(part: Any, chosen: Words) -> pa.RecordBatch:
    if part.store.shape.cls in DENSE:
        return _dense_rows(part, chosen)
    return _entry_rows(part.store, chosen.ctypes.data, 8, len(chosen))


def _now(part: Any, changes: Words, address: int, count: int) -> pa.RecordBatch:
    """What changes name, as it is now."""
    cls = part.store.shape.cls
    if cls in DENSE:
        return _dense_rows(part, changes[1::3])
    if cls is Matrix:
        block = _Block(count, 3)
        present = gather_cells.machine(part.store.address, address, count, block.address, block.pitch)
        return _cell_rows(part.store, block, count, present)
    return _entry_rows(part.store, address + 8, CHANGE, count)


class _Block:
    """Memory for rows: a bit for each, then columns of words."""

    __slots__ = ("_first", "address", "buffer", "count", "pitch")

    def __init__(self, count: int, columns: int) -> None:
        self.count = count
        self._first, self.pitch = (count + 511) // 512 * 64, (8 * count + 63) & -64
        self.buffer = pa.allocate_buffer(self._first + columns * self.pitch)
        self.address = self.buffer.address

    @property
    def columns_at(self) -> int:
        return self.address + self._first

    def bits(self) -> pa.Buffer:
        return self.buffer.slice(0, self._first)

    def column(self, i: int) -> pa.Buffer:
        return self.buffer.slice(self._first + i * self.pitch, self.pitch)


class _Columns(NamedTuple):
    """The columns of a state as they are saved."""

    schema: pa.Schema
    key: pa.DataType | None
    value: pa.DataType
    keys: int  # words
    values: int


def columns_of(store: Store) -> _Columns:
    """Made once for a store: it takes as long as the rows of a short epoch."""
    if store.saved is None:
        # A shape has all that these look at.
        schema = schema_of(cast(State, store.shape))
        types = [t for _, t in load_columns(cast(State, store.shape))]
        key, value = arrow_type(types[0]) if len(types) > 1 else None, arrow_type(types[-1])
        store.saved = _Columns(schema, key, value, store.shape.offset // 8 - 1, store.shape.width)
    return cast(_Columns, store.saved)


def _entry_rows(store: Store, chosen: int, step: int, count: int) -> pa.RecordBatch:
    columns = columns_of(store)
    block = _Block(count, columns.keys + columns.values)
    present = gather_entries.machine(store.address, chosen, step, count, block.address, block.pitch)
    return _rows_of(store, block, count, present)


def _rows_of(store: Store, block: _Block, count: int, present: int | None) -> pa.RecordBatch:
    """The rows of a block; of None all are present, and it has no bits."""
    shape, columns = store.shape, columns_of(store)
    bits, keys = block.bits(), columns.keys
    arrays = []
    if columns.key is not None:
        arrays.append(_array(shape.key, columns.key, [block.column(i) for i in range(keys)], count, None, None))
    words = [block.column(keys + i) for i in range(columns.values)]
    if present is None or present == count:
        arrays.append(_array(shape.value, columns.value, words, count, None, None))
    elif shape.value in (INT, FLOAT):
        arrays.append(pa.Array.from_buffers(columns.value, count, [bits, words[0]], count - present))
    else:
        there = np.unpackbits(np.frombuffer(bits, np.uint8), count=count, bitorder="little").astype(np.bool_)
        arrays.append(_array(shape.value, columns.value, words, count, bits, there))
    return _batch(columns.schema, arrays, count, None if present is None else bits)


def _cell_rows(store: Store, block: _Block, count: int, present: int | None) -> pa.RecordBatch:
    line, index, value = block.column(0), block.column(1), block.column(2)
    if store.shape.axis != "row":
        line, index = index, line
    bits = block.bits()
    arrays = [
        pa.Array.from_buffers(pa.int64(), count, [None, line], 0),
        pa.Array.from_buffers(pa.int64(), count, [None, index], 0),
        pa.Array.from_buffers(pa.float64(), count, [None if present in (None, count) else bits, value]),
    ]
    return _batch(columns_of(store).schema, arrays, count, None if present is None else bits)


def _batch(schema: pa.Schema, arrays: list[Any], count: int, bits: pa.Buffer | None) -> pa.RecordBatch:
    if bits is None:
        bits = pa.py_buffer(np.full((count + 7) // 8, 255, dtype=np.uint8))
    arrays.append(pa.Array.from_buffers(pa.bool_(), count, [None, bits], 0))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _dense_rows(part: Any, places: Words) -> pa.RecordBatch:
    shape, columns = part.store.shape, part._data.shape[-1]
    values = pa.array(part._data.reshape(-1)[places])
    where = np.divmod(places, columns) if shape.cls is DenseMatrix else [np.array(places)]
    return _batch(columns_of(part.store).schema, [*map(pa.array, where), values], len(places), None)


# -- words as Arrow arrays ------------------------------------------------------------------------------------------


def _array(
    t: Type, kind: pa.DataType, words: list[Any], count: int, bits: pa.Buffer | None, there: Any
) -> pa.Array[Any]:
    """Columns of words as an array, without a Python object per value.

    `bits` says which are not null, all if it is None. What is not `there` refers to nothing, whatever its words say.
    """
    if t in (INT, FLOAT) or (t in TIMES and t != DATE):
        return pa.Array.from_buffers(kind, count, [bits, words[0]])
    if t == NONE:
        return pa.nulls(count)
    match t:
        case Optional(of):
            given = _words(words[0], count) != 0
            there = given if there is None else given & there
            return _array(of, kind, words[1:], count, None if there.all() else _packed(there), there)
        case Tuple(items):
            return _struct(items, kind, words, count, bits, there)
        case Record(_, fields):
            return _struct([f for _, f in fields], kind, words, count, bits, there)
    if t == BOOL:
        return pa.Array.from_buffers(kind, count, [bits, _packed(_words(words[0], count) != 0)])
    if t == DATE:
        return pa.Array.from_buffers(kind, count, [bits, pa.py_buffer(_words(words[0], count).astype(np.int32))])
    sizes = _words(words[1], count) if there is None else _words(words[1], count) * there
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    total = int(offsets[-1])
    if total > LONGEST:
        raise OverflowError(f"{total} bytes or items of {t} are too many for the rows of one batch")
    ends = pa.py_buffer(offsets.astype(np.int32))
    if t in TEXT:
        return pa.Array.from_buffers(kind, count, [bits, ends, _gathered(words[0], sizes, count, 1, total)])
    of = FLOAT if isinstance(t, Dense) else cast(List, t).of
    width = max(len(kinds(of)), 1)
    items = _gathered(words[0], sizes, count, 8 * width, total)
    if width > 1:
        rows = np.frombuffer(items, np.int64).reshape(-1, width)
        columns = [pa.py_buffer(np.ascontiguousarray(rows[:, i])) for i in range(width)]
    else:
        columns = [items]
    inner = _array(of, kind.value_type, columns, total, None, None)
    return pa.Array.from_buffers(kind, count, [bits, ends], children=[inner])


def _struct(
    items: Any, kind: pa.DataType, words: list[Any], count: int, bits: pa.Buffer | None, there: Any
) -> pa.Array[Any]:
    children, at = [], 0
    for i, item in enumerate(items):
        width = len(kinds(item))
        children.append(_array(item, kind.field(i).type, words[at : at + width], count, None, there))
        at += width
    return pa.Array.from_buffers(kind, count, [bits], children=children)


def _words(buffer: pa.Buffer, count: int) -> Words:
    return np.frombuffer(buffer, np.int64, count)


def _packed(given: Any) -> pa.Buffer:
    return pa.py_buffer(np.packbits(given, bitorder="little"))


def _gathered(addresses: pa.Buffer, sizes: Words, count: int, unit: int, total: int) -> pa.Buffer:
    """What is at so many addresses, one behind the other."""
    found = pa.allocate_buffer(total * unit)
    gather_pieces(addresses.address, 8, sizes.ctypes.data, count, unit, found.address)
    return found


# -- piece by piece ---------------------------------------------------------------------------------------------------


def sliced(part: Any, start: int, count: int) -> tuple[pa.RecordBatch | None, int | None]:
    """What is present of so many entries (of a matrix: lines; of a dense state: places), and where to go on.

    None, None at the end. The numbers hold until the store is made compact, which may be after each epoch: a walk that
    goes on after others have written is one of `Slices`.
    """
    store, shape = part.store, part.store.shape
    last = part._data.size if shape.cls in DENSE else store.used
    end = min(start + count, last)
    if start >= end:
        return None, None
    beyond = None if end == last else end
    if shape.cls in DENSE:
        return _dense_rows(part, np.arange(start, end)), beyond
    if shape.cls is Matrix:
        cells = int(store.words[start:end, 3].sum())
        block = _Block(cells, 3)
        gather_lines.machine(store.address, start, end, block.columns_at, block.pitch)
        return _cell_rows(store, block, cells, None), beyond
    block = _Block(end - start, shape.size // 8 - 1)
    found = gather_range.machine(store.address, start, end, block.columns_at, block.pitch)
    return _rows_of(store, block, found, None), beyond


class Slices:
    """A walk over all that a part holds, in pieces between which epochs may run.

    Law: an entry that is present from the beginning to the end of the walk is in exactly one of its pieces, as it was
    when that was taken; one that is not may be. A walk takes no notice of what came after it had begun. If the store
    is made compact in between the walk goes on where it was: entries keep their order. So nobody has to be told of it.
    Pieces are taken between epochs.
    """

    def __init__(self, part: Any) -> None:
        self._part, store = part, part.store
        if store.shape.cls in DENSE:  # which never changes its places
            self._at, self._end = Place(0), Place(part._data.size)
        else:
            self._at, self._end = store.place(0), store.place(store.used)

    def take(self, count: int) -> pa.RecordBatch | None:
        """The rows of the next so many entries, lines or places; maybe none of them. None at the end of the walk.

        Where their text takes more than Arrow can say (2 GiB) it raises `OverflowError` and stays where it is: take
        fewer.
        """
        start = self._at.number
        rows, _ = sliced(self._part, start, min(count, self._end.number - start))
        self._at.number = min(start + count, self._end.number)
        return rows

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (rows := self.take(PIECE)) is not None:
            yield rows


PIECE = 1 << 16
