"""Keyed sums by hand: numba loops over an open-addressing table, the most that compiled tasks could reach.

A table is three arrays (keys, values, used), its size the power of two that gives a load of about a half, made that
large from the start; splitmix64, then linear probing. The loop is in one piece because numba counts references to
arrays at each call of a function that takes them, inlined or not: with the probe in a function of its own it was two to
three times slower. Slots are unsigned, so that no index can be negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Way
from numba import njit

Array = np.ndarray
Arrays = tuple[Array, Array, Array]
ALONE = (0, 1)  # the first of one thread
UNLOGGED = (0, np.zeros(0, np.int64), np.zeros(0))


@njit(nogil=True)
def mixed(key: int) -> Any:
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def make_loop(owned: bool, logged: bool) -> Callable[..., tuple[int, int]]:
    """A loop that adds rows to a table; what it is not asked to do is not compiled into it.

    owned: adds the rows whose keys belong to one of several threads: the upper half of the hash says to which.
    logged: keeps the slot (inverted if it was free) and the old value of each row, and stops before a row for which
    log or table has no room. Gives the rows done and the slots filled.
    """

    @njit(nogil=True)
    def add_rows(
        new_keys: Array,
        new_values: Array,
        keys: Array,
        values: Array,
        used: Array,
        me: int,
        threads: int,
        filled: int,
        slots: Array,
        olds: Array,
    ) -> tuple[int, int]:
        last = np.uint64(len(keys) - 1)
        for row in range(len(new_keys)):
            key = new_keys[row]
            hashed = mixed(key)
            if owned and ((hashed >> np.uint64(32)) * np.uint64(threads)) >> np.uint64(32) != np.uint64(me):
                continue
            slot = hashed & last
            while used[slot] and keys[slot] != key:
                slot = (slot + np.uint64(1)) & last
            if logged:
                if row == len(slots) or (not used[slot] and 4 * filled >= 3 * len(keys)):
                    return row, filled
                slots[row] = slot if used[slot] else ~slot
                olds[row] = values[slot]
            if not used[slot]:
                used[slot] = True
                keys[slot] = key
                filled += 1
            values[slot] += new_values[row]
        return len(new_keys), filled

    loop: Callable[..., tuple[int, int]] = add_rows
    return loop


add_rows = make_loop(owned=False, logged=False)
add_owned_rows = make_loop(owned=True, logged=False)
add_rows_logged = make_loop(owned=False, logged=True)


def make_table(keys: int) -> Arrays:
    size = 1 << max(6, (2 * keys - 1).bit_length())
    return np.zeros(size, np.int64), np.zeros(size, np.float64), np.zeros(size, np.bool_)


@dataclass(slots=True)
class Logged:
    """A table with its undo log, which begins anew with every batch."""

    table: Arrays
    slots: Array
    olds: Array
    filled: int = 0

    def add(self, keys: Array, values: Array) -> None:
        done, self.filled = add_rows_logged(keys, values, *self.table, *ALONE, self.filled, self.slots, self.olds)
        if done < len(keys):
            raise OverflowError(f"no room for row {done}")


@dataclass(frozen=True, slots=True)
class Threads:
    """A table for each thread; a batch ends when all threads have ended."""

    tables: Sequence[Arrays]
    pool: ThreadPoolExecutor

    def add(self, keys: Array, values: Array) -> None:
        many = len(self.tables)
        futures = [
            self.pool.submit(add_owned_rows, keys, values, *table, me, many, *UNLOGGED)
            for me, table in enumerate(self.tables)
        ]
        for future in futures:
            future.result()


def entries(tables: Sequence[Arrays]) -> pa.Table:
    keys = np.concatenate([keys[used] for keys, _, used in tables])
    return pa.table({"key": keys, "value": np.concatenate([values[used] for _, values, used in tables])})


def columns(batches: Sequence[pa.RecordBatch]) -> list[list[Array]]:
    """The memory of the batches as arrays, without a copy."""
    return [[column.to_numpy() for column in batch.columns] for batch in batches]


def bare_way(batches: Sequence[pa.RecordBatch], keys: int, fill: Sequence[pa.RecordBatch] = ()) -> Way:
    def feed(table: Arrays, arrays: Sequence[list[Array]]) -> None:
        for new_keys, new_values in arrays:
            add_rows(new_keys, new_values, *table, *ALONE, *UNLOGGED)

    def start() -> Arrays:
        table = make_table(keys)
        feed(table, columns(fill))
        return table

    rows = columns(batches)
    return Way("bare loop", start, lambda table: feed(table, rows), lambda table, _: (entries([table]), None))


def logged_way(batches: Sequence[pa.RecordBatch], keys: int) -> Way:
    longest = max(batch.num_rows for batch in batches)

    def start() -> Logged:
        return Logged(make_table(keys), np.zeros(longest, np.int64), np.zeros(longest))

    return Way("bare loop with undo log", start, _feeder(batches), lambda state, _: (entries([state.table]), None))


def threads_way(batches: Sequence[pa.RecordBatch], keys: int, threads: int, fill: Sequence[pa.RecordBatch] = ()) -> Way:
    def start() -> Threads:
        state = Threads([make_table(keys // threads) for _ in range(threads)], ThreadPoolExecutor(threads))
        _feeder(fill)(state)
        return state

    return Way(
        threads_name(threads),
        start,
        _feeder(batches),
        lambda state, _: (entries(state.tables), None),
        stop=lambda state: state.pool.shutdown(),
    )


def threads_name(threads: int) -> str:
    return f"bare loop, {threads} thread{'' if threads == 1 else 's'}"


def _feeder(batches: Sequence[pa.RecordBatch]) -> Callable[[Any], None]:
    rows = columns(batches)

    def feed(state: Logged | Threads) -> None:
        for keys, values in rows:
            state.add(keys, values)

    return feed
