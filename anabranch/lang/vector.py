"""`Vector`: sparse, float64, indexed by int64.

Laws: a missing entry reads 0.0 and storing 0.0 removes it, so no stored entry is zero; everything that walks a
vector does so by ascending index; `0 + v == v`; sums are left to right, starting at 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal

from anabranch.lang import types
from anabranch.lang.access import reading, refuse_frozen, writing
from anabranch.lang.journal import Journal
from anabranch.lang.scalars import as_float, as_int


def ranked(items: list[tuple[Any, Any]], n: int) -> list[tuple[Any, Any]]:
    """The n items of greatest value, ties in the given order, NaN last; `items` ascend by key."""
    # (x == x) is False for NaN only, which has no place in an order.
    return sorted(items, key=lambda item: (item[1] == item[1], item[1]), reverse=True)[: max(n, 0)]


class Vector:
    """A sparse vector of floats, indexed by integers; a plain value, and a state type.

    A missing entry reads 0.0, and storing 0.0 removes one. `v + w`, `v - w`, `v * 2`, `v / 2`, `-v` and `sum([v, w])`
    give new vectors.

    >>> v = Vector({3: 2.0, 1: 0.5})
    >>> v[1], v[2], v.items()
    (0.5, 0.0, [(1, 0.5), (3, 2.0)])
    >>> (v + v).dot(v), sum([v, v]) == v * 2
    (8.5, True)
    """

    __slots__ = ("_data", "_frozen", "_journal", "_ordered")
    __anabranch_state__: ClassVar[bool] = True
    __anabranch_value__: ClassVar[types.Type] = types.VECTOR
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, entries: Vector | Mapping[int, float] | Iterable[tuple[int, float]] = ()) -> None:
        self._data: dict[int, float] = {}
        self._ordered = True
        self._frozen = False
        self._journal: Journal | None = None
        for i, x in _pairs(entries):
            self._put(as_int(i), as_float(x))

    # -- reading ------------------------------------------------------------------------------------------------

    @reading
    def __getitem__(self, i: int) -> float:
        return self._data.get(i if type(i) is int else as_int(i), 0.0)

    @reading
    def get(self, i: int, default: float = 0.0) -> float:
        """The entry at `i`, or `default` if none is stored there."""
        found = self._data.get(as_int(i))
        return as_float(default) if found is None else found

    @reading
    def __contains__(self, i: object) -> bool:
        return as_int(i) in self._data

    @reading
    def __len__(self) -> int:
        """The number of stored entries."""
        return len(self._data)

    @reading
    def __iter__(self) -> Iterator[int]:
        return iter(self.keys())

    @reading
    def items(self) -> list[tuple[int, float]]:
        """The stored entries as pairs of index and number, by ascending index."""
        return list(self._sorted().items())

    @reading
    def keys(self) -> list[int]:
        """The indices of the stored entries, ascending."""
        return list(self._sorted())

    @reading
    def values(self) -> list[float]:
        """The stored numbers, by ascending index."""
        return list(self._sorted().values())

    @reading
    def top(self, n: int) -> list[tuple[int, float]]:
        """The n greatest entries, ties by the smaller index."""
        return ranked(self.items(), n)

    @reading
    def dot(self, other: Vector) -> float:
        """The sum of the products of equal indices, added by ascending index."""
        theirs = other._data
        total = 0.0
        for i, x in self._sorted().items():
            if i in theirs:
                total += x * theirs[i]
        return total

    @reading
    def sum(self) -> float:
        """The sum of all entries, added by ascending index."""
        total = 0.0
        for x in self._sorted().values():
            total += x
        return total

    @reading
    def norm(self) -> float:
        """The square root of the sum of squares."""
        total = 0.0
        for x in self._sorted().values():
            total += x * x
        return math.sqrt(total)

    @reading
    def copy(self) -> Vector:
        """A vector of the same entries that may be changed."""
        return _fresh(dict(self._data), self._ordered)

    @reading
    def __eq__(self, other: object) -> bool:
        return self._data == other._data if isinstance(other, Vector) else NotImplemented

    @reading
    def __add__(self, other: Vector | Literal[0]) -> Vector:
        if not isinstance(other, Vector):
            return self.copy() if _is_zero(other) else NotImplemented
        data = dict(self._data)
        for i, x in other._data.items():
            data[i] = data.get(i, 0.0) + x
        return _fresh(data, False)

    @reading
    def __radd__(self, other: Literal[0]) -> Vector:
        return self.copy() if _is_zero(other) else NotImplemented

    @reading
    def __sub__(self, other: Vector) -> Vector:
        if not isinstance(other, Vector):
            return NotImplemented
        data = dict(self._data)
        for i, x in other._data.items():
            data[i] = data.get(i, 0.0) - x
        return _fresh(data, False)

    @reading
    def __neg__(self) -> Vector:
        return _fresh({i: -x for i, x in self._data.items()}, self._ordered)

    @reading
    def __mul__(self, factor: float) -> Vector:
        if isinstance(factor, Vector):
            return NotImplemented
        by = as_float(factor)
        return _fresh({i: x * by for i, x in self._data.items()}, self._ordered)

    @reading
    def __rmul__(self, factor: float) -> Vector:
        return self * factor

    @reading
    def __truediv__(self, divisor: float) -> Vector:
        if isinstance(divisor, Vector):
            return NotImplemented
        by = as_float(divisor)
        if by == 0.0:
            raise ZeroDivisionError("division of a Vector by zero")
        return _fresh({i: x / by for i, x in self._data.items()}, self._ordered)

    def __repr__(self) -> str:
        return f"Vector({dict(self._sorted())})"

    # -- writing ------------------------------------------------------------------------------------------------

    @writing
    def __setitem__(self, i: int, x: float) -> None:
        refuse_frozen(self)
        i, x = as_int(i), as_float(x)
        if self._journal is not None and self._journal.active:
            self._journal.record(self._put, i, self._data.get(i, 0.0))
        self._put(i, x)

    @writing
    def clear(self) -> None:
        """Remove all entries."""
        self._replace({}, True)

    @writing
    def assign(self, other: Vector | Mapping[int, float]) -> None:
        """Replace all entries by those of `other`."""
        new = Vector(other)
        self._replace(new._data, new._ordered)

    # -- for states and engines ---------------------------------------------------------------------------------

    def _put(self, i: int, x: float) -> None:
        if x == 0.0:
            self._data.pop(i, None)
            return
        if self._ordered and i not in self._data and self._data and i < next(reversed(self._data)):
            self._ordered = False
        self._data[i] = x

    def _replace(self, data: dict[int, float], ordered: bool) -> None:
        refuse_frozen(self)
        if self._journal is not None and self._journal.active:
            self._journal.record(self._reset, self._data, self._ordered)
        self._reset(data, ordered)

    def _reset(self, data: dict[int, float], ordered: bool) -> None:
        self._data, self._ordered = data, ordered

    def _sorted(self) -> dict[int, float]:
        # Sorted once, when first walked after a write out of order: dicts keep insertion order.
        if not self._ordered:
            self._data = {i: self._data[i] for i in sorted(self._data)}
            self._ordered = True
        return self._data

    def _as_frozen(self) -> Vector:
        return self if self._frozen else self.copy()._freeze()

    def _freeze(self) -> Vector:
        self._frozen = True
        return self

    def _copy(self) -> Vector:
        return self.copy()

    def _schema(self, key: types.Type | None, value: types.Type | None) -> None:
        """A vector has but one schema."""

    def _cells(self) -> Iterable[tuple[int, float]]:
        return self._sorted().items()

    def __deepcopy__(self, memo: object) -> Vector:
        return self.copy()

    def __copy__(self) -> Vector:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return Vector, (dict(self._data),)


def _pairs(entries: Any) -> Iterable[tuple[int, float]]:
    if isinstance(entries, Vector):
        return entries._data.items()
    return entries.items() if isinstance(entries, Mapping) else entries


def _fresh(data: dict[int, float], ordered: bool) -> Vector:
    """A new vector around `data`, which it owns from here on; zeros are dropped."""
    vector = Vector()
    vector._data = {i: x for i, x in data.items() if x != 0.0} if 0.0 in data.values() else data
    vector._ordered = ordered
    return vector


def _is_zero(x: object) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and x == 0
