"""The undo journal of a request.

Law: after `m = journal.mark()`, any writes, and `journal.rollback(m)`, every bound state holds what it held at `m`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class Journal:
    """A stack of undo steps; state records one before each write while `active`.

    >>> journal, cell = Journal(), {"x": 1}
    >>> journal.active = True
    >>> mark = journal.mark()
    >>> journal.record(cell.__setitem__, "x", cell["x"]); cell["x"] = 2
    >>> journal.rollback(mark); cell
    {'x': 1}
    """

    __slots__ = ("_saved", "_undos", "active")

    def __init__(self) -> None:
        self._undos: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self._saved: set[int] = set()
        self.active = False

    def __len__(self) -> int:
        return len(self._undos)

    def steps(self, mark: int = 0) -> Iterable[tuple[Callable[..., object], tuple[Any, ...]]]:
        """What would be called to take all back since the mark, in the order of the writes."""
        return self._undos[mark:] if mark else self._undos

    def record(self, undo: Callable[..., object], *args: Any) -> None:
        """Remember that `undo(*args)` takes back the write that follows."""
        self._undos.append((undo, args))

    def save_once(self, owner: object) -> bool:
        """Must `owner` save itself whole before a write? True once per owner since the last mark."""
        if id(owner) in self._saved:
            return False
        self._saved.add(id(owner))
        return True

    def mark(self) -> int:
        # A whole-object save made before this mark would restore too much when rolling back to it.
        self._saved.clear()
        return len(self._undos)

    def rollback(self, mark: int = 0) -> None:
        """Undo, newest first, all that was recorded since `mark`."""
        was_active, self.active = self.active, False
        try:
            while len(self._undos) > mark:
                undo, args = self._undos.pop()
                undo(*args)
        finally:
            self._saved.clear()
            self.active = was_active

    def clear(self) -> None:
        """Forget all: the request has taken effect."""
        self._undos.clear()
        self._saved.clear()
