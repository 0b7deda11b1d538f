"""Dense states in flat memory: still numpy arrays, whose addresses kernels know.

A dense state never changes its shape, so its array never moves. Its store has one entry: the address of the array, its
rows and its columns (of a vector: its length and 1). What the methods of the plain state would tell a journal goes into
the log of the arena: rows that kernels ran and rows that Python ran are taken back in one order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anabranch.kernels.native import memory as m
from anabranch.kernels.native.driver import log_word_at
from anabranch.kernels.native.entries import make_room
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.stores import Arena, Store, zeros
from anabranch.kernels.native.words import Leave
from anabranch.lang import DenseMatrix, DenseVector

ADDRESS, ROWS, COLUMNS = 8, 16, 24  # in the entry


class ArenaLog:
    """The journal of a dense state: writes what is about to change into the log of an arena."""

    def __init__(self, data: Any, store: Store, arena: Arena) -> None:
        self._data, self._store, self._arena = data, store, arena
        self._context = zeros(m.CONTEXT_WORDS)
        self._places = np.arange(data.size).reshape(data.shape)

    @property
    def active(self) -> bool:
        return self._arena.logging

    def record(self, undo: Callable[..., object], *args: Any) -> None:
        """As `Journal.record`, for the two ways in which a dense state is written: an item, or all of it."""
        places = self._places[args[0]] if undo == self._data.__setitem__ else self._places
        for place in np.atleast_1d(places).reshape(-1).tolist():
            self._log(self._data.ctypes.data + 8 * place)

    def _log(self, address: int) -> None:
        while True:
            try:
                log_word_at(self._context.ctypes.data, self._arena.address, self._store.address, address)
                return
            except Leave:
                make_room(self._context, [self._arena], {self._store.address: self._store})


# The log of its arena is the journal of a part, whatever journal it is bound to.
JOURNAL = property(lambda part: part._log, lambda part, journal: None)


def _place(part: Any, store: Store, arena: Arena) -> None:
    """Give a part its store and its log."""
    data = part._data
    rows, columns = (*data.shape, 1)[:2]
    store.words[0] = (m.PRESENT, data.ctypes.data, rows, columns)
    store.hold(data.nbytes)
    part.store, part._log, part._frozen = store, ArenaLog(data, store, arena), False


class ColumnDense(DenseVector):
    """A dense vector that kernels reach."""

    __slots__ = ("_log", "store")
    _log: ArenaLog
    store: Store

    def __init__(self, plain: DenseVector, shape: Shape, store: Store, arena: Arena) -> None:
        self._data = plain.to_numpy()
        _place(self, store, arena)

    _journal: Any = JOURNAL


class ColumnDenseMatrix(DenseMatrix):
    """A dense matrix that kernels reach."""

    __slots__ = ("_log", "store")
    _log: ArenaLog
    store: Store

    def __init__(self, plain: DenseMatrix, shape: Shape, store: Store, arena: Arena) -> None:
        self._data = plain.to_numpy()
        _place(self, store, arena)

    _journal: Any = JOURNAL
