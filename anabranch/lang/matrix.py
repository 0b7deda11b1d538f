"""`Matrix`: sparse, float64, indexed by two int64.

Laws: as for `Vector`, per entry; `items()` ascends by (row, column); `m.dot(v)[i]` is the left-to-right sum, in order
of `v.items()`, of `m[i, j] * v[j]` over stored entries; rows and columns handed out are frozen snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal

from anabranch.lang import types
from anabranch.lang.access import reading, refuse_frozen, writing
from anabranch.lang.journal import Journal
from anabranch.lang.scalars import as_float, as_int, show
from anabranch.lang.vector import Vector, _fresh, _is_zero

Index = tuple[int, int]


class Matrix:
    """A sparse matrix of floats, indexed by two integers.

    A missing entry reads 0.0, and storing 0.0 removes one. As partitioned state each row has one owner, or each column
    if the program asks for columns.

    >>> m = Matrix({(1, 2): 3.0, (0, 2): 1.0})
    >>> m[1, 2], m[5, 5], m.row(1), m.column(2)
    (3.0, 0.0, Vector({2: 3.0}), Vector({0: 1.0, 1: 3.0}))
    >>> m.dot(Vector({2: 2.0}))
    Vector({0: 2.0, 1: 6.0})
    """

    __slots__ = ("_columns", "_frozen", "_journal", "_rows")
    __anabranch_state__: ClassVar[bool] = True
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, entries: Matrix | Mapping[Index, float] | Iterable[tuple[Index, float]] = ()) -> None:
        self._rows: dict[int, Vector] = {}
        # Kept up to date once someone asked for a column: a program that never does must not pay for it.
        self._columns: dict[int, Vector] | None = None
        self._frozen = False
        self._journal: Journal | None = None
        for index, x in _pairs(entries):
            self._put(*_index(index), as_float(x))

    # -- reading ------------------------------------------------------------------------------------------------

    @reading
    def __getitem__(self, index: Index) -> float:
        i, j = _index(index)
        row = self._rows.get(i)
        return 0.0 if row is None else row._data.get(j, 0.0)

    @reading
    def __contains__(self, index: object) -> bool:
        i, j = _index(index)
        return i in self._rows and j in self._rows[i]._data

    @reading
    def __len__(self) -> int:
        """The number of stored entries."""
        return sum(map(len, self._rows.values()))

    @reading
    def __iter__(self) -> Iterator[Index]:
        return iter([index for index, _ in self.items()])

    @reading
    def row(self, i: int) -> Vector:
        """The entries of row `i`, by column; read-only."""
        return _snapshot(self._rows.get(as_int(i)))

    @reading
    def column(self, j: int) -> Vector:
        """The entries of column `j`, by row; read-only."""
        return _snapshot(self._by_column().get(as_int(j)))

    @reading
    def rows(self) -> list[int]:
        """The indices of rows with entries, ascending."""
        return sorted(self._rows)

    @reading
    def items(self) -> list[tuple[Index, float]]:
        """The stored entries as `((row, column), number)`, ascending."""
        return [((i, j), x) for i in self.rows() for j, x in self._rows[i]._sorted().items()]

    @reading
    def dot(self, vector: Vector) -> Vector:
        """The product with a vector: of each row, the sum of `m[i, j] * vector[j]`, added by ascending `j`."""
        columns = self._by_column()
        data: dict[int, float] = {}
        for j, y in vector._sorted().items():
            column = columns.get(j)
            if column is not None:
                for i, x in column._data.items():
                    data[i] = data.get(i, 0.0) + x * y
        return _fresh(data, False)

    @reading
    def copy(self) -> Matrix:
        """A matrix of the same entries that may be changed."""
        return self._map(lambda row: row.copy())

    @reading
    def __eq__(self, other: object) -> bool:
        return self._rows == other._rows if isinstance(other, Matrix) else NotImplemented

    @reading
    def __add__(self, other: Matrix | Literal[0]) -> Matrix:
        if not isinstance(other, Matrix):
            return self.copy() if _is_zero(other) else NotImplemented
        return self._combine(other, lambda a, b: a + b)

    @reading
    def __radd__(self, other: Literal[0]) -> Matrix:
        return self.copy() if _is_zero(other) else NotImplemented

    @reading
    def __sub__(self, other: Matrix) -> Matrix:
        return self._combine(other, lambda a, b: a - b) if isinstance(other, Matrix) else NotImplemented

    @reading
    def __neg__(self) -> Matrix:
        return self._map(lambda row: -row)

    @reading
    def __mul__(self, factor: float) -> Matrix:
        by = as_float(factor)
        return self._map(lambda row: row * by)

    @reading
    def __rmul__(self, factor: float) -> Matrix:
        return self * factor

    @reading
    def __truediv__(self, divisor: float) -> Matrix:
        by = as_float(divisor)
        if by == 0.0:
            raise ZeroDivisionError("division of a Matrix by zero")
        return self._map(lambda row: row / by)

    def __repr__(self) -> str:
        return f"Matrix({dict(self.items())})"

    # -- writing ------------------------------------------------------------------------------------------------

    @writing
    def __setitem__(self, index: Index, x: float) -> None:
        refuse_frozen(self)
        i, j = _index(index)
        self._write(i, j, as_float(x))

    @writing
    def set_row(self, i: int, vector: Vector) -> None:
        """Replace all entries of row i."""
        refuse_frozen(self)
        i, new = as_int(i), Vector(vector)._data
        for j in self.row(i).keys():  # noqa: SIM118
            if j not in new:
                self._write(i, j, 0.0)
        for j, x in new.items():
            self._write(i, j, x)

    @writing
    def clear(self) -> None:
        """Remove all entries."""
        self._replace(Matrix())

    @writing
    def assign(self, other: Matrix) -> None:
        """Replace all entries by those of `other`."""
        self._replace(Matrix(other))

    # -- for states and engines ---------------------------------------------------------------------------------

    def _write(self, i: int, j: int, x: float) -> None:
        if self._journal is not None and self._journal.active:
            self._journal.record(self._put, i, j, self[i, j])
        self._put(i, j, x)

    def _put(self, i: int, j: int, x: float) -> None:
        _put_line(self._rows, i, j, x)
        if self._columns is not None:
            _put_line(self._columns, j, i, x)

    def _by_column(self) -> dict[int, Vector]:
        if self._columns is None:
            self._columns = {}
            for i in sorted(self._rows):
                for j, x in self._rows[i]._data.items():
                    _put_line(self._columns, j, i, x)
        return self._columns

    def _replace(self, new: Matrix) -> None:
        refuse_frozen(self)
        if self._journal is not None and self._journal.active:
            self._journal.record(self._reset, self._rows, self._columns)
        self._reset(new._rows, None)

    def _reset(self, rows: dict[int, Vector], columns: dict[int, Vector] | None) -> None:
        self._rows, self._columns = rows, columns

    def _map(self, change: Callable[[Vector], Vector]) -> Matrix:
        new = Matrix()
        # A product may underflow to zero and leave a row without entries.
        new._rows = {i: row for i, old in self._rows.items() if (row := change(old))._data}
        return new

    def _combine(self, other: Matrix, change: Callable[[Vector, Vector], Vector]) -> Matrix:
        new, nothing = Matrix(), Vector()
        for i in self._rows.keys() | other._rows.keys():
            row = change(self._rows.get(i, nothing), other._rows.get(i, nothing))
            if row._data:
                new._rows[i] = row
        return new

    def _freeze(self) -> Matrix:
        self._frozen = True
        return self

    def _copy(self) -> Matrix:
        return self.copy()

    def _schema(self, key: types.Type | None, value: types.Type | None) -> None:
        """A matrix has but one schema."""

    def _cells(self) -> Iterable[tuple[Index, float]]:
        return self.items()

    def __deepcopy__(self, memo: object) -> Matrix:
        return self.copy()

    def __copy__(self) -> Matrix:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return Matrix, (dict(self.items()),)


def _index(index: Any) -> Index:
    if index.__class__ is not tuple or len(index) != 2:
        raise TypeError(f"expected two indices as in m[i, j], got {show(index)}")
    i, j = index
    return as_int(i), as_int(j)


def _pairs(entries: Any) -> Iterable[tuple[Index, float]]:
    if isinstance(entries, Matrix):
        return entries.items()
    return entries.items() if isinstance(entries, Mapping) else entries


def _snapshot(line: Vector | None) -> Vector:
    return (Vector() if line is None else line.copy())._freeze()


def _put_line(lines: dict[int, Vector], i: int, j: int, x: float) -> None:
    line = lines.get(i)
    if line is None:
        if x == 0.0:
            return
        line = lines[i] = Vector()
    line._put(j, x)
    if not line._data:
        del lines[i]
