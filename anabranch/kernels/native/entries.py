"""The entries of a store as a mapping of Python values, and what happens when its memory is full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
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
    find,
    put,
    remove,
)
from anabranch.kernels.native.layout import kinds, texts
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.stores import Arena, Store, zeros
from anabranch.kernels.native.words import Leave
from anabranch.lang.keys import hash_key
from anabranch.lang.types import BOOL, BYTES, INT, NONE, STR, Dense, List, Optional, Record, Tuple, Type
from anabranch.lang.values import coercer

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
        case List() | Dense():
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
