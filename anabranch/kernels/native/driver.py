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
from anabranch.kernels.native.memory import (
    CAPACITY,
    CHUNKS,
    ENTRIES,
    FULL_ENTRIES,
    FULL_HEAP,
    HASH,
    HEAP,
    HEAP_END,
    INDEX,
    KEY,
    LIVE,
    LOW,
    MASK,
    NEAR_ENTRY,
    NEAR_SHIFT,
    NUMBERS,
    PRESENT,
    ROW,
    SECRET,
    SIZE,
    STORES,
    TEXTS,
    USED,
    VALUE,
    WAS_CELL,
    WAS_NEAR,
    WAS_VALUE,
    WAS_WORD,
    WIDTH,
)
from anabranch.kernels.native.words import (
    Leave,
    copy,
    inlined,
    load,
    load_32,
    load_byte,
    load_float,
    prefetch,
    store,
    store_32,
    store_byte,
    store_float,
    wrap_add,
    wrap_multiply,
)

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
def _walk(address: int, pieces: int, first: int, end: int, target: int, stack: int) -> int:
    """How many bytes the words at `address` refer to, directly or not, by the pieces from `first` on.

    Where there is a target these are copied into its heap, and the words refer to that from then on. Not recursive:
    numba cannot load such a function from disk.
    """
    total = depth = unit = 0
    left, i = 1, first
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
            total += _walk(address, pieces, 0, end, 0, stack)
    return total


@native(I, I, I, I, I, I)
def move_entries(source: int, target: int, pieces: int, end: int, lined: int, stack: int) -> None:
    """Copy those entries of a store into an empty one that has room for them. The index of that is not made."""
    for entry in range(load(source + USED)):
        address = tables.entry_at(source, entry)
        if _is_live(address, lined):
            new = tables.entry_at(target, load(target + USED))
            copy(new, address, load(source + SIZE))
            _walk(new, pieces, 0, end, target, stack)
            store(target + USED, load(target + USED) + 1)
            store(target + LIVE, load(target + LIVE) + 1)


# -- what a log names, and rows of it -----------------------------------------------------------------------------
#
# A change is three words: the number of the state, the entry (of a dense state: the place), the index of the cell.
# Rows go into a block: first a bit for each, whether it is present, then columns of words, `pitch` bytes apart.

CHANGE = 24
FEW = 128  # words of a log
FEW_SLOTS = 256
SOON = 16  # changes


@inlined
def _walk_log(instance: int, start: int, at: int, marks: int, out: int, count: int) -> int:
    last = -1
    hdr = size = marked = 0
    while at > start:
        word = load(at - 8)
        what, number, entry = word & 15, (word >> 4) & 4095, word >> 16
        if number != last:  # seldom: else where a record begins would wait for three loads
            last, hdr = number, load(instance + STORES + 8 * number)
            size, marked = 8 * load(hdr + WIDTH) + 8, load(marks + 8 * number) if marks != 0 else 0
        index = 0
        if what == WAS_VALUE:
            at -= size
        elif what == WAS_CELL:
            index = load(at - 24)
            at -= 24
        elif what == WAS_NEAR:
            entry, index = entry & NEAR_ENTRY, word >> NEAR_SHIFT
            at -= 16
        elif what == WAS_WORD:
            entry = (load(at - 24) - load(load(hdr + ENTRIES) + 8)) >> 3
            at -= 24
        else:
            at -= 8
        if marked > 0:
            store_byte(marked + entry, 1)
        elif marked == 0:
            row = out + CHANGE * count
            store(row, number)
            store(row + 8, entry)
            store(row + 16, index)
            count += 1
    return count


@inlined
def _slot_of_change(row: int, secret: int) -> int:
    """Nobody who chooses keys knows where they go."""
    return hash_int(wrap_add(wrap_multiply(load(row + 8) + 1, secret), load(row + 16)))


