"""How many bytes the plain states of an instance take, from what its journal says was written.

To look through a state for every request would cost more than the request. So a state is estimated once, and then each
write adds what it stored and takes away what was there before.

Laws: to go `back` to a mark of the journal gives the bytes at that mark; what was written is counted when the journal
is cleared, at the latest.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from anabranch.lang import Matrix, Table, Vector
from anabranch.lang.journal import Journal
from anabranch.lang.marks import is_builtin
from anabranch.lang.table import MISSING
from anabranch.state.changes import ALL, touched
from anabranch.state.sizes import size_of, size_of_value

STEP = 200  # bytes of an undo step
ENTRY = sys.getsizeof(1 << 20) + sys.getsizeof(1.0)  # of a vector, without its place in the dict
CELL, LINE = 90, sys.getsizeof({0: 0.0})  # of a matrix; a cell is in a row and in a column


class Account:
    """The plain states of one instance. `undo` is what its journal keeps."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self._parts = dict(parts)
        self._names = {id(part): name for name, part in parts.items()}
        self.pressed = False
        self._holes: set[str] = set()  # states whose dicts have lost entries
        self.clear()
        self.recount()

    def recount(self) -> None:
        """Estimate all of them anew: something was written of which no journal knows."""
        self._content = {name: _content(part) for name, part in self._parts.items()}

    def clear(self) -> None:
        """The journal is empty."""
        self._seen = self._kept = self.undo = 0
        self._own: set[str] = set()  # states of own types that were written: they tell the journal once
        self._before: list[tuple[int, dict[str, int]]] = []  # what was seen and known before each count

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes by state."""
        return {name: self._content[name] + _container(part) for name, part in self._parts.items()}

    @property
    def total(self) -> int:
        return sum([self._content[name] + _container(part) for name, part in self._parts.items()])

    def leave(self, name: str) -> None:
        """The state is no longer one of these."""
        if name in self._parts:
            del self._names[id(self._parts.pop(name))], self._content[name]
            self._holes.discard(name)

    def count(self, journal: Journal) -> bool:
        """Count what was written since the last time; whether the states take more than they did."""
        if len(journal) == self._seen and not self._own:
            return False
        before, content = self._content, dict(self._content)
        self._before.append((self._seen, before))
        self._content = content
        whole: set[str] = set()
        entries: dict[tuple[str, Any], Any] = {}
        for undo, args in journal.steps(self._seen):
            part, key = touched(undo, args)
            name = self._names.get(id(part))
            if name is None:
                continue
            if key is ALL:
                whole.add(name)
            else:
                entries.setdefault((name, key), args[-1])  # what was there before all of these steps
        grown = bool(whole or self._own) and self._look(whole)
        for (name, key), was in entries.items():
            part = self._parts[name]
            change = 0 if name in whole else _change(part, key, was)
            if change:
                content[name] += change
                grown |= change > 0
                if change < 0 and not isinstance(part, Matrix):
                    self._holes.add(name)
        self._seen = len(journal)
        self.undo = STEP * self._seen + self._kept
        return grown

    def _look(self, whole: set[str]) -> bool:
        """Estimate anew what was written as a whole, to which own types are added."""
        grown = False
        for name in whole:
            self._kept += self._content[name]
        self._own |= {name for name in whole if not is_builtin(self._parts[name])}
        whole |= self._own
        for name in whole:
            before, self._content[name] = self._content[name], _content(self._parts[name])
            grown |= self._content[name] > before
        return grown

    def back(self, mark: int) -> None:
        """The journal was rolled back to this mark."""
        while self._before and self._seen > mark:
            self._seen, self._content = self._before.pop()
        if mark == 0:
            self._kept = 0
            self._own.clear()
        self.undo = STEP * self._seen + self._kept

    def tidy(self) -> bool:
        """After a refusal: make dicts anew that are longer than what they hold; whether that makes room for others.

        A dict that has once grown stays so long, also when what made it grow was undone; and one that has lost entries
        grows for the next, since it does not use their places again.
        """
        if not self.pressed:
            return False
        self.pressed = False
        for name, part in self._parts.items():
            long = isinstance(part, Table | Vector) and _container(part) > 1.25 * _least(len(part._data))
            if long or name in self._holes:
                part._data = {key: value for key, value in part._data.items()}  # noqa: C416
        holes, self._holes = self._holes, set()
        return bool(holes)


def _least(entries: int) -> int:
    """Bytes of a dict that has grown to so many entries.

    >>> all(_least(n) >= sys.getsizeof({i: None for i in range(n)}) for n in range(3000))
    True
    """
    slots = 8
    while 2 * slots // 3 < entries:
        slots *= 2
    index = 1 if slots <= 128 else 2 if slots <= 1 << 15 else 4 if slots <= 1 << 31 else 8
    return sys.getsizeof({}) + 64 + index * slots + 24 * (2 * slots // 3)


def _container(part: Any) -> int:
    """Bytes that are known without a look at the entries."""
    if isinstance(part, Matrix):
        rows, columns = part._rows, part._columns or {}
        return sys.getsizeof(rows) + sys.getsizeof(columns) + LINE * (len(rows) + len(columns))
    return sys.getsizeof(part._data) if isinstance(part, Table | Vector) else 0


def _content(part: Any) -> int:
    return size_of(part) - _container(part)


def _change(part: Any, key: Any, was: Any) -> int:
    """How much larger an entry is than it was."""
    if isinstance(part, Table):
        return _entry(key, part._data.get(key, MISSING)) - _entry(key, was)
    each = CELL if isinstance(part, Matrix) else ENTRY
    return each * (int(part[key] != 0.0) - int(was != 0.0))


def _entry(key: Any, value: Any) -> int:
    return 0 if value is MISSING else size_of_value(key) + size_of_value(value)
