"""`Value[T]`: one value that changes as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar

from anabranch.lang import types
from anabranch.lang.access import reading, refuse_frozen, writing
from anabranch.lang.journal import Journal
from anabranch.lang.values import coercer, freeze

T = TypeVar("T")


class Value(Generic[T]):
    """A state of one value, read and stored through `.value`.

    >>> v = Value([1])
    >>> v.value = v.value + [2]
    >>> v.value
    [1, 2]
    """

    __slots__ = ("_coerce", "_data", "_frozen", "_journal")
    __anabranch_state__: ClassVar[bool] = True
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: T) -> None:
        self._coerce: Callable[[Any], T] = freeze
        self._frozen = False
        self._journal: Journal | None = None
        self._data: T = self._coerce(value)

    @property
    @reading
    def value(self) -> T:
        """The value; what is read is frozen."""
        return self._data

    @value.setter
    @writing
    def value(self, value: T) -> None:
        self._store(value)

    @writing
    def assign(self, value: T) -> None:
        """Store a value, as `.value = ...` does."""
        self._store(value)

    @reading
    def __eq__(self, other: object) -> bool:
        return bool(self._data == other._data) if isinstance(other, Value) else NotImplemented

    def __repr__(self) -> str:
        return f"Value({self._data!r})"

    # -- for states and engines ---------------------------------------------------------------------------------

    def _store(self, value: T) -> None:
        refuse_frozen(self)
        new = self._coerce(value)
        if self._journal is not None and self._journal.active:
            self._journal.record(self._put, self._data)
        self._put(new)

    def _put(self, value: T) -> None:
        self._data = value

    def _schema(self, key: types.Type | None, value: types.Type | None) -> None:
        if value is not None:
            self._coerce = coercer(value, True)
            self._data = self._coerce(self._data)

    def _freeze(self) -> Value[T]:
        self._frozen = True
        return self

    def _copy(self) -> Value[T]:
        new = Value(self._data)
        new._coerce = self._coerce
        return new

    def _cells(self) -> Iterable[tuple[None, T]]:
        return [(None, self._data)]

    def __deepcopy__(self, memo: object) -> Value[T]:
        return self._copy()

    def __copy__(self) -> Value[T]:
        return self._copy()