@inlined
def _each_once(changes: int, count: int, slots: int, mask: int, secret: int) -> int:
    kept = 0
    for i in range(count):
        prefetch(slots + 4 * (_slot_of_change(changes + CHANGE * min(i + SOON, count - 1), secret) & mask))
        row = changes + CHANGE * i
        number, entry, index = load(row), load(row + 8), load(row + 16)
        slot = _slot_of_change(row, secret) & mask
        while True:
            at = load_32(slots + 4 * slot)
            if at < 0:
                store_32(slots + 4 * slot, kept)
                row = changes + CHANGE * kept
                store(row, number)
                store(row + 8, entry)
                store(row + 16, index)
                kept += 1
                break
            row = changes + CHANGE * at
            if load(row + 16) == index and load(row + 8) == entry and load(row) == number:
                break
            slot = (slot + 1) & mask
    return kept


@native(I, I, I, I, I, I)
def walk_log(instance: int, start: int, at: int, marks: int, out: int, count: int) -> int:
    """Find what a part of a log names, the newest first; how many changes there are then.

    `marks` has for each state the address of a byte for each entry, which is set for one that is named. If it is 0 a
    change goes behind those at `out`, which has room for all; if it is below zero, nowhere.
    """
    return _walk_log(instance, start, at, marks, out, count)


@native(I, I, I, I, I)
def each_once(changes: int, count: int, slots: int, mask: int, secret: int) -> int:
    """Leave of equal changes the first; how many are left. `slots` is a table of their numbers, -1 where it is free."""
    return _each_once(changes, count, slots, mask, secret)


