"""`DenseVector`: fixed length, float64; and the arithmetic it shares with `DenseMatrix`.

Laws: an index outside the shape, negative ones too, is an `IndexError`; `assign` keeps the shape; `dot`, `sum` and
`norm` are left-to-right sums starting at 0.0, equal to the plain loop bit by bit; dividing by zero raises.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from anabranch.lang import types
from anabranch.lang.access import reading, refuse_frozen, writing
from anabranch.lang.journal import Journal
from anabranch.lang.scalars import as_float, as_int

Array = NDArray[np.float64]


class DenseVector:
    """A vector of floats of fixed length; a plain value, and a state type.

    An index outside of it, negative ones too, is an `IndexError`. Arithmetic with vectors of the same length and with
    numbers gives new vectors.

    >>> v = DenseVector([1.0, 2.0])
    >>> v[1], v.dot(v), (v * 2 + v).tolist()
    (2.0, 5.0, [3.0, 6.0])
    """

    __slots__ = ("_data", "_frozen", "_journal")
    __anabranch_state__: ClassVar[bool] = True
    __anabranch_value__: ClassVar[types.Type] = types.DENSE_VECTOR
    __hash__ = None  # type: ignore[assignment]
    # Without this numpy would take `array * v` apart entry by entry.
    __array_ufunc__ = None

    def __init__(self, entries: DenseVector | Array | Iterable[float]) -> None:
        self._data = as_array(entries, 1)
        self._frozen = False
        self._journal: Journal | None = None

    @classmethod
    def zeros(cls, size: int) -> DenseVector:
        """A vector of so many zeros."""
        return wrap(np.zeros(as_size(size)))

    # -- reading ------------------------------------------------------------------------------------------------

    @reading
    def __getitem__(self, i: int) -> float:
        return float(self._data[inside(i, len(self._data))])

    @reading
    def __len__(self) -> int:
        return len(self._data)

    @reading
    def __iter__(self) -> Iterator[float]:
        return iter(self.tolist())

    @reading
    def tolist(self) -> list[float]:
        """The entries as a list."""
        return cast(list[float], self._data.tolist())

    @reading
    def to_numpy(self) -> Array:
        """The entries as a numpy array of its own."""
        return self._data.copy()

    @reading
    def dot(self, other: DenseVector) -> float:
        """The sum of the products, added from left to right as a loop would."""
        return ordered_sum(quiet(np.multiply, self._data, self._same(other)))

    @reading
    def sum(self) -> float:
        """The sum, added from left to right as a loop would."""
        return ordered_sum(self._data)

    @reading
    def norm(self) -> float:
        """The square root of the sum of squares."""
        return math.sqrt(ordered_sum(quiet(np.multiply, self._data, self._data)))

    @reading
    def copy(self) -> DenseVector:
        """A vector of the same entries that may be changed."""
        return wrap(self._data.copy())

    @reading
    def __eq__(self, other: object) -> bool:
        return np.array_equal(self._data, other._data) if isinstance(other, DenseVector) else NotImplemented

    @reading
    def __add__(self, other: DenseVector | float) -> DenseVector:
        return wrap(quiet(np.add, self._data, self._same(other)))

    @reading
    def __radd__(self, other: float) -> DenseVector:
        return self + other

    @reading
    def __sub__(self, other: DenseVector | float) -> DenseVector:
        return wrap(quiet(np.subtract, self._data, self._same(other)))

    @reading
    def __rsub__(self, other: float) -> DenseVector:
        return wrap(quiet(np.subtract, self._same(other), self._data))

    @reading
    def __mul__(self, other: DenseVector | float) -> DenseVector:
        return wrap(quiet(np.multiply, self._data, self._same(other)))

    @reading
    def __rmul__(self, other: float) -> DenseVector:
        return self * other

    @reading
    def __truediv__(self, other: DenseVector | float) -> DenseVector:
        return wrap(divide(self._data, self._same(other)))

    @reading
    def __neg__(self) -> DenseVector:
        return wrap(-self._data)

    def __repr__(self) -> str:
        return f"DenseVector({self.tolist()})"

    # -- writing ------------------------------------------------------------------------------------------------

    @writing
    def __setitem__(self, i: int, x: float) -> None:
        refuse_frozen(self)
        i, x = inside(i, len(self._data)), as_float(x)
        if self._journal is not None and self._journal.active:
            self._journal.record(self._data.__setitem__, i, self._data[i])
        self._data[i] = x

    @writing
    def assign(self, other: DenseVector | Iterable[float]) -> None:
        """Replace all entries; the length stays."""
        assign_array(self, as_array(other, 1))

    # -- for states and engines ---------------------------------------------------------------------------------

    def _same(self, other: DenseVector | float) -> Any:
        """The other operand for numpy: an array of this shape or a float."""
        if not isinstance(other, DenseVector):
            return as_float(other)
        if len(other) != len(self):
            raise ValueError(f"vectors of lengths {len(self)} and {len(other)} do not go together")
        return other._data

    def _as_frozen(self) -> DenseVector:
        return self if self._frozen else self.copy()._freeze()

    def _freeze(self) -> DenseVector:
        self._frozen = True
        return self

    def _copy(self) -> DenseVector:
        return self.copy()

    def _schema(self, key: types.Type | None, value: types.Type | None) -> None:
        """A dense vector has but one schema."""

    def _cells(self) -> Iterable[tuple[int, float]]:
        return list(enumerate(self.tolist()))

    def __deepcopy__(self, memo: object) -> DenseVector:
        return self.copy()

    def __copy__(self) -> DenseVector:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseVector, (self.tolist(),)


def as_array(entries: Any, dimensions: int) -> Array:
    """A new array of the entries, each checked."""
    if getattr(entries, "__anabranch_state__", False):
        entries = entries._data
    data: Array
    if isinstance(entries, np.ndarray):
        if entries.dtype.kind not in "iuf":
            raise TypeError(f"expected numbers, got an array of {entries.dtype}")
        data = entries.astype(np.float64, order="C")
        # Back and compared as they were: as floats, 2**53 + 1 equals 2**53.
        with np.errstate(all="ignore"):
            back = data.astype(entries.dtype)
        if not np.array_equal(back, entries, equal_nan=entries.dtype.kind == "f"):
            raise ValueError("expected numbers that are exact as float64, got others")
    elif dimensions == 1:
        data = np.array([as_float(x) for x in entries], dtype=np.float64)
    else:
        rows = [[as_float(x) for x in row] for row in entries]
        if len({len(row) for row in rows}) > 1:
            raise ValueError("expected rows of equal length")
        data = np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)
    if data.ndim != dimensions:
        raise ValueError(f"expected {dimensions} dimension{'s'[: dimensions - 1]}, got {data.ndim}")
    return data


def wrap(data: Array) -> DenseVector:
    vector = object.__new__(DenseVector)
    vector._data, vector._frozen, vector._journal = data, False, None
    return vector


def as_size(n: int) -> int:
    if as_int(n) < 0:
        raise ValueError(f"a size cannot be negative, got {n}")
    return int(n)


def inside(i: Any, size: int) -> int:
    index = as_int(i)
    if not 0 <= index < size:
        raise IndexError(f"index {index} is outside 0..{size - 1}")
    return index


def quiet(operation: Any, a: Any, b: Any) -> Array:
    # Python's floats overflow to inf in silence, and plain Python is the specification.
    with np.errstate(all="ignore"):
        return operation(a, b)  # type: ignore[no-any-return]


def divide(a: Array, b: Any) -> Array:
    if np.any(np.equal(b, 0.0)):
        raise ZeroDivisionError("division of a dense vector or matrix by zero")
    return quiet(np.divide, a, b)


def ordered_sum(data: Array) -> float:
    if not len(data):
        return 0.0
    # accumulate adds strictly left to right (np.sum pairs); + 0.0 because a sum from 0.0 is never -0.0.
    with np.errstate(all="ignore"):
        return float(np.add.accumulate(data)[-1] + 0.0)


def assign_array(state: Any, new: Array) -> None:
    refuse_frozen(state)
    if new.shape != state._data.shape:
        raise ValueError(f"the shape {state._data.shape} is fixed, got {new.shape}")
    if state._journal is not None and state._journal.active:
        state._journal.record(np.copyto, state._data, state._data.copy())
    np.copyto(state._data, new)
