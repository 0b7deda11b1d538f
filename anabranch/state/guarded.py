"""States that hold what was fetched of them, and raise `NotHere` where code touches more.

A guarded part of a built-in type is of a class derived from the plain one. Its methods by entry and by line ask for
that and run on the plain state of what is here; all others are the plain type's own and reach for its storage, which
asks for all. So does a method that this file does not know. For own types see `hollow`.

Laws: what a method gives, raises and writes is what the plain type's does; what is no key is not asked for.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.access import MARK
from anabranch.lang.dense import inside
from anabranch.lang.matrix import _index
from anabranch.lang.scalars import as_int
from anabranch.lang.types import Tuple
from anabranch.state.fetched import Fetched


def _by(unit: str, method: Any, axis: str = "row") -> Any:
    """The method, which needs the entry or the line that its first argument names."""
    first = list(inspect.signature(method).parameters)[1]
    writes = getattr(method, MARK) == "writes"

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        fetched: Fetched = self._fetched
        try:
            key = self._name(unit, args[0] if args else kwargs[first])
        except Exception:
            return method(fetched.kept, *args, **kwargs)  # says what is wrong with it
        fetched.need(unit, key, axis)
        if writes:
            fetched.touch(unit, key)
        return method(fetched.kept, *args, **kwargs)

    return guarded


def _whole(method: Any) -> Any:
    """The method, which writes all."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._fetched.need("all")
        self._fetched.touch("all")
        return method(self._fetched.kept, *args, **kwargs)

    return guarded


def _fixed(method: Any) -> Any:
    """The method, which tells the shape: that is known from the start."""

    @functools.wraps(method)
    def guarded(self: Any) -> Any:
        return method(self._fetched.kept)

    return guarded


def _storage(name: str) -> Any:
    """An attribute of the plain state, for those who look at all of it."""

    def read(self: Any) -> Any:
        self._fetched.need("all")
        return getattr(self._fetched.kept, name)

    return property(read)


def _of_kept(name: str) -> Any:
    return property(
        lambda self: getattr(self._fetched.kept, name), lambda self, x: setattr(self._fetched.kept, name, x)
    )


class GuardedTable(Table[Any, Any]):
    def __init__(self, fetched: Fetched) -> None:
        self._fetched = fetched
        kept = fetched.kept
        self._default, self._key, self._value, self._first = kept._default, kept._key, kept._value, kept._first

    def _name(self, unit: str, key: Any) -> Any:
        return self._key(key) if unit == "entry" else self._first(key)

    def row(self, first: Any) -> dict[Any, Any]:
        key = self._fetched.state.key
        if isinstance(key, Tuple) and len(key.items) > 1:
            return _ROW_OF_TABLE(self, first)  # type: ignore[no-any-return]
        self._fetched.need("all")  # one key of them will be in what the plain method says
        return Table.row(self._fetched.kept, first)

    __getitem__ = _by("entry", Table.__getitem__)
    get = _by("entry", Table.get)
    __contains__ = _by("entry", Table.__contains__)
    __setitem__ = _by("entry", Table.__setitem__)
    __delitem__ = _by("entry", Table.__delitem__)
    pop = _by("entry", Table.pop)
    setdefault = _by("entry", Table.setdefault)
    _replace = _whole(Table._replace)
    _data = _storage("_data")
    _frozen, _journal = _of_kept("_frozen"), _of_kept("_journal")


_ROW_OF_TABLE = _by("line", Table.row)


class GuardedVector(Vector):
    def __init__(self, fetched: Fetched) -> None:
        self._fetched = fetched

    def _name(self, unit: str, key: Any) -> int:
        return as_int(key)

    __getitem__ = _by("entry", Vector.__getitem__)
    get = _by("entry", Vector.get)
    __contains__ = _by("entry", Vector.__contains__)
    __setitem__ = _by("entry", Vector.__setitem__)
    _replace = _whole(Vector._replace)
    _data, _ordered = _storage("_data"), _storage("_ordered")
    _frozen, _journal = _of_kept("_frozen"), _of_kept("_journal")

    def _sorted(self) -> dict[int, float]:
        self._fetched.need("all")
        return self._fetched.kept._sorted()  # type: ignore[no-any-return]


class GuardedMatrix(Matrix):
    def __init__(self, fetched: Fetched) -> None:
        self._fetched = fetched

    def _name(self, unit: str, key: Any) -> Any:
        return _index(key) if unit == "entry" else as_int(key)

    __getitem__ = _by("entry", Matrix.__getitem__)
    __contains__ = _by("entry", Matrix.__contains__)
    __setitem__ = _by("entry", Matrix.__setitem__)
    row = _by("line", Matrix.row)
    column = _by("line", Matrix.column, "column")
    set_row = _by("line", Matrix.set_row)
    _replace = _whole(Matrix._replace)
    _rows = _storage("_rows")
    _frozen, _journal = _of_kept("_frozen"), _of_kept("_journal")

    def _by_column(self) -> dict[int, Vector]:
        self._fetched.need("all")
        return self._fetched.kept._by_column()  # type: ignore[no-any-return]


class GuardedDenseVector(DenseVector):
    def __init__(self, fetched: Fetched) -> None:
        self._fetched = fetched

    def _name(self, unit: str, key: Any) -> int:
        return inside(key, len(self))

    __getitem__ = _by("entry", DenseVector.__getitem__)
    __setitem__ = _by("entry", DenseVector.__setitem__)
    assign = _whole(DenseVector.assign)
    __len__ = _fixed(DenseVector.__len__)
    _data = _storage("_data")
    _frozen, _journal = _of_kept("_frozen"), _of_kept("_journal")


class GuardedDenseMatrix(DenseMatrix):
    def __init__(self, fetched: Fetched) -> None:
        self._fetched = fetched

    def _name(self, unit: str, key: Any) -> Any:
        return self._index(key) if unit == "entry" else inside(key, len(self))

    __getitem__ = _by("entry", DenseMatrix.__getitem__)
    __setitem__ = _by("entry", DenseMatrix.__setitem__)
    row = _by("line", DenseMatrix.row)
    set_row = _by("line", DenseMatrix.set_row)
    assign = _whole(DenseMatrix.assign)
    shape = property(_fixed(DenseMatrix.shape.fget))  # type: ignore[attr-defined]
    __len__ = _fixed(DenseMatrix.__len__)
    rows = _fixed(DenseMatrix.rows)
    _data = _storage("_data")
    _frozen, _journal = _of_kept("_frozen"), _of_kept("_journal")


class GuardedValue(Value[Any]):
    def __init__(self, fetched: Fetched) -> None:
        self._fetched = fetched

    _store = _whole(Value._store)
    _data, _coerce = _storage("_data"), _of_kept("_coerce")
    _frozen, _journal = _of_kept("_frozen"), _of_kept("_journal")


_GUARDED: dict[type, Any] = {
    Table: GuardedTable,
    Vector: GuardedVector,
    Matrix: GuardedMatrix,
    DenseVector: GuardedDenseVector,
    DenseMatrix: GuardedDenseMatrix,
    Value: GuardedValue,
}
for _plain, _class in _GUARDED.items():
    _class.__name__ = _plain.__name__  # messages name the type of what they got


def guard(fetched: Fetched) -> Any:
    """The guarded part of what is fetched."""
    return _GUARDED[type(fetched.kept)](fetched)
