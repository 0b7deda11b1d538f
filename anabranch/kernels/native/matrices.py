"""A matrix in flat memory with the methods of the plain one: lines of cells, by row or by column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from anabranch.kernels.native import memory as m
from anabranch.kernels.native.driver import (
    cell_of,
    find_line,
    put_cell,
    walk_line,
)
from anabranch.kernels.native.entries import make_room
from anabranch.kernels.native.products import dot_columns
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.stores import Arena, Store, zeros
from anabranch.kernels.native.words import Leave
from anabranch.lang import Matrix, Vector
from anabranch.lang.access import refuse_frozen
from anabranch.lang.matrix import _index
from anabranch.lang.scalars import as_int
from anabranch.lang.vector import _fresh


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
