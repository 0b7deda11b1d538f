"""What Python itself calls on flat memory: single accesses, undo, growth. Compiled once, kept on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any

import numba

from anabranch.kernels.native import lines, tables
from anabranch.kernels.native.cache import compiled, fingerprint
from anabranch.kernels.native.hashing import (
    hash_bool,
    hash_bytes,
    hash_int,
    hash_text,
    hash_tuple_start,
    hash_tuple_step,
)
from anabranch.kernels.native.memory import HEAP, HEAP_END, KEY, LIVE, SIZE, TEXTS, USED, VALUE, WIDTH
from anabranch.kernels.native.words import Leave, copy, inlined, load, store, store_float

I, F = numba.types.int64, numba.types.float64
FRAME = 48  # bytes of the stack of `_walk`
# Kinds of keys. That of a tuple of scalars is an address: of their number, then of the kind of each.
OTHER_KEY, INT_KEY, STR_KEY, BYTES_KEY, BOOL_KEY = range(5)


class Native:
    """A function that is compiled, or found on disk, when it is first needed; `machine` is what it is then."""

    def __init__(self, function: Callable[..., Any], signature: tuple[Any, ...]) -> None:
        self._function, self._signature = function, signature
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    @cached_property
    def machine(self) -> Any:
        own = dict(self._function.__globals__)  # the key of its cache is its own
        copied = FunctionType(self._function.__code__, own, self.__name__)
        # Whoever looks at every call (for Ctrl-C, or to profile) would make a second of compiling a minute.
        looking = sys.getprofile()
        sys.setprofile(None)
        try:
            return compiled(copied, self._signature, fingerprint(self.__name__))[0]
        finally:
            sys.setprofile(looking)

    def __call__(self, *args: Any) -> Any:
        return self.machine(*args)


def native(*signature: Any) -> Callable[[Callable[..., Any]], Native]:
    return lambda function: Native(function, signature)


@native(I)
def rebuild_index(hdr: int) -> None:
    tables.rebuild(hdr)


@native(I, I, I)
def split_chunks(hdr: int, room: int, count: int) -> None:
    """Add so many chunks to the index, whose memory is there."""
    for _ in range(count):
        tables.split(hdr, room)


@native(I, I, I)
def undo(context: int, instance: int, mark: int) -> None:
    tables.roll_back(context, instance, mark)


@inlined
def _hash_one(kind: int, key: int) -> int:
    if kind == INT_KEY:
        return hash_int(load(key))
    if kind == STR_KEY:
        return hash_text(load(key), load(key + 8))
    if kind == BYTES_KEY:
        return hash_bytes(load(key), load(key + 8))
    return hash_bool(load(key) != 0)


@inlined
def _hash_of(kind: int, key: int, hashed: int) -> int:
    """The hash of the key whose words are at `key`; one that is neither scalars nor a tuple of them has it given."""
    if kind == OTHER_KEY:
        return hashed
    if kind <= BOOL_KEY:
        return _hash_one(kind, key)
    found = hash_tuple_start(load(kind))
    for i in range(load(kind)):
        item = load(kind + 8 * i + 8)
        found = hash_tuple_step(found, _hash_one(item, key))
        key += 16 if item in (STR_KEY, BYTES_KEY) else 8
    return found


@native(I, I, I, I)
def find(hdr: int, kind: int, key: int, hashed: int) -> int:
    """The number of a present entry; -1 if there is none."""
    entry = tables.find_words(hdr, _hash_of(kind, key, hashed), key)
    if entry >= 0 and tables.is_present(tables.entry_at(hdr, entry)):
        return entry
    return -1


@inlined
def _keep_key(context: int, hdr: int, key: int) -> None:
    """Let the words of a key refer to copies of its texts in the heap of the store."""
    texts = load(hdr + TEXTS)
    i = 0
    while i < load(hdr + KEY):
        if (texts >> i) & 1:
            store(key + 8 * i, tables.keep_text(context, hdr, load(key + 8 * i), load(key + 8 * i + 8)))
            i += 1
        i += 1


@native(I, I, I, I, I, I, I)
def put(context: int, instance: int, hdr: int, kind: int, key: int, hashed: int, value: int) -> None:
    """Let the entry of a key have a value; words of both are in memory, what those of the value refer to is kept."""
    hashed = _hash_of(kind, key, hashed)
    entry = tables.find_words(hdr, hashed, key)
    if entry < 0:
        _keep_key(context, hdr, key)
        entry = tables.add_entry(context, hdr, entry, hashed)
        copy(tables.entry_at(hdr, entry) + 8, key, 8 * load(hdr + KEY))
    address = tables.entry_at(hdr, entry)
    if tables.is_present(address):
        tables.log_value(context, instance, hdr, entry, address)
    else:
        tables.appear(context, instance, hdr, entry, address)
    copy(address + load(hdr + VALUE), value, 8 * load(hdr + WIDTH))


@native(I, I, I, I)
def log_word_at(context: int, instance: int, hdr: int, address: int) -> None:
    """Remember a word of memory that is about to change."""
    tables.log_word(context, instance, hdr, address)


@native(I, I, I, I)
def remove(context: int, instance: int, hdr: int, entry: int) -> None:
    tables.vanish(context, instance, hdr, entry, tables.entry_at(hdr, entry))


@native(I, I, I, I, I, F)
def put_cell(context: int, instance: int, hdr: int, key: int, index: int, value: float) -> None:
    """Let a cell of the line with the number at `key` have a value."""
    hashed = hash_int(load(key))
    entry = tables.find_words(hdr, hashed, key)
    if entry < 0:
        if value == 0.0:
            return
        entry = tables.add_entry(context, hdr, entry, hashed)
        address = tables.entry_at(hdr, entry)
        store(address + 8, load(key))
        for i in range(5):
            store(address + 16 + 8 * i, 0)
    lines.set_cell(context, instance, hdr, entry, index, value)


@native(I, I, I)
def cell_of(hdr: int, key: int, index: int) -> float:
    """The cell of the line with the number at `key`."""
    entry = tables.find_words(hdr, hash_int(load(key)), key)
    if entry < 0:
        return 0.0
    return lines.get_cell(tables.entry_at(hdr, entry) + 16, index)


@native(I, I, I)
def walk_line(line: int, indices: int, values: int) -> int:
    """Copy the cells of a line to two arrays; how many there are."""
    count = 0
    for step in range(lines.line_steps(line)):
        value = lines.step_value(line, step)
        if value != 0.0:
            store(indices + 8 * count, lines.step_index(line, step))
            store_float(values + 8 * count, value)
            count += 1
    return count


@native(I, I)
def find_line(hdr: int, key: int) -> int:
    """The number of the entry of the line with the number at `key`; below zero if there is none."""
    return tables.find_words(hdr, hash_int(load(key)), key)


# -- what entries refer to ------------------------------------------------------------------------------------------
#
# A piece is four words: where in an entry there is an address, how many bytes one of what the next word counts takes
# (none for a line of a matrix), and from which piece to which those of such a one go, if it refers to more itself.


@inlined
def _size_of(address: int, pieces: int, i: int) -> int:
    """Bytes that a piece refers to."""
    at, unit = load(pieces + 32 * i), load(pieces + 32 * i + 8)
    if unit == 0:
        return load(address + at + lines.ROOM) * (8 if load(address + at + lines.DENSE) != 0 else 16)
    return load(address + at + 8) * unit


@inlined
def _walk(address: int, pieces: int, end: int, target: int, stack: int) -> int:
    """How many bytes the words at `address` refer to, directly or not.

    Where there is a target these are copied into its heap, and the words refer to that from then on. Not recursive:
    numba cannot load such a function from disk.
    """
    total = depth = first = i = unit = 0
    left = 1
    while True:
        if i == end:  # done with the words at hand
            left -= 1
            if left > 0:
                address += unit
                i = first
                continue
            if depth == 0:
                return total
            depth -= 1
            frame = stack + FRAME * depth
            address, i, end = load(frame), load(frame + 8), load(frame + 16)
            left, unit, first = load(frame + 24), load(frame + 32), load(frame + 40)
            continue
        at, inner, last = load(pieces + 32 * i), load(pieces + 32 * i + 16), load(pieces + 32 * i + 24)
        size = _size_of(address, pieces, i)
        total += (size + 7) & -8
        if target != 0 and size != 0:
            heap = load(target + HEAP)
            if heap + size > load(target + HEAP_END):
                raise Leave
            copy(heap, load(address + at), size)
            store(address + at, heap)
            store(target + HEAP, (heap + size + 7) & -8)
        i += 1
        if inner < last and load(address + at + 8) > 0:
            frame = stack + FRAME * depth
            store(frame, address)
            store(frame + 8, i)
            store(frame + 16, end)
            store(frame + 24, left)
            store(frame + 32, unit)
            store(frame + 40, first)
            depth += 1
            left, unit = load(address + at + 8), load(pieces + 32 * i - 24)
            address = load(address + at)
            i = first = inner
            end = last


@inlined
def _is_live(address: int, lined: int) -> bool:
    return load(address + 16 + lines.COUNT) != 0 if lined else tables.is_present(address)


@native(I, I, I, I, I)
def live_bytes(hdr: int, pieces: int, end: int, lined: int, stack: int) -> int:
    """How many bytes of the heap the entries of a store refer to that are present, or that are lines with cells.

    `stack` is room for as many frames as there are pieces.
    """
    total = 0
    for entry in range(load(hdr + USED)):
        address = tables.entry_at(hdr, entry)
        if _is_live(address, lined):
            total += _walk(address, pieces, end, 0, stack)
    return total


@native(I, I, I, I, I, I)
def move_entries(source: int, target: int, pieces: int, end: int, lined: int, stack: int) -> None:
    """Copy those entries of a store into an empty one that has room for them. The index of that is not made."""
    for entry in range(load(source + USED)):
        address = tables.entry_at(source, entry)
        if _is_live(address, lined):
            new = tables.entry_at(target, load(target + USED))
            copy(new, address, load(source + SIZE))
            _walk(new, pieces, end, target, stack)
            store(target + USED, load(target + USED) + 1)
            store(target + LIVE, load(target + LIVE) + 1)