@native(I, I, I, I)
def walk_few(instance: int, start: int, at: int, out: int) -> int:
    """Find what a log of a few words names, each once; the table is behind the changes."""
    slots = out + CHANGE * FEW
    for i in range(FEW_SLOTS // 2):
        store(slots + 8 * i, -1)
    return _each_once(out, _walk_log(instance, start, at, 0, out, 0), slots, FEW_SLOTS - 1, 1)


@native(I, I, I, I, I, I)
def gather_entries(hdr: int, chosen: int, step: int, count: int, block: int, pitch: int) -> int:
    """Put the words of entries into a block; their numbers are `step` bytes apart. How many are present."""
    entries, size, width = load(hdr + ENTRIES), load(hdr + SIZE), load(hdr + SIZE) // 8 - 1
    total = bits = 0
    first = block + _bits_room(count)
    for i in range(count):
        address = entries + load(chosen + step * i) * size
        if tables.is_present(address):
            bits |= 1 << (i & 63)
            total += 1
        if i & 63 == 63:
            store(block + (i >> 6) * 8, bits)
            bits = 0
        if width == 2:
            store(first + 8 * i, load(address + 8))
            store(first + pitch + 8 * i, load(address + 16))
        else:
            for w in range(width):
                store(first + pitch * w + 8 * i, load(address + 8 + 8 * w))
    if count & 63 != 0:
        store(block + (count >> 6) * 8, bits)
    return total


@inlined
def _bits_room(count: int) -> int:
    return (count + 511) // 512 * 64


@native(I, I, I, I, I)
def gather_range(hdr: int, start: int, end: int, block: int, pitch: int) -> int:
    """Put the words of those of a range of entries that are present into columns at `block`; how many there are."""
    entries, size, width = load(hdr + ENTRIES), load(hdr + SIZE), load(hdr + SIZE) // 8 - 1
    count = 0
    if width == 2:
        for entry in range(start, end):
            address = entries + entry * size
            store(block + 8 * count, load(address + 8))
            store(block + pitch + 8 * count, load(address + 16))
            count += 1 if tables.is_present(address) else 0
        return count
    for entry in range(start, end):
        address = entries + entry * size
        if tables.is_present(address):
            for w in range(width):
                store(block + pitch * w + 8 * count, load(address + 8 + 8 * w))
            count += 1
    return count


@native(I, I, I, I, I)
def gather_cells(hdr: int, chosen: int, count: int, block: int, pitch: int) -> int:
    """Put line, index and value of the cells of changes into a block; how many are not zero."""
    total = bits = 0
    first = block + _bits_room(count)
    for i in range(count):
        address, index = tables.entry_at(hdr, load(chosen + CHANGE * i + 8)), load(chosen + CHANGE * i + 16)
        value = lines.get_cell(address + 16, index)
        if value != 0.0:
            bits |= 1 << (i & 63)
            total += 1
        if i & 63 == 63:
            store(block + (i >> 6) * 8, bits)
            bits = 0
        store(first + 8 * i, load(address + 8))
        store(first + pitch + 8 * i, index)
        store_float(first + 2 * pitch + 8 * i, value)
    if count & 63 != 0:
        store(block + (count >> 6) * 8, bits)
    return total


@native(I, I, I, I, I)
def gather_lines(hdr: int, start: int, end: int, block: int, pitch: int) -> int:
    """Put line, index and value of all cells of a range of lines into columns at `block`; how many there are."""
    count = 0
    for entry in range(start, end):
        address = tables.entry_at(hdr, entry)
        line = address + 16
        for step in range(lines.line_steps(line)):
            value = lines.step_value(line, step)
            if value != 0.0:
                store(block + 8 * count, load(address + 8))
                store(block + pitch + 8 * count, lines.step_index(line, step))
                store_float(block + 2 * pitch + 8 * count, value)
                count += 1
    return count


# -- rows into a store --------------------------------------------------------------------------------------------

AHEAD, NEAR = 24, 12  # rows


@inlined
def _read_row(columns: int, first: int, end: int, i: int, target: int) -> None:
    for w in range(first, end):
        store(target + 8 * w, load(load(columns + 16 * w) + load(columns + 16 * w + 8) * i))


@inlined
def _keep_all(context: int, hdr: int, row: int, pieces: int, first: int, end: int, stack: int) -> None:
    """Let the words of an entry refer to copies in the heap of the store; leaves before anything is copied."""
    if first == end:
        return
    need = _walk(row, pieces, first, end, 0, stack)
    if load(hdr + HEAP) + need > load(hdr + HEAP_END):
        tables.full(context, FULL_HEAP, hdr, need)
    _walk(row, pieces, first, end, hdr, stack)


@native(I, I, I, I, I, I, I, I)
def append_rows(
    context: int, hdr: int, hashes: int, columns: int, count: int, pieces: int, end: int, stack: int
) -> None:
    """Add an entry for each row, from that of the context on; none of their keys is in the store.

    `columns` are address and stride for each word of key and value.
    """
    mask, chunks, low, secret = load(hdr + MASK), load(hdr + CHUNKS), load(hdr + LOW), load(hdr + SECRET)
    index, numbers, width = load(hdr + INDEX), load(hdr + NUMBERS), load(hdr + SIZE) // 8 - 1
    for i in range(load(context + ROW), count):
        store(context + ROW, i)
        ahead = load(hashes + 8 * min(i + AHEAD, count - 1))
        prefetch(index + 4 * tables.slot_of(ahead, mask, chunks, low, secret))
        entry = load(hdr + USED)
        if entry >= load(hdr + CAPACITY):
            tables.full(context, FULL_ENTRIES, hdr, 0)
        address, hashed = tables.entry_at(hdr, entry), load(hashes + 8 * i) & HASH
        _read_row(columns, 0, width, i, address + 8)
        _keep_all(context, hdr, address, pieces, 0, end, stack)
        store(address, hashed | PRESENT)
        slot = tables.slot_of(hashed, mask, chunks, low, secret)
        while load_32(index + 4 * slot) >= 0:
            slot = tables.next_slot(slot, mask)
        store_32(index + 4 * slot, entry | tables.tag_of(hashed, numbers))
        store(hdr + USED, entry + 1)
        store(hdr + LIVE, load(hdr + LIVE) + 1)


@native(I, I, I, I, I, I, I, I, I, I, I, I)
def put_rows(
    context: int,
    hdr: int,
    hashes: int,
    columns: int,
    present: int,
    count: int,
    sparse: int,
    row: int,
    pieces: int,
    values: int,
    end: int,
    stack: int,
) -> None:
    """Let entries have the values of rows, from that of the context on, and remove those that are not present.

    `present` is a byte for each row. Where the store is `sparse`, zero is no value. `row` is room for an entry; the
    pieces from `values` on are those of the value.
    """
    mask, chunks, low, secret = load(hdr + MASK), load(hdr + CHUNKS), load(hdr + LOW), load(hdr + SECRET)
    index, numbers, entries, size = load(hdr + INDEX), load(hdr + NUMBERS), load(hdr + ENTRIES), load(hdr + SIZE)
    keys, words = load(hdr + KEY), size // 8 - 1
    value = row + load(hdr + VALUE)
    for i in range(load(context + ROW), count):
        store(context + ROW, i)
        ahead = load(hashes + 8 * min(i + AHEAD, count - 1))
        prefetch(index + 4 * tables.slot_of(ahead, mask, chunks, low, secret))
        near = load(hashes + 8 * min(i + NEAR, count - 1))
        guess = tables.entry_by_tag(index, tables.slot_of(near, mask, chunks, low, secret), mask, numbers, near)
        prefetch(entries + max(guess, 0) * size)
        hashed = load(hashes + 8 * i)
        _read_row(columns, 0, keys, i, row + 8)
        entry = tables.find_words(hdr, hashed, row + 8)
        there = load_byte(present + i) != 0
        if there:
            _read_row(columns, keys, words, i, row + 8)
            if sparse != 0 and load_float(value) == 0.0:
                there = False
        if not there:
            if entry >= 0 and tables.is_present(entries + entry * size):
                store(entries + entry * size, load(entries + entry * size) & HASH)
                store(hdr + LIVE, load(hdr + LIVE) - 1)
            continue
        if entry < 0:
            if load(hdr + USED) >= load(hdr + CAPACITY):
                tables.full(context, FULL_ENTRIES, hdr, 0)
            _keep_all(context, hdr, row, pieces, 0, end, stack)
            entry = tables.add_entry(context, hdr, entry, hashed)
            copy(entries + entry * size + 8, row + 8, size - 8)
        else:
            _keep_all(context, hdr, row, pieces, values, end, stack)
            copy(entries + entry * size + load(hdr + VALUE), value, 8 * load(hdr + WIDTH))
        if not tables.is_present(entries + entry * size):
            store(entries + entry * size, load(entries + entry * size) | PRESENT)
            store(hdr + LIVE, load(hdr + LIVE) + 1)


@native(I, I, I, I, I, I, I)
def put_cells(context: int, instance: int, hdr: int, columns: int, present: int, count: int, key: int) -> None:
    """Let cells have the values of rows (line, index, value), from that of the context on; zero if not present."""
    entry, known = -1, False
    for i in range(load(context + ROW), count):
        store(context + ROW, i)
        line = load(load(columns) + load(columns + 8) * i)
        value = load_float(load(columns + 32) + load(columns + 40) * i) if load_byte(present + i) != 0 else 0.0
        if not known or entry < 0 or load(key) != line:
            store(key, line)
            entry, known = tables.find_words(hdr, hash_int(line), key), True
        if entry < 0:
            if value == 0.0:
                continue
            entry = tables.add_entry(context, hdr, entry, hash_int(line))
            address = tables.entry_at(hdr, entry)
            store(address + 8, line)
            for w in range(5):
                store(address + 16 + 8 * w, 0)
        lines.set_cell(context, instance, hdr, entry, load(load(columns + 16) + load(columns + 24) * i), value)
