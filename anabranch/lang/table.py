"""`Table[K, V]`: a mapping with typed, frozen entries.

Laws: a missing key raises `KeyError(k)`, or reads the default where the table has one, without inserting it; keys and
values are coerced when stored; what is read is frozen. Iteration promises no order; `row` ascends by key, because
what user code sees must not depend on how the table was filled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar, overload

from anabranch.lang import types
from anabranch.lang.access import reading, refuse_frozen, writing
from anabranch.lang.frozen import FrozenDict
from anabranch.lang.journal import Journal
from anabranch.lang.scalars import short
from anabranch.lang.similar import asks_back
from anabranch.lang.values import as_key, coercer, freeze
from anabranch.lang.vector import ranked

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


class Missing:
    """The type of the sentinel for "nothing here"; None is a value."""

    def __repr__(self) -> str:
        return "<missing>"

    def __deepcopy__(self, memo: object) -> Missing:
        return self


MISSING: Final = Missing()


class Table(Generic[K, V]):
    """A table of entries by key: `Table[K, V]` in the annotation of a state.

    A missing key raises `KeyError`, or reads `default` where there is one, without storing it. Keys and values are
    coerced to the annotated types when they are stored; what is read is frozen. `t[key]`, `t[key] = value`,
    `del t[key]`, `key in t` and `len(t)` are as on a dict; iteration promises no order.

    >>> t = Table({"a": 1}, default=0)
    >>> t["a"], t["b"], "b" in t, t.get("b"), t.get("b", 7)
    (1, 0, False, 0, 7)
    >>> Table({(1, "y"): 2.0, (1, "x"): 3.0, (2, "x"): 4.0}).row(1)
    {'x': 3.0, 'y': 2.0}
    """

    __anabranch_state__: ClassVar[bool] = True
    __hash__ = None  # type: ignore[assignment]

    @asks_back
    @asks_back
    def __init__(self, entries: Table[K, V] | Mapping[K, V] | None = None, *, default: V | Missing = MISSING) -> None:
        self._data: dict[K, V] = {}
        # first component -> the full keys that have it; built by the first `row`.
        self._index: dict[Any, dict[K, None]] | None = None
        self._frozen = False
        self._journal: Journal | None = None
        self._key: Callable[[Any], K] = as_key
        self._value: Callable[[Any], V] = freeze
        self._first: Callable[[Any], Any] = as_key
        self._default: V | Missing = default if isinstance(default, Missing) else self._value(default)
        for k, x in () if entries is None else entries.items():
            self._data[self._key(k)] = self._value(x)

    # -- reading ------------------------------------------------------------------------------------------------

    @reading
    def __getitem__(self, key: K) -> V:
        key = self._key(key)
        try:
            return self._data[key]
        except KeyError:
            if isinstance(self._default, Missing):
                raise KeyError(key) from None
            return self._default

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: V) -> V: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    @reading
    def get(self, key: K, default: Any = MISSING) -> Any:
        """The value of `key`; if it is missing the second argument, coerced, else the table's default or None."""
        found = self._data.get(self._key(key), MISSING)
        if not isinstance(found, Missing):
            return found
        if not isinstance(default, Missing):
            return None if default is None else self._value(default)
        return None if isinstance(self._default, Missing) else self._default

    @reading
    def __contains__(self, key: object) -> bool:
        return self._key(key) in self._data

    @reading
    def __len__(self) -> int:
        return len(self._data)

    @reading
    def __iter__(self) -> Iterator[K]:
        return iter(list(self._data))

    @reading
    def items(self) -> list[tuple[K, V]]:
        """All entries as pairs of key and value, in no order."""
        return list(self._data.items())

    @reading
    def keys(self) -> list[K]:
        """All keys, in no order."""
        return list(self._data)

    @reading
    def values(self) -> list[V]:
        """All values, in no order."""
        return list(self._data.values())

    @reading
    def top(self, n: int) -> list[tuple[K, V]]:
        """The n entries of greatest value, ties by the smaller key."""
        return ranked(sorted(self._data.items(), key=lambda item: item[0]), n)

    @reading
    def row(self, first: Any) -> dict[Any, V]:
        """All entries whose key starts with `first`, by the rest of the key."""
        if self._index is None:
            self._index = {}
            try:
                for key in self._data:
                    self._enter(key)
            except TypeError:
                self._index = None
                raise
        keys = sorted(self._index.get(self._first(first), ()))  # type: ignore[type-var]
        return FrozenDict({(k[1] if len(k) == 2 else k[1:]): self._data[k] for k in keys})  # type: ignore[index,arg-type]

    @reading
    def __eq__(self, other: object) -> bool:
        """Equal if they hold the same entries."""
        return self._data == other._data if isinstance(other, Table) else NotImplemented

    def __repr__(self) -> str:
        default = "" if isinstance(self._default, Missing) else f", default={self._default!r}"
        return f"Table({self._data}{default})"

    # -- writing ------------------------------------------------------------------------------------------------

    @writing
    def __setitem__(self, key: K, value: V) -> None:
        refuse_frozen(self)
        self._write(self._key(key), self._value(value))

    @writing
    def __delitem__(self, key: K) -> None:
        refuse_frozen(self)
        key = self._key(key)
        if key not in self._data:
            raise KeyError(key)
        self._write(key, MISSING)

    @overload
    def pop(self, key: K) -> V: ...
    @overload
    def pop(self, key: K, default: V) -> V: ...
    @overload
    def pop(self, key: K, default: D) -> V | D: ...
    @writing
    def pop(self, key: K, default: Any = MISSING) -> Any:
        """Remove an entry; the table's default is no entry, so without a second argument a missing key raises."""
        refuse_frozen(self)
        key = self._key(key)
        if key in self._data:
            found = self._data[key]
            self._write(key, MISSING)
            return found
        if isinstance(default, Missing):
            raise KeyError(key)
        return None if default is None else self._value(default)

    @writing
    def setdefault(self, key: K, value: V) -> V:
        """The value of `key`; if it is missing, `value` is stored first."""
        refuse_frozen(self)
        key = self._key(key)
        if key not in self._data:
            self._write(key, self._value(value))
        return self._data[key]

    @writing
    def clear(self) -> None:
        """Remove all entries."""
        self._replace({})

    @writing
    def assign(self, entries: Table[K, V] | Mapping[K, V]) -> None:
        """Replace all entries."""
        self._replace({self._key(k): self._value(x) for k, x in entries.items()})

    # -- for states and engines ---------------------------------------------------------------------------------

    def _write(self, key: K, value: V | Missing) -> None:
        if self._journal is not None and self._journal.active:
            self._journal.record(self._put, key, self._data.get(key, MISSING))
        self._put(key, value)

    def _put(self, key: K, value: V | Missing) -> None:
        if isinstance(value, Missing):
            if self._data.pop(key, MISSING) is not MISSING and self._index is not None:
                self._leave(key)
            return
        if self._index is not None and key not in self._data:
            self._enter(key)
        self._data[key] = value

    def _enter(self, key: Any) -> None:
        assert self._index is not None
        if not isinstance(key, tuple) or len(key) < 2:
            raise TypeError(f"row(a) needs keys that are tuples of two or more, got the key {short(key)}")
        self._index.setdefault(key[0], {})[key] = None  # type: ignore[index]

    def _leave(self, key: Any) -> None:
        assert self._index is not None
        keys = self._index[key[0]]
        del keys[key]
        if not keys:
            del self._index[key[0]]

    def _replace(self, data: dict[K, V]) -> None:
        refuse_frozen(self)
        if self._journal is not None and self._journal.active:
            self._journal.record(self._reset, self._data, self._index)
        self._reset(data, None)

    def _reset(self, data: dict[K, V], index: dict[Any, dict[K, None]] | None) -> None:
        self._data, self._index = data, index

    def _schema(self, key: types.Type | None, value: types.Type | None) -> None:
        """Coerce what is and will be stored to these types."""
        if key is not None:
            self._key = coercer(key)
            if isinstance(key, types.Tuple) and len(key.items) > 1:
                self._first = coercer(key.items[0])
        if value is not None:
            self._value = coercer(value, True)
        if not isinstance(self._default, Missing):
            self._default = self._value(self._default)
        self._data = {self._key(k): self._value(x) for k, x in self._data.items()}
        self._index = None

    def _freeze(self) -> Table[K, V]:
        self._frozen = True
        return self

    def _copy(self) -> Table[K, V]:
        new: Table[K, V] = Table()
        new._data, new._default = dict(self._data), self._default
        new._key, new._value, new._first = self._key, self._value, self._first
        return new

    def _cells(self) -> Iterable[tuple[K, V]]:
        return self._data.items()

    def __deepcopy__(self, memo: object) -> Table[K, V]:
        return self._copy()

    def __copy__(self) -> Table[K, V]:
        return self._copy()
