"""Many rows into tables that have nothing, by several threads: first the index is made, then rows go where it says.

It is for what is restored. Rows come in pieces, of which all are known before any is written, so that each row has its
number before it has its place. An index is larger than any cache, and to enter keys in the order of rows is a miss for
each. So keys are dealt out first, by the stretch of the index that they belong to: a stretch is then made in one go, by
one thread. Until rows come, the memory of the entries has nothing in it, and room for that.

Laws: what is poured is what `restoring.fill` leaves of the same rows one after the other; a row whose owner is not here
goes nowhere; until `pour` has come back nobody may look at the stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from anabranch.kernels.native import tables
from anabranch.kernels.native.columns import Encoded, Words, strides
from anabranch.kernels.native.driver import I, native
from anabranch.kernels.native.hashing import hash_int
from anabranch.kernels.native.memory import (
    CHUNK,
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
)
from anabranch.kernels.native.restoring import check_rows, hashes_of, read_words
from anabranch.kernels.native.stores import Store, zeros
from anabranch.kernels.native.words import inlined, load, load_32, store, store_32
from anabranch.lang import Table
from anabranch.lang.keys import BUCKETS
from anabranch.lang.types import INT
from anabranch.state import changes

STRETCH = (8 * CHUNK).bit_length() - 1  # log2 of the slots of a stretch: a megabyte, which stays in the cache
STRETCHES = 1 << 12  # there are no more, or those who deal would meet a miss for each
SHARES = 4  # jobs for a thread, when stretches are made

# Who deals has, for each target, the address of its store, the number of the next entry, where the next key of each
# stretch goes, and the log2 of the slots of a stretch.
TARGET, NEXT, PLACES, SHIFT = 32, 8, 16, 24


@inlined
def _hash(word: int, is_key: int) -> int:
    return hash_int(word) if is_key != 0 else word


@inlined
def _slot(hdr: int, hashed: int) -> int:
    return tables.slot_of(hashed, load(hdr + MASK), load(hdr + CHUNKS), load(hdr + LOW), load(hdr + SECRET))


@native(I, I, I, I, I)
def count_buckets(words: int, step: int, is_key: int, count: int, out: int) -> None:
    """Add to the number of rows of each bucket. Words are integer keys, or hashes."""
    for i in range(count):
        at = out + 8 * (_hash(load(words + step * i), is_key) & (BUCKETS - 1))
        store(at, load(at) + 1)


@native(I, I, I, I, I, I)
def count_keys(words: int, step: int, is_key: int, count: int, target_of: int, targets: int) -> None:
    """Add to the number of keys of each stretch; `target_of` has the target of each bucket, -1 if it is not here."""
    for i in range(count):
        hashed = _hash(load(words + step * i), is_key)
        target = load(target_of + 8 * (hashed & (BUCKETS - 1)))
        if target >= 0:
            to = targets + TARGET * target
            at = load(to + PLACES) + 8 * (_slot(load(to), hashed) >> load(to + SHIFT))
            store(at, load(at) + 1)


@native(I, I, I, I, I, I)
def deal_keys(words: int, step: int, is_key: int, count: int, target_of: int, targets: int) -> None:
    """Put keys where those of their stretch are: what the slot will hold, and where in the stretch a search begins."""
    for i in range(count):
        hashed = _hash(load(words + step * i), is_key)
        target = load(target_of + 8 * (hashed & (BUCKETS - 1)))
        if target >= 0:
            to = targets + TARGET * target
            hdr, entry, shift = load(to), load(to + NEXT), load(to + SHIFT)
            store(to + NEXT, entry + 1)
            slot = _slot(hdr, hashed)
            at = load(to + PLACES) + 8 * (slot >> shift)
            place = load(hdr + ENTRIES) + 8 * load(at)
            store(at, load(at) + 1)
            store_32(place, entry | tables.tag_of(hashed, load(hdr + NUMBERS)))
            store_32(place + 4, slot & ((1 << shift) - 1))


@native(I, I, I, I, I)
def make_stretches(hdr: int, ends: int, shift: int, first: int, last: int) -> None:
    """Make these stretches of the index of the keys that were dealt out; `ends` is where those of each end."""
    index, mask, dealt = load(hdr + INDEX), load(hdr + MASK), load(hdr + ENTRIES)
    slots = (mask + 1) * load(hdr + CHUNKS)
    for stretch in range(first, last):
        start = stretch << shift
        for slot in range(start, min(start + (1 << shift), slots)):
            store_32(index + 4 * slot, -1)
        for i in range(load(ends + 8 * stretch - 8) if stretch > 0 else 0, load(ends + 8 * stretch)):
            slot = start + load_32(dealt + 8 * i + 4)
            while load_32(index + 4 * slot) >= 0:
                slot = tables.next_slot(slot, mask)
            store_32(index + 4 * slot, load_32(dealt + 8 * i))


@native(I, I, I, I, I, I, I)
def place_rows(words: int, step: int, is_key: int, count: int, target_of: int, targets: int, columns: int) -> None:
    """Let the next entries of each target be its rows; `columns` are address and stride for each word."""
    for i in range(count):
        hashed = _hash(load(words + step * i), is_key)
        target = load(target_of + 8 * (hashed & (BUCKETS - 1)))
        if target >= 0:
            to = targets + TARGET * target
            hdr, entry = load(to), load(to + NEXT)
            store(to + NEXT, entry + 1)
            size = load(hdr + SIZE)
            address = load(hdr + ENTRIES) + entry * size
            store(address, (hashed & HASH) | PRESENT)
            for w in range(size // 8 - 1):
                store(address + 8 + 8 * w, load(load(columns + 16 * w) + load(columns + 16 * w + 8) * i))


class Piece(NamedTuple):
    """Rows that one thread reads. They are of one instance, or of those that own them."""

    read: Callable[[], Iterable[pa.RecordBatch]]
    instance: int | None


class _Rows(NamedTuple):
    """A batch as kernels see it: integer keys, or else hashes, and all its words."""

    keys: tuple[int, int, int, int]  # address, stride, whether they are keys, number
    columns: Words
    kept: Any


@dataclass(slots=True)
class _Read:
    """A piece that was read."""

    rows: list[_Rows]
    target_of: Words  # by bucket
    counts: Words  # by target
    firsts: Words  # the number of the first row at each target
    places: list[Words]  # by target: for each stretch the number of its keys, then where they go


def can_pour(part: Any) -> bool:
    """Is it a table that is empty and whose entries refer to nothing outside of themselves?"""
    held: Store = part.store
    return held.shape.cls is Table and not held.used and not len(held._pieces)


class Pouring:
    """All rows of one state, into its parts by their instances.

    The pieces stay where they are until their rows have places: what is only looked at takes no memory, and what had
    to be fetched is let go as the entries take up theirs.
    """

    def __init__(
        self, parts: Mapping[int, Any], instance_of_bucket: Sequence[int], pool: Executor, threads: int
    ) -> None:
        self._stores: list[Store] = [part.store for part in parts.values()]
        for part, held in zip(parts.values(), self._stores, strict=True):
            if not can_pour(part) or (held.arena is not None and held.arena.logging):
                raise AssertionError(f"{held.shape.name} is no table that rows can be poured into")
        self._number = {instance: number for number, instance in enumerate(parts)}
        self._owners = np.array([self._number.get(i, -1) for i in instance_of_bucket], dtype=np.int64)
        self._pool, self._threads = pool, threads
        for kernel in (count_buckets, count_keys, deal_keys, make_stretches, place_rows):
            kernel.machine  # noqa: B018  # one thread compiles

    def pour(self, pieces: Sequence[Piece]) -> None:
        if not self._stores:
            return
        read = self._each(self._read, pieces)
        rows = self._number_rows(read)
        for held, count in zip(self._stores, rows, strict=True):
            held.lay(count)
        self._make_index(read)
        self._each(self._place, read)
        for held, count in zip(self._stores, rows, strict=True):
            held.laid(count)

    def _each(self, work: Callable[[Any], Any], of: Iterable[Any]) -> list[Any]:
        return [job.result() for job in [self._pool.submit(work, one) for one in of]]

    def _read(self, piece: Piece) -> _Read:
        rows = [self._look_at(batch) for batch in piece.read()]
        count = sum([r.keys[-1] for r in rows])
        counts = zeros(len(self._stores))
        if piece.instance is None:
            target_of, buckets = self._owners, zeros(BUCKETS)
            if (target_of == target_of[0]).all():
                buckets[0] = count
            else:
                for r in rows:
                    count_buckets(*r.keys, buckets.ctypes.data)
            here = target_of >= 0
            np.add.at(counts, target_of[here], buckets[here])
        else:
            target_of = np.full(BUCKETS, self._number[piece.instance], dtype=np.int64)
            counts[self._number[piece.instance]] = count
        return _Read(rows, target_of, counts, zeros(0), [])

    def _look_at(self, batch: pa.RecordBatch) -> _Rows:
        held, given = self._stores[0], Encoded()
        check_rows(held, batch)
        if batch.column(changes.PRESENT).true_count < len(batch):
            raise ValueError(f"{held.shape.name}: expected rows that are all present")
        read_words(held.shape.key, batch.column(0), given)
        is_key = held.shape.key == INT
        words = given.columns[0] if is_key else hashes_of(held.shape.key, given.columns, len(batch))
        read_words(held.shape.value, batch.column(1), given)
        keys = words.ctypes.data, words.strides[0], int(is_key), len(batch)
        return _Rows(keys, strides(given.columns), (given, words))

    def _number_rows(self, read: list[_Read]) -> list[int]:
        """Rows of a target have numbers in the order of the pieces; how many there are of each."""
        total = zeros(len(self._stores))
        for piece in read:
            piece.firsts = total.copy()
            total += piece.counts
        return [int(count) for count in total]

    # -- the index ----------------------------------------------------------------------------------------------------

    def _make_index(self, read: list[_Read]) -> None:
        shifts = [_shift(held) for held in self._stores]
        stretches = [_slots(held) - 1 >> shift for held, shift in zip(self._stores, shifts, strict=True)]
        for piece in read:
            piece.places = [zeros(last + 1) for last in stretches]
        self._each(lambda piece: self._deal(count_keys, piece, shifts), read)
        ends = [_lay_places([piece.places for piece in read], target, last) for target, last in enumerate(stretches)]
        self._each(lambda piece: self._deal(deal_keys, piece, shifts), read)
        jobs = []
        for held, end, shift, last in zip(self._stores, ends, shifts, stretches, strict=True):
            shares = min(SHARES * self._threads, last + 1)
            cuts = [(last + 1) * i // shares for i in range(shares + 1)]
            jobs += [(held.address, end.ctypes.data, shift, a, b) for a, b in pairwise(cuts)]
        self._each(lambda job: make_stretches(*job), jobs)

    def _deal(self, kernel: Any, piece: _Read, shifts: list[int]) -> None:
        targets = self._targets(piece, shifts)
        for r in piece.rows:
            kernel(*r.keys, piece.target_of.ctypes.data, targets.ctypes.data)

    def _targets(self, piece: _Read, shifts: list[int]) -> Words:
        places = [p.ctypes.data for p in piece.places]
        stores = [held.address for held in self._stores]
        return np.column_stack([stores, piece.firsts, places, shifts]).reshape(-1)

    def _place(self, piece: _Read) -> None:
        targets = self._targets(piece, [0] * len(self._stores))
        for r in piece.rows:
            place_rows(*r.keys, piece.target_of.ctypes.data, targets.ctypes.data, r.columns.ctypes.data)
        piece.rows.clear()


def _slots(held: Store) -> int:
    return (held.get(MASK) + 1) * held.get(CHUNKS)


def _shift(held: Store) -> int:
    """Stretches are of whole chunks."""
    return max(STRETCH, (_slots(held) - 1).bit_length() - STRETCHES.bit_length() + 1)


def _lay_places(places: list[list[Words]], target: int, last: int) -> Words:
    """Let the keys of a stretch stand together, in the order of the pieces; where those of each stretch end."""
    ends = np.cumsum(sum([of[target] for of in places], zeros(last + 1)))
    following = np.concatenate([zeros(1), ends[:-1]])
    for of in places:
        of[target], following = following, following + of[target]
    return ends
