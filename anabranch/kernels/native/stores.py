"""The memory of states: who owns it, how it grows, how much it is.

All of it is numpy arrays; kernels know their addresses. Nothing moves or grows while a kernel runs: it leaves, and what
is full grows in between. The stores of an instance and its undo log are an `Arena`.

Laws: entries keep their numbers as long as anything is in the log; `nbytes` is what is allocated; with a budget
nothing grows beyond it, and near its end by less than it would.
"""

from __future__ import annotations

import secrets
from ctypes import memmove
from typing import Any
from weakref import WeakSet

import numpy as np

from anabranch.kernels.native import memory as m
from anabranch.kernels.native.affording import Affording
from anabranch.kernels.native.driver import FRAME, live_bytes, move_entries, rebuild_index, split_chunks, undo
from anabranch.kernels.native.layout import kinds, texts
from anabranch.kernels.native.pages import Pages, Words
from anabranch.kernels.native.references import references
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.words import Leave
from anabranch.state.budget import Budget

SLOTS = 3  # of an index of several chunks, for an entry
SEVERAL, MOST = 1 << 26, 1 << 31  # entries that can be numbered where there is room for tags, and where not
AT_ONCE = 4  # chunks that are split before a kernel goes on
FIRST_ENTRIES, FIRST_HEAP, FIRST_LOG = 8, 1 << 10, 1 << 12
# words: a part of the log that is long enough (numpy asks for huge pages from twice that on, and these are slow to
# get where memory is only written once, from front to back), and all that is kept for later
LONG_LOG, KEPT_LOG = 1 << 18, 1 << 23
MANY, LARGE = 256, 1 << 20  # entries and bytes that are worth having back
LITTLE, WORTH = 1 << 12, 64  # bytes, and the share of a store, that are not worth to make it compact


def zeros(words: int) -> Words:
    return np.zeros(words, dtype=np.int64)


class Place:
    """The number of the entry before which a walk stands. It is kept right when a store is made compact: that changes
    no order."""

    def __init__(self, number: int) -> None:
        self.number = number


