"""States in flat memory with the methods of the plain ones: what the Python tier and everyone outside of kernels uses.

Laws: a part behaves as the plain state of its type; its writes are logged in its arena; `_copy` is a plain state.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from anabranch.kernels.native.arrays import ColumnDense, ColumnDenseMatrix
from anabranch.kernels.native.entries import Entries
from anabranch.kernels.native.matrices import ColumnMatrix
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.stores import FIRST_ENTRIES, Arena, Store
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.access import refuse_frozen
from anabranch.lang.frozen import FrozenDict
from anabranch.lang.scalars import as_float, as_int
from anabranch.lang.types import Tuple


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
    kinds_of |= {DenseVector: ColumnDense, DenseMatrix: ColumnDenseMatrix}
    entries = len(plain) if shape.cls in (Table, Vector) else 1
    store = Store(shape, FIRST_ENTRIES, arena.budget)
    arena.building = store
    try:
        if entries > FIRST_ENTRIES:
            store.reserve(entries)
        if isinstance(plain, DenseVector | DenseMatrix):
            store.may.need(plain._data.nbytes)
        part = kinds_of[shape.cls](plain, shape, store, arena)
    finally:
        arena.building = None
    arena.add(store)  # only when it is whole
    return part
