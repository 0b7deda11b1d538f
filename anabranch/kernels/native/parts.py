"""States in flat memory with the methods of the plain ones: what the Python tier and everyone outside of kernels uses.

Laws: a part behaves as the plain state of its type; its writes are logged in its arena; `_copy` is a plain state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from operator import itemgetter
from typing import Any

import numpy as np

from anabranch.kernels.native import memory as m
from anabranch.kernels.native.codec import Codec, Pad
from anabranch.kernels.native.columns import as_kind, decode, encode
from anabranch.kernels.native.driver import (
    BOOL_KEY,
    BYTES_KEY,
    INT_KEY,
    OTHER_KEY,
    STR_KEY,
    cell_of,
    find,
    find_line,
    put,
    put_cell,
    remove,
    walk_line,
)
from anabranch.kernels.native.layout import kinds, texts
from anabranch.kernels.native.outputs import array_of
from anabranch.kernels.native.products import dot_columns
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.stores import Arena, Store, zeros
from anabranch.kernels.native.words import Leave
from anabranch.lang import Matrix, Table, Value, Vector
from anabranch.lang.access import refuse_frozen
from anabranch.lang.frozen import FrozenDict
from anabranch.lang.keys import hash_key
from anabranch.lang.matrix import _index
from anabranch.lang.scalars import as_float, as_int
from anabranch.lang.types import BOOL, BYTES, INT, NONE, STR, List, Optional, Record, Tuple, Type
from anabranch.lang.values import coercer
from anabranch.lang.vector import _fresh

KEYS: dict[Type, int] = {INT: INT_KEY, STR: STR_KEY, BYTES: BYTES_KEY, BOOL: BOOL_KEY}


def signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


class Entries(MutableMapping[Any, Any]):
    """The entries of a store as a mapping of Python values."""

    def __init__(self, shape: Shape, store: Store, arena: Arena) -> None:
        self.store, self.arena, self._shape = store, arena, shape
        self._pad = Pad()
        self._key, self._value = Codec(shape.key, self._pad.keep), Codec(shape.value, store.keep)
        self._freeze = coercer(shape.value, True) if holds_lists(shape.value) else None
        self._offset, self._size = shape.offset, shape.size
        self._context = zeros(m.CONTEXT_WORDS)
        self._at = self._context.ctypes.data
        self._find_entry, self._put = find.machine, put.machine
        self._kinds = zeros(0)
        self._kind = KEYS.get(shape.key, OTHER_KEY)
        if isinstance(shape.key, Tuple) and all(item in KEYS for item in shape.key.items):
            self._kinds = np.array([len(shape.key.items), *(KEYS[item] for item in shape.key.items)])
            self._kind = self._kinds.ctypes.data
        self._hashes = self._kind == OTHER_KEY and shape.key != NONE

    def _find(self, key: Any) -> int:
        self._pad.clear()
        address = self._key.pack(key)
        hashed = signed(hash_key(key)) if self._hashes else 0
        return self._find_entry(self.store.address, self._kind, address, hashed)

    def __getitem__(self, key: Any) -> Any:
        entry = self._find(key)
        if entry < 0:
            raise KeyError(key)
        return self.read(entry)

    def read(self, entry: int) -> Any:
        """The value of an entry by its number."""
        value = self._value.unpack(self.store.memory, entry * self._size + self._offset)
        return value if self._freeze is None else self._freeze(value)

    def get(self, key: Any, default: Any = None) -> Any:
        entry = self._find(key)
        return default if entry < 0 else self.read(entry)

    def __contains__(self, key: object) -> bool:
        return self._find(key) >= 0

    def __len__(self) -> int:
        return self.store.live

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def _present(self) -> Any:
        """The words of the entries that are present."""
        rows = self.store.words[: self.store.used]
        return rows[rows[:, 0] < 0]

    def _columns(self, rows: Any, first: int, t: Type) -> list[Any]:
        return decode(t, self._words(rows, first, t), len(rows))

    def _words(self, rows: Any, first: int, t: Type) -> list[Any]:
        return [as_kind(np.ascontiguousarray(rows[:, first + i]), k) for i, k in enumerate(kinds(t))]

    def arrays(self) -> list[Any]:
        """Keys and values as Arrow arrays, in one order."""
        rows, found = self._present(), []
        for first, t in ((1, self._shape.key), (self._offset // 8, self._shape.value)):
            words = self._words(rows, first, t)
            found.append(array_of(t, words, len(rows)))
        return found

    def _keys(self, rows: Any) -> list[Any]:
        return self._columns(rows, 1, self._shape.key)

    def _values(self, rows: Any) -> list[Any]:
        values = self._columns(rows, self._offset // 8, self._shape.value)
        return values if self._freeze is None else [self._freeze(x) for x in values]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys(self._present()))

    def values(self) -> Any:
        return self._values(self._present())

    def items(self) -> Any:
        rows = self._present()
        return list(zip(self._keys(rows), self._values(rows), strict=True))

    def starting_with(self, first: Any) -> list[tuple[Any, Any]]:
        """The entries whose key, a tuple, has this as its first item."""
        assert isinstance(self._shape.key, Tuple)
        rows, t = self._present(), self._shape.key.items[0]
        found = encode(t, [first])
        for i, word in enumerate(found.columns):
            if not texts(t) >> i & 1:  # text is compared below: what it is, not where
                rows = rows[rows[:, 1 + i] == word[0]]
        pairs = zip(self._keys(rows), self._values(rows), strict=True)
        return [(key, value) for key, value in pairs if key[0] == first]

    def __setitem__(self, key: Any, value: Any) -> None:
        words = self._value.pack(value)
        self._pad.clear()
        address = self._key.pack(key)
        hashed = signed(hash_key(key)) if self._hashes else 0
        self._growing(self._put, self._kind, address, hashed, words)

    def _growing(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function on the store until all it needs is there."""
        while True:
            try:
                function(self._at, self.arena.address, self.store.address, *args)
                return
            except Leave:
                make_room(self._context, [self.arena], {self.store.address: self.store})

    def __delitem__(self, key: Any) -> None:
        if self.pop(key, _NOTHING) is _NOTHING:
            raise KeyError(key)

    def pop(self, key: Any, default: Any = None) -> Any:
        entry = self._find(key)
        if entry < 0:
            return default
        value = self.read(entry)
        self._growing(remove, entry)
        return value

    def clear(self) -> None:
        for entry in np.flatnonzero(self.store.words[: self.store.used, 0] < 0).tolist():
            self._growing(remove, entry)


