"""What of one part has been fetched: what is here, what of it was written, and what must be asked for.

Laws: all is more than a line, and a line is more than its entries; what is here stays until `clear`; to fill in a piece
changes nothing that was here before, since it may have been written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np

from anabranch.graph.nodes import State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value
from anabranch.lang.journal import Journal
from anabranch.lang.marks import bind
from anabranch.state.found import Effect, Found, Want, blank, cells, look_up


class NotHere(BaseException):
    """Code has touched what was not fetched. No `Exception`: user code must not take it for one of its own."""

    def __init__(self, want: Want) -> None:
        super().__init__(want)
        self.want = want


Miss = Callable[[Want], NoReturn]


class Here(Protocol):
    """Which pieces of a part are known."""

    def has(self, unit: str, key: Any, axis: str) -> bool: ...

    def fill(self, want: Want, found: Found) -> None:
        """Let a piece be here, but for what of it was here before."""


class Fetched:
    """A part of a built-in type as far as it is here.

    `kept` is a plain state of what is here. Who reads it asks with `need` before, and who writes says so with `touch`.
    """

    def __init__(self, state: State, instance: int, held: Any, journal: Journal, miss: Miss) -> None:
        self.state, self.instance, self.journal = state, instance, journal
        self._held, self._miss = blank(held), miss
        self.clear()

    def clear(self) -> None:
        """Forget all that was fetched and written."""
        self.kept = blank(self._held)
        bind(self.kept, self.journal)
        dense = isinstance(self.kept, DenseVector | DenseMatrix)
        self.here: Here = Dense(self.kept._data) if dense else Sparse(self.state, self.kept)
        self._touched: dict[tuple[str, Any], None] = {}

    def need(self, unit: str, key: Any = None, axis: str = "row") -> None:
        if not self.here.has(unit, key, axis):
            self._miss(Want(self.state.name, self.instance, unit, key, axis))

    def touch(self, unit: str, key: Any = None) -> None:
        self._touched[unit, key] = None

    def untouch(self) -> None:
        """All writes were taken back."""
        self._touched.clear()

    def fill(self, want: Want, found: Found) -> None:
        if not self.here.has(want.unit, want.key, want.axis):
            self.here.fill(want, found)

    def effects(self) -> list[Effect]:
        """The pieces that were written, as they are now."""
        touched = [("all", None)] if ("all", None) in self._touched else list(self._touched)
        wants = [Want(self.state.name, self.instance, unit, key) for unit, key in touched]
        return [(w.state, w.unit, w.key, look_up(self.state, self.kept, w)) for w in wants]


class Sparse:
    """What is known of a state whose entries come and go."""

    def __init__(self, state: State, kept: Any) -> None:
        self._state, self._kept = state, kept
        self._entries: set[Any] = set()
        self._lines: set[tuple[str, Any]] = set()
        self._all = False

    def has(self, unit: str, key: Any, axis: str) -> bool:
        match unit:
            case "entry":
                return self._holds(key)
            case "line":
                return self._all or (axis, key) in self._lines
        return self._all

    def _holds(self, key: Any) -> bool:
        if self._all or key in self._entries:
            return True
        if not self._lines or not isinstance(key, tuple):
            return False
        by_column = isinstance(self._kept, Matrix) and ("column", key[1]) in self._lines
        return by_column or ("row", key[0]) in self._lines

    def fill(self, want: Want, found: Found) -> None:
        kept: Any = self._kept
        if isinstance(kept, Value):
            kept._put(kept._coerce(found))
        elif isinstance(kept, Table) and want.unit == "all":
            # In the order of the owner, as nearly as it is known: what is here wins, or stays absent.
            theirs = {k: x for k, x in cells(self._state, kept, want, found) if k in kept._data or not self._holds(k)}
            kept._reset(theirs | kept._data, None)
        else:
            for key, x in cells(self._state, kept, want, found):
                if not self._holds(key):
                    index = key if isinstance(kept, Matrix) else (key,)
                    kept._put(*index, x)
        match want.unit:
            case "entry":
                self._entries.add(want.key)
            case "line":
                self._lines.add((want.axis, want.key))
            case _:
                self._all = True


class Dense:
    """What is known of a state of fixed shape."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self._known = np.zeros(data.shape, dtype=bool)

    def has(self, unit: str, key: Any, axis: str) -> bool:
        return bool(self._known[_place(unit, key)].all())

    def fill(self, want: Want, found: Found) -> None:
        place = _place(want.unit, want.key)
        # In place: journals hold this very array.
        theirs = found.to_numpy() if isinstance(found, DenseVector) else found
        self._data[place] = np.where(self._known[place], self._data[place], theirs)
        self._known[place] = True


def _place(unit: str, key: Any) -> Any:
    return ... if unit == "all" else key