class Store:
    """The entries of one state of one instance: `words[entry]` is the row of one, `memory` is all of them as bytes."""

    def __init__(self, shape: Shape, entries: int = FIRST_ENTRIES, budget: Budget | None = None) -> None:
        self.shape, self.may = shape, Affording(shape.name, budget)
        self.hdr = zeros(m.STORE_WORDS)
        self.address = self.hdr.ctypes.data
        self._view = self.hdr.data  # gives Python's integers
        self._pages, self._slots = Pages(), Pages()
        self.words = zeros(0).reshape(0, shape.size // 8)
        self._indexed = 0  # for how many entries there is room in the index
        self._heap: list[Words] = []
        self._heap_bytes = 0
        self._held = 0
        self._set(m.SECRET, secrets.randbits(62) | 1)
        self._set(m.SIZE, shape.size)
        self._set(m.VALUE, shape.offset)
        self._set(m.WIDTH, shape.width)
        self._set(m.NUMBER, shape.number)
        self._set(m.SPREAD, 2 if shape.walked else 8)
        self._set(m.TEXTS, texts(shape.key))
        self._set(m.KEY, len(kinds(shape.key)))
        self._pieces, self._roots, self.pieces_of_key = references(shape)
        self._lined = shape.axis is not None
        self._stack = zeros(FRAME // 8 * (len(self._pieces) + 1))
        self._counted = 0  # bytes of the heap when it was last looked through
        self._places: WeakSet[Place] = WeakSet()
        self.saved: Any = None  # what `saving` knows of its columns
        self.arena: Arena | None = None
        self.reserve(entries)

    def get(self, at: int) -> int:
        return self._view[at // 8]

    def _set(self, at: int, value: int) -> None:
        self._view[at // 8] = value

    @property
    def used(self) -> int:
        return self.get(m.USED)

    @property
    def live(self) -> int:
        return self.get(m.LIVE)

    def hold(self, nbytes: int) -> None:
        """It has one entry, which refers to so many bytes that are not its own to move."""
        self._set(m.USED, 1)
        self._set(m.LIVE, 1)
        self._held = nbytes

    @property
    def nbytes(self) -> int:
        return self._held + self.hdr.nbytes + self._pages.words.nbytes + self._slots.words.nbytes + self._heap_bytes

    def reserve(self, entries: int) -> None:
        """Room for so many entries."""
        with self.may.lock:
            if entries > len(self.words):
                self._lengthen(entries, entries)
            if entries > self._indexed:
                self._make_index(entries)
            self._set(m.CAPACITY, min(len(self.words), self._indexed))

    def lay(self, entries: int) -> None:
        """Memory for so many entries, and for an index of them that holds anything; see `pouring`."""
        with self.may.lock:
            if entries > len(self.words):
                self._lengthen(entries, entries)
            self._shape_index(max(entries, len(self.words)))

    def laid(self, entries: int) -> None:
        """There are so many now, and all of them are present."""
        self._set(m.USED, entries)
        self._set(m.LIVE, entries)
        self._set(m.CAPACITY, min(len(self.words), self._indexed))

    def grow(self) -> None:
        """Room for some more, in a time that does not depend on how many there are."""
        entries = self.used
        with self.may.lock:
            if entries >= self._indexed:
                if self.get(m.CHUNKS) == 1 or entries >= SEVERAL > self.get(m.NUMBERS):
                    more = 4 * _slots(2 * entries) - self._slots.words.nbytes
                    self._make_index(2 * entries if self.may.fits_well(more) else entries + 1)
                else:
                    self._add_chunks()
            if entries >= len(self.words):
                self._lengthen(entries + 1, 2 * entries if entries < m.CHUNK else entries + entries // 8)
            self._set(m.CAPACITY, min(len(self.words), self._indexed))

    def spare(self) -> int:
        """About how many bytes less it would take if it were compact."""
        if self._held:
            return 0
        absent = len(self.words) - max(FIRST_ENTRIES, self.live)
        unused = self.get(m.HEAP_END) - self.get(m.HEAP) if self._heap else 0
        return absent * self.shape.size + self.get(m.GARBAGE) + unused

    def _lengthen(self, least: int, best: int) -> None:
        width = self.shape.size // 8
        entries = self.may.have(len(self.words), least, best, self.shape.size)
        self.words, self.memory = zeros(0), memoryview(b"")
        self._pages.grow(entries * width)
        entries = len(self._pages.words) // width
        self.words = self._pages.words[: entries * width].reshape(entries, width)
        self.memory = self.words.data.cast("B")
        self._set(m.ENTRIES, self.words.ctypes.data)

    def _make_index(self, entries: int) -> None:
        """Anew, for so many entries; a search looks at two slots or so."""
        self._shape_index(entries)
        self._slots.words.view(np.int32)[: (self.get(m.MASK) + 1) * self.get(m.CHUNKS)] = -1
        rebuild_index(self.address)

    def _shape_index(self, entries: int) -> None:
        slots = _slots(entries)
        slots, chunks = min(slots, m.CHUNK), max(1, slots // m.CHUNK)
        self._use_slots(slots * chunks)
        self._set(m.MASK, slots - 1)
        self._set(m.CHUNKS, chunks)
        self._set(m.LOW, (1 << (chunks.bit_length() - 1)) - 1)
        self._set(m.NUMBERS, slots - 1 if chunks == 1 else SEVERAL - 1 if entries <= SEVERAL else MOST - 1)
        self._indexed = slots // 2 if chunks == 1 else self._room(chunks)

    def _room(self, chunks: int) -> int:
        """For how many entries so many chunks have room; one that is to be split soon has up to twice its share."""
        return min(chunks * m.CHUNK // SLOTS, MOST if self.get(m.NUMBERS) >= SEVERAL else SEVERAL)

    def _add_chunks(self) -> None:
        chunks = self.get(m.CHUNKS)
        more = min(AT_ONCE, max(1, chunks // 16))
        more = more if self.may.fits_well(4 * more * m.CHUNK) else 1
        self._use_slots((chunks + more) * m.CHUNK)
        room = np.empty(m.CHUNK // 2, dtype=np.int64)
        split_chunks(self.address, room.ctypes.data, more)
        self._indexed = self._room(chunks + more)

    def _use_slots(self, slots: int) -> None:
        have = len(self._slots.words)
        if slots // 2 > have:
            self._slots.grow(self.may.have(have, slots // 2, max(slots // 2, have + have // 8), 8))
        self._set(m.INDEX, self._slots.words.ctypes.data)

    def grow_heap(self, need: int, forced: bool = False) -> None:
        """A new piece of the heap; what is left of the last is lost. What is `forced` no budget refuses."""
        with self.may.lock:
            left = self.get(m.HEAP_END) - self.get(m.HEAP)
            size = max(need, FIRST_HEAP, self._heap_bytes // 2)  # always more: a row that begins again must find enough
            if not forced:
                size = self.may.have(0, need, size, 1)
            piece = np.empty((size + 7) // 8, dtype=np.int64)
            self._set(m.GARBAGE, self.get(m.GARBAGE) + left)
            self._heap.append(piece)
            self._heap_bytes += piece.nbytes
            self._set(m.HEAP, piece.ctypes.data)
            self._set(m.HEAP_END, piece.ctypes.data + piece.nbytes)

    def keep(self, data: bytes) -> int:
        """Where a copy of the bytes is in the heap."""
        size = (len(data) + 7) & -8
        if self.get(m.HEAP) + size > self.get(m.HEAP_END):
            self.grow_heap(size)
        at = self.get(m.HEAP)
        memmove(at, data, len(data))
        self._set(m.HEAP, at + size)
        return at

    def is_wasteful(self) -> bool:
        """Is more than half of it of no use? What the heap holds is counted when it has doubled, and not before."""
        absent = self.used - self.live
        if absent > MANY and absent > self.used // 2:
            return True
        if self._heap_bytes <= max(LARGE, 2 * self._counted):
            return False
        self._counted = self._heap_bytes
        return self._live_bytes() < self._heap_bytes // 2

    def _live_bytes(self) -> int:
        return int(live_bytes(self.address, *self._layout()))

    def _layout(self) -> tuple[int, int, int, int]:
        """What it takes to find all that entries refer to."""
        return self._pieces.ctypes.data, self._roots, int(self._lined), self._stack.ctypes.data

    def place(self, number: int) -> Place:
        place = Place(number)
        self._places.add(place)
        return place

    def compact(self) -> None:
        """Only what is present, one after the other. For when no log names entries."""
        for place in self._places:
            here = self.words[: min(place.number, self.used)]
            place.number = int(np.count_nonzero(here[:, 3] if self._lined else here[:, 0] < 0))
        fresh = Store(self.shape, max(FIRST_ENTRIES, self.live))
        heap = self._live_bytes()
        if heap:
            fresh.grow_heap(heap)
        move_entries(self.address, fresh.address, *self._layout())
        self._become(fresh)
        rebuild_index(self.address)

    def empty(self) -> None:
        """Nothing is present any more. For when no log names entries."""
        for place in self._places:
            place.number = 0
        self._become(Store(self.shape))

    def _become(self, fresh: Store) -> None:
        with self.may.lock:
            self._take(fresh)

    def _take(self, fresh: Store) -> None:
        self.hdr[:] = fresh.hdr
        self._pages, self.words, self.memory = fresh._pages, fresh.words, fresh.memory
        self._slots, self._indexed = fresh._slots, fresh._indexed
        self._heap, self._heap_bytes = fresh._heap, fresh._heap_bytes
        self._counted = self._heap_bytes


class Arena:
    """The stores of one instance and the log of what was before."""

    def __init__(self, shapes: dict[str, Shape], budget: Budget | None = None) -> None:
        self.budget = budget
        self.pressed = False  # was something refused since it was last made compact?
        self.building: Any = None  # a store that is not yet whole
        self.block = zeros(m.STORES // 8 + len(shapes))
        self.address = self.block.ctypes.data
        self._view = self.block.data
        self.stores: dict[str, Any] = {}
        self._sealed: list[tuple[Words, int]] = []  # parts of the log that are full, and how far
        self._spare: list[Words] = []  # and such that are not in use, the next one last
        self._log = zeros(0)
        self._context = zeros(m.CONTEXT_WORDS)
        self._use(np.empty(FIRST_LOG, dtype=np.int64), 0)
        if budget is not None:
            budget.arenas.append(self)

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes by state."""
        stores = [*self.stores.values()] + ([] if self.building is None else [self.building])
        return {store.shape.name: store.nbytes for store in stores}

    @property
    def total(self) -> int:
        building = 0 if self.building is None else self.building.nbytes
        return building + sum([store.nbytes for store in self.stores.values()])

    @property
    def undo(self) -> int:
        """Bytes of the log, and of what is kept for it."""
        parts = (self._log, *[log for log, _ in self._sealed], *self._spare)
        return sum([log.nbytes for log in parts])

    def add(self, store: Any) -> None:
        self.stores[store.shape.name] = store
        store.arena = self
        self._view[m.STORES // 8 + store.shape.number] = store.address

    # -- the log ------------------------------------------------------------------------------------------------------

    @property
    def logging(self) -> bool:
        return bool(self._view[m.LOGGING // 8])

    @logging.setter
    def logging(self, on: bool) -> None:
        self._view[m.LOGGING // 8] = on

    def _use(self, log: Words, at: int) -> None:
        self._log, self._start = log, log.ctypes.data
        self._view[m.LOG // 8] = self._start
        self._view[m.LOG_AT // 8] = self._start + 8 * at
        self._view[m.LOG_END // 8] = self._start + log.nbytes

    def _at(self) -> int:
        return (self._view[m.LOG_AT // 8] - self._start) // 8

    def grow_log(self, need: int) -> None:
        """Go on in a new part; the one at hand ends where it is."""
        at, long = self._at(), len(self._log)
        self._sealed.append((self._log, at))
        # A row begins again in the new part. If it had all of this one it needs a longer.
        size = max(need // 8 + 1, 2 * long if at == 0 or long < LONG_LOG else LONG_LOG)
        if self._spare and len(self._spare[-1]) >= size:
            self._use(self._spare.pop(), 0)
        else:
            self._use(np.empty(size, dtype=np.int64), 0)

    def mark(self) -> tuple[int, int]:
        return len(self._sealed), self._at()

    def written(self) -> list[tuple[int, int]]:
        """Where the parts of the log begin and end, the newest first."""
        found = [(self._start, self._view[m.LOG_AT // 8])]
        for log, at in reversed(self._sealed):
            found.append((log.ctypes.data, log.ctypes.data + 8 * at))
        return found

    def roll_back(self, mark: tuple[int, int]) -> None:
        parts, at = mark
        on, self.logging = self.logging, False
        while len(self._sealed) > parts:
            self._undo(0)
            self._spare.append(self._log)
            self._use(*self._sealed.pop())
        self._undo(at)
        self.logging = on

    def roll_back_to(self, address: int) -> None:
        """To a point in the part of the log at hand."""
        if self._view[m.LOG_AT // 8] != address:
            on, self.logging = self.logging, False
            self._undo((address - self._start) // 8)
            self.logging = on

    def _undo(self, at: int) -> None:
        while True:
            try:
                undo(self._context.ctypes.data, self.address, self._start + 8 * at)
                return
            except Leave:  # a line of a matrix needs memory to become what it was
                what = int(self._context[m.WHAT // 8])
                store = next(s for s in self.stores.values() if s.address == what)
                store.grow_heap(int(self._context[m.NEED // 8]), forced=True)

    def clear(self) -> None:
        """What was written stays: forget what was before."""
        if self._view[m.LOG_AT // 8] == self._start and not self._sealed:
            self.tidy()
            return  # nothing was written
        long = bool(self._sealed)
        self._spare.append(self._log)
        self._spare += [log for log, _ in reversed(self._sealed)]
        self._sealed.clear()
        self._use(self._spare.pop(), 0)
        while sum(map(len, self._spare)) > KEPT_LOG:
            self._spare.pop(0)
        if long and self.budget is not None and self.budget.room < 0:
            self._shorten()
        self.tidy()
        for store in self.stores.values():
            if store.is_wasteful():
                store.compact()

    def tidy(self) -> bool:
        """After a refusal: have back what nobody needs; whether that was worth it. For when the log is empty."""
        if not self.pressed:
            return False
        self.pressed = False
        found = [s for s in self.stores.values() if s.spare() > max(LITTLE, s.nbytes // WORTH)]
        for store in found:
            store.compact()
        return self._shorten() or bool(found)

    def _shorten(self) -> bool:
        """Let the log, which is empty, be as short as in the beginning."""
        if not self._spare and len(self._log) <= FIRST_LOG:
            return False
        self._spare.clear()
        self._use(np.empty(FIRST_LOG, dtype=np.int64), 0)
        return True


def _slots(entries: int) -> int:
    """How many slots an index for so many entries has."""
    slots = 1 << max(4, (2 * entries - 1).bit_length())
    return slots if slots <= m.CHUNK else -(-entries * SLOTS // m.CHUNK) * m.CHUNK
