"""`DenseMatrix`: fixed shape, float64. Its laws are those of `DenseVector`, per row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, cast

import numpy as np

from anabranch.lang import types
from anabranch.lang.access import reading, refuse_frozen, writing
from anabranch.lang.dense import Array, DenseVector, as_array, as_size, assign_array, divide, inside, quiet, wrap
from anabranch.lang.journal import Journal
from anabranch.lang.scalars import as_float, show


class DenseMatrix:
    """A matrix of floats of fixed shape.

    >>> m = DenseMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> m[1, 0], m.row(0), m.dot(DenseVector([1.0, 1.0]))
    (3.0, DenseVector([1.0, 2.0]), DenseVector([3.0, 7.0]))
    """

    __slots__ = ("_data", "_frozen", "_journal")
    __anabranch_state__: ClassVar[bool] = True
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __init__(self, entries: DenseMatrix | Array | Sequence[Sequence[float]]) -> None:
        self._data = as_array(entries, 2)
        self._frozen = False
        self._journal: Journal | None = None

    @classmethod
    def zeros(cls, rows: int, columns: int) -> DenseMatrix:
        """A matrix of zeros."""
        return _wrap_matrix(np.zeros((as_size(rows), as_size(columns))))

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    @reading
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        rows, columns = self._data.shape
        return rows, columns

    @reading
    def __getitem__(self, index: tuple[int, int]) -> float:
        return float(self._data[self._index(index)])

    @reading
    def __len__(self) -> int:
        """The number of rows."""
        return len(self._data)

    @reading
    def rows(self) -> list[int]:
        """The indices of all rows."""
        return list(range(len(self._data)))

    @reading
    def row(self, i: int) -> DenseVector:
        """Row `i`, read-only."""
        return wrap(self._data[inside(i, len(self._data))].copy())._freeze()

    @reading
    def dot(self, vector: DenseVector) -> DenseVector:
        """The product with a vector; each sum is added from left to right as a loop would."""
        if len(vector) != self.shape[1]:
            shapes = f"{self.shape[1]} columns and a vector of length {len(vector)}"
            raise ValueError(f"a matrix of {shapes} do not go together")
        if not len(vector):
            return DenseVector.zeros(len(self))
        products = quiet(np.multiply, self._data, vector._data)
        with np.errstate(all="ignore"):
            return wrap(np.add.accumulate(products, axis=1)[:, -1] + 0.0)

    @reading
    def tolist(self) -> list[list[float]]:
        """The entries as a list of rows."""
        return cast(list[list[float]], self._data.tolist())

    @reading
    def to_numpy(self) -> Array:
        """The entries as a numpy array of its own."""
        return self._data.copy()

    @reading
    def copy(self) -> DenseMatrix:
        """A matrix of the same entries that may be changed."""
        return _wrap_matrix(self._data.copy())

    @reading
    def __eq__(self, other: object) -> bool:
        return np.array_equal(self._data, other._data) if isinstance(other, DenseMatrix) else NotImplemented

    @reading
    def __add__(self, other: DenseMatrix | Literal[0]) -> DenseMatrix:
        return _wrap_matrix(quiet(np.add, self._data, self._same(other)))

    @reading
    def __radd__(self, other: Literal[0]) -> DenseMatrix:
        return self + other

    @reading
    def __sub__(self, other: DenseMatrix) -> DenseMatrix:
        return _wrap_matrix(quiet(np.subtract, self._data, self._same(other)))

    @reading
    def __mul__(self, factor: float) -> DenseMatrix:
        return _wrap_matrix(quiet(np.multiply, self._data, as_float(factor)))

    @reading
    def __rmul__(self, factor: float) -> DenseMatrix:
        return self * factor

    @reading
    def __truediv__(self, divisor: float) -> DenseMatrix:
        return _wrap_matrix(divide(self._data, as_float(divisor)))

    @reading
    def __neg__(self) -> DenseMatrix:
        return _wrap_matrix(-self._data)

    def __repr__(self) -> str:
        return f"DenseMatrix({self.tolist()})"

    # -- writing ------------------------------------------------------------------------------------------------

    @writing
    def __setitem__(self, index: tuple[int, int], x: float) -> None:
        refuse_frozen(self)
        place, x = self._index(index), as_float(x)
        if self._journal is not None and self._journal.active:
            self._journal.record(self._data.__setitem__, place, self._data[place])
        self._data[place] = x

    @writing
    def set_row(self, i: int, vector: DenseVector) -> None:
        """Replace all entries of row i."""
        refuse_frozen(self)
        i, new = inside(i, len(self._data)), as_array(vector, 1)
        if len(new) != self.shape[1]:
            raise ValueError(f"a row of this matrix has {self.shape[1]} entries, got {len(new)}")
        if self._journal is not None and self._journal.active:
            self._journal.record(self._data.__setitem__, i, self._data[i].copy())
        self._data[i] = new

    @writing
    def assign(self, other: DenseMatrix | Sequence[Sequence[float]]) -> None:
        """Replace all entries; the shape stays."""
        assign_array(self, as_array(other, 2))

    # -- for states and engines ---------------------------------------------------------------------------------

    def _index(self, index: Any) -> tuple[int, int]:
        if index.__class__ is not tuple or len(index) != 2:
            raise TypeError(f"expected two indices as in m[i, j], got {show(index)}")
        return inside(index[0], self.shape[0]), inside(index[1], self.shape[1])

    def _same(self, other: DenseMatrix | float) -> Any:
        if not isinstance(other, DenseMatrix):
            if other == 0:
                return 0.0
            raise TypeError(f"expected DenseMatrix, got {show(other)}")
        if other.shape != self.shape:
            raise ValueError(f"matrices of shapes {self.shape} and {other.shape} do not go together")
        return other._data

    def _freeze(self) -> DenseMatrix:
        self._frozen = True
        return self

    def _copy(self) -> DenseMatrix:
        return self.copy()

    def _schema(self, key: types.Type | None, value: types.Type | None) -> None:
        """A dense matrix has but one schema."""

    def _cells(self) -> Iterable[tuple[tuple[int, int], float]]:
        return [((i, j), x) for i, row in enumerate(self.tolist()) for j, x in enumerate(row)]

    def __deepcopy__(self, memo: object) -> DenseMatrix:
        return self.copy()

    def __copy__(self) -> DenseMatrix:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseMatrix, (self.tolist(),)


def _wrap_matrix(data: Array) -> DenseMatrix:
    matrix = object.__new__(DenseMatrix)
    matrix._data, matrix._frozen, matrix._journal = data, False, None
    return matrix
