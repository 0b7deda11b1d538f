"""Many rows into a store that has nothing, by several threads: rows go where their numbers say, the index comes last.

It is for what is restored. Rows of one piece stand one after the other in memory and are written so; an index that is
made in one go is made of parts that threads do not share.

Laws: what is poured is what `restoring.fill` leaves of the same rows in the order of their numbers; until `index` has
come back nobody may look at the store.
"""

from __future__ import annotations

from concurrent.futures import Executor
from itertools import pairwise
from typing import Any

import pyarrow as pa

from anabranch.kernels.native import tables
from anabranch.kernels.native.columns import Encoded, strides
from anabranch.kernels.native.driver import I, native
from anabranch.kernels.native.memory import (
    CHUNKS,
    ENTRIES,
    HASH,
    INDEX,
    LOW,
    MASK,
    NUMBERS,
    PRESENT,
    SECRET,
    SIZE,
    USED,
)
from anabranch.kernels.native.restoring import check_rows, hashes_of, read_words
from anabranch.kernels.native.stores import Store
from anabranch.kernels.native.words import load, load_32, prefetch, store, store_32
from anabranch.lang import Table
from anabranch.state import changes

AHEAD = 24  # entries between asking for a slot and using it
SHARE = 1 << 6  # chunks of the index that are worth a thread of their own


@native(I, I, I, I, I)
def place_rows(hdr: int, hashes: int, columns: int, first: int, count: int) -> None:
    """Let the entries from `first` on be these rows; `columns` are address and stride for each word."""
    size, width = load(hdr + SIZE), load(hdr + SIZE) // 8 - 1
    address = load(hdr + ENTRIES) + first * size
    for i in range(count):
        store(address, (load(hashes + 8 * i) & HASH) | PRESENT)
        for w in range(width):
            store(address + 8 + 8 * w, load(load(columns + 16 * w) + load(columns + 16 * w + 8) * i))
        address += size


@native(I, I, I)
def index_entries(hdr: int, first: int, end: int) -> None:
    """Make the slots of the index from `first` on: of all entries those that belong there."""
    mask, chunks, low, secret = load(hdr + MASK), load(hdr + CHUNKS), load(hdr + LOW), load(hdr + SECRET)
    index, numbers, entries, size = load(hdr + INDEX), load(hdr + NUMBERS), load(hdr + ENTRIES), load(hdr + SIZE)
    for slot in range(first, end):
        store_32(index + 4 * slot, -1)
    used = load(hdr + USED)
    for entry in range(used):
        ahead = load(entries + min(entry + AHEAD, used - 1) * size)
        near = tables.slot_of(ahead, mask, chunks, low, secret)
        if first <= near and near < end:
            prefetch(index + 4 * near)
        hashed = load(entries + entry * size) & HASH
        slot = tables.slot_of(hashed, mask, chunks, low, secret)
        if first <= slot and slot < end:
            while load_32(index + 4 * slot) >= 0:
                slot = tables.next_slot(slot, mask)
            store_32(index + 4 * slot, entry | tables.tag_of(hashed, numbers))


def can_pour(part: Any) -> bool:
    """Is it a table that is empty and whose entries refer to nothing outside of themselves?"""
    held: Store = part.store
    return held.shape.cls is Table and not held.used and not len(held._pieces)


class Pouring:
    """So many rows into one part."""

    def __init__(self, part: Any, rows: int) -> None:
        self._store: Store = part.store
        if not can_pour(part) or (self._store.arena is not None and self._store.arena.logging):
            raise AssertionError(f"{self._store.shape.name} is no table that rows can be poured into")
        self._rows = rows
        self._store.lay(rows)
        place_rows.machine, index_entries.machine  # noqa: B018  # one thread compiles

    def put(self, first: int, rows: pa.RecordBatch) -> None:
        """These rows have the numbers from `first` on. Any thread may, each number once."""
        held, given = self._store, Encoded()
        check_rows(held, rows)
        if first + len(rows) > self._rows or rows.column(changes.PRESENT).true_count < len(rows):
            raise ValueError(f"{held.shape.name}: expected {self._rows} rows that are all present")
        read_words(held.shape.key, rows.column(0), given)
        hashes = hashes_of(held.shape.key, given.columns, len(rows))
        read_words(held.shape.value, rows.column(1), given)
        columns = strides(given.columns)
        place_rows(held.address, hashes.ctypes.data, columns.ctypes.data, first, len(rows))

    def index(self, pool: Executor, threads: int) -> None:
        """All rows are there: let them be found."""
        held = self._store
        held.laid(self._rows)
        slots, chunks = held.get(MASK) + 1, held.get(CHUNKS)
        parts = max(1, min(threads, chunks // SHARE))
        ends = [chunks * i // parts * slots for i in range(parts + 1)]
        jobs = [pool.submit(index_entries, held.address, a, b) for a, b in pairwise(ends)]
        for job in jobs:
            job.result()