def holds_lists(t: Type) -> bool:
    match t:
        case List():
            return True
        case Optional(of):
            return holds_lists(of)
        case Tuple(items):
            return any(map(holds_lists, items))
        case Record(_, fields):
            return any(holds_lists(field) for _, field in fields)
    return False


_NOTHING = object()


def make_room(context: Any, arenas: Iterable[Arena], stores: Mapping[int, Any]) -> None:
    """Let grow what a kernel found full."""
    reason, what, need = (int(context[at // 8]) for at in (m.REASON, m.WHAT, m.NEED))
    context[m.REASON // 8] = m.ASK_PYTHON
    if reason == m.FULL_ENTRIES:
        stores[what].grow()
    elif reason == m.FULL_HEAP:
        stores[what].grow_heap(need)
    elif reason == m.FULL_LOG:
        next(a for a in arenas if a.address == what).grow_log(need)
    else:
        raise AssertionError(f"a kernel left for reason {reason}, which nobody can mend")


class ColumnTable(Table[Any, Any]):
    """A table whose entries are in flat memory."""

    def __init__(self, plain: Table[Any, Any], shape: Shape, store: Store, arena: Arena) -> None:
        super().__init__()
        self._default = plain._default
        self._key, self._value, self._first = plain._key, plain._value, plain._first
        self.store, self._shape = store, shape
        entries = Entries(shape, store, arena)
        self._data = entries  # type: ignore[assignment]
        for key, value in plain._data.items():
            entries[key] = value

    def arrow_arrays(self) -> list[Any]:
        """Keys and values as Arrow arrays."""
        return self._data.arrays()  # type: ignore[attr-defined]

    def _write(self, key: Any, value: Any) -> None:
        self._put(key, value)  # logged by the arena

    def _replace(self, data: dict[Any, Any]) -> None:
        refuse_frozen(self)
        self._data.clear()
        for key, value in data.items():
            self._data[key] = value

    @property
    def _index(self) -> None:
        """Kernels change entries: an index by the first component would not hold."""
        return None

    @_index.setter
    def _index(self, index: Any) -> None:
        self.__dict__["_by_first"] = index

    def row(self, first: Any) -> Any:
        if not isinstance(self._shape.key, Tuple) or len(self._shape.key.items) < 2:
            return self._copy().row(first)  # says what is wrong, if there is anything
        found = sorted(self._data.starting_with(self._first(first)), key=itemgetter(0))  # type: ignore[attr-defined]
        return FrozenDict({(k[1] if len(k) == 2 else k[1:]): x for k, x in found})

    def _copy(self) -> Table[Any, Any]:
        new: Table[Any, Any] = Table()
        new._data, new._default = dict(self._data.items()), self._default
        new._key, new._value, new._first = self._key, self._value, self._first
        return new


class ColumnVector(Vector):
    """A vector whose entries are in flat memory."""

    __slots__ = ("_entries", "store")

    def __init__(self, plain: Vector, shape: Shape, store: Store, arena: Arena) -> None:
        self._entries, self.store = Entries(shape, store, arena), store
        self._frozen, self._journal = False, None
        for i, x in plain._data.items():
            self._entries[i] = x

    @property
    def _ordered(self) -> bool:  # type: ignore[override]
        return True

    @property
    def _data(self) -> dict[int, float]:  # type: ignore[override]
        """A plain dict of what is there now, by ascending index."""
        return dict(sorted(self._entries.items()))

    def _sorted(self) -> dict[int, float]:
        return self._data

    def __getitem__(self, i: int) -> float:
        return self._entries.get(as_int(i), 0.0)

    def get(self, i: int, default: float = 0.0) -> float:
        found = self._entries.get(as_int(i))
        return as_float(default) if found is None else found

    def __contains__(self, i: object) -> bool:
        return as_int(i) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __setitem__(self, i: int, x: float) -> None:
        refuse_frozen(self)
        self._put(as_int(i), as_float(x))

    def _put(self, i: int, x: float) -> None:
        if x == 0.0:
            self._entries.pop(i)
        else:
            self._entries[i] = x

    def _replace(self, data: dict[int, float], ordered: bool) -> None:
        refuse_frozen(self)
        self._entries.clear()
        for i, x in data.items():
            self._put(i, x)

    def _copy(self) -> Vector:
        return self.copy()


class ColumnMatrix(Matrix):
    """A matrix whose rows, or columns, are lines in flat memory."""

    __slots__ = ("_arena", "_at", "_buffer", "_context", "_number", "_number_at", "_shape", "store")

    def __init__(self, plain: Matrix, shape: Shape, store: Store, arena: Arena) -> None:
        self._shape, self._arena, self.store = shape, arena, store
        self._frozen, self._journal = False, None
        number, self._context = zeros(1), zeros(m.CONTEXT_WORDS)
        self._number, self._number_at, self._at = number.data, number.ctypes.data, self._context.ctypes.data
        self._buffer = Cells()
        for (i, j), x in plain.items():
            self._put(i, j, x)

    def _turned(self, i: int, j: int) -> tuple[int, int]:
        return (i, j) if self._shape.axis == "row" else (j, i)

    def __getitem__(self, index: Any) -> float:
        i, j = self._turned(*_index(index))
        self._number[0] = i
        return cell_of.machine(self.store.address, self._number_at, j)

    def __contains__(self, index: object) -> bool:
        return self[index] != 0.0

    def __len__(self) -> int:
        return int(self.store.words[: self.store.used, 3].sum())

    def _put(self, i: int, j: int, x: float) -> None:
        line, index = self._turned(i, j)
        self._number[0] = line
        store, arena = self.store, self._arena
        while True:
            try:
                put_cell.machine(self._at, arena.address, store.address, self._number_at, index, x)
                return
            except Leave:
                make_room(self._context, [arena], {store.address: store})

    _write = _put

    def _line(self, number: int) -> tuple[Any, Any]:
        """Indices and values of a line, ascending, until the next is asked for."""
        self._number[0] = number
        entry = find_line.machine(self.store.address, self._number_at)
        return self._cells_of(entry) if entry >= 0 else NO_CELLS

    def _cells_of(self, entry: int) -> tuple[Any, Any]:
        line = self.store.get(m.ENTRIES) + entry * self._shape.size + self._shape.offset
        return self._buffer.read(line, int(self.store.words[entry, 3]))

    def _lines(self) -> Iterator[tuple[int, Any, Any]]:
        """Number, indices and values of each line, by ascending number; these until the next is asked for."""
        used = self.store.words[: self.store.used]
        for entry in np.argsort(used[:, 1], kind="stable").tolist():
            if used[entry, 3]:
                yield (int(used[entry, 1]), *self._cells_of(entry))

    def _vector(self, indices: Any, values: Any) -> Vector:
        return _fresh(dict(zip(indices.tolist(), values.tolist(), strict=True)), True)

    def row(self, i: int) -> Vector:
        return self._by("row", as_int(i))._freeze()

    def column(self, j: int) -> Vector:
        return self._by("column", as_int(j))._freeze()

    def _by(self, axis: str, number: int) -> Vector:
        if self._shape.axis == axis:
            return self._vector(*self._line(number))
        found = {}
        for line, indices, values in self._lines():
            at = int(np.searchsorted(indices, number))
            if at < len(indices) and indices[at] == number:
                found[line] = float(values[at])
        return _fresh(found, True)

    def rows(self) -> list[int]:
        if self._shape.axis == "row":
            return [i for i, _, _ in self._lines()]
        return sorted({int(i) for _, indices, _ in self._lines() for i in indices})

    def items(self) -> list[Any]:
        found = [
            (self._turned(line, j), x)
            for line, js, xs in self._lines()
            for j, x in zip(js.tolist(), xs.tolist(), strict=True)
        ]
        return found if self._shape.axis == "row" else sorted(found, key=lambda item: item[0])

    def dot(self, vector: Vector) -> Vector:
        """Sums in order of the vector's items, for each row on its own."""
        given = vector._sorted()
        js = np.fromiter(given, dtype=np.int64, count=len(given))
        ys = np.fromiter(given.values(), dtype=np.float64, count=len(given))
        if self._shape.axis == "column":
            found_sums = dot_columns(self.store.address, js, ys)
            if found_sums is not None:
                return self._vector(*found_sums)
            lines = []
            for j, y in given.items():
                indices, values = self._line(j)
                if len(indices):
                    lines.append((y, indices.copy(), values.copy()))
            if not lines:
                return Vector()
            rows = np.unique(np.concatenate([indices for _, indices, _ in lines]))
            sums = np.zeros(len(rows))
            with np.errstate(all="ignore"):
                for y, indices, values in lines:
                    sums[np.searchsorted(rows, indices)] += values * y
            return self._vector(rows, sums)
        found = {}
        for i, indices, values in self._lines():
            at = np.searchsorted(js, indices)
            inside = at < len(js)
            inside[inside] = js[at[inside]] == indices[inside]
            if inside.any():
                with np.errstate(all="ignore"):
                    found[i] = float(np.add.accumulate(values[inside] * ys[at[inside]])[-1] + 0.0)
        return _fresh(found, True)

    def copy(self) -> Matrix:
        new = Matrix()
        new._rows = self._rows
        return new

    @property
    def _rows(self) -> dict[int, Vector]:  # type: ignore[override]
        """Plain vectors of what is there now."""
        if self._shape.axis == "row":
            return {i: self._vector(js, xs) for i, js, xs in self._lines()}
        plain = Matrix()
        for j, rows, xs in self._lines():
            for i, x in zip(rows.tolist(), xs.tolist(), strict=True):
                Matrix._put(plain, i, j, x)
        return plain._rows

    def _replace(self, new: Matrix) -> None:
        refuse_frozen(self)
        for (i, j), _ in self.items():
            self._put(i, j, 0.0)
        for (i, j), x in new.items():
            self._put(i, j, x)

    def _copy(self) -> Matrix:
        return self.copy()


NO_CELLS = np.zeros(0, dtype=np.int64), np.zeros(0)


class Cells:
    """Room for the cells of one line."""

    def __init__(self) -> None:
        self._reserve(64)

    def _reserve(self, count: int) -> None:
        self._indices, self._values = np.empty(count, dtype=np.int64), np.empty(count)
        self._at = self._indices.ctypes.data, self._values.ctypes.data

    def read(self, line: int, count: int) -> tuple[Any, Any]:
        if count > len(self._values):
            self._reserve(2 * count)
        walk_line.machine(line, *self._at)
        return self._indices[:count], self._values[:count]


class ColumnValue(Value[Any]):
    """A value in flat memory."""

    __slots__ = ("_entries", "store")

    def __init__(self, plain: Value[Any], shape: Shape, store: Store, arena: Arena) -> None:
        self._entries, self.store = Entries(shape, store, arena), store
        self._coerce = plain._coerce
        self._frozen, self._journal = False, None
        self._entries[None] = plain._data

    @property
    def _data(self) -> Any:
        return self._entries.read(0)

    @_data.setter
    def _data(self, value: Any) -> None:
        self._entries[None] = value

    def _store(self, value: Any) -> None:
        refuse_frozen(self)
        self._entries[None] = self._coerce(value)


def make_part(plain: Any, shape: Shape, arena: Arena) -> Any:
    """The state in the memory of an arena, with the content of the plain one."""
    kinds_of = {Table: ColumnTable, Vector: ColumnVector, Matrix: ColumnMatrix, Value: ColumnValue}
    entries = len(plain) if shape.cls in (Table, Vector) else 1
    store = Store(shape, max(8, entries))
    part = kinds_of[shape.cls](plain, shape, store, arena)
    arena.add(store)  # only when it is whole
    return part
