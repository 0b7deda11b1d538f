"""Sparse vectors that a row makes: lines (see `lines`) in scratch memory, and what is made of them.

A vector is the address of its line, 0 if it is empty; nothing changes it. In memory, as a parameter or a result, it is
the address of its pairs (index, value) and their number.

Laws: those of `anabranch.lang.vector` and `Matrix.dot`: sums go from left to right and begin at 0.0, entries that are
zero are absent.
"""

from __future__ import annotations

import math

from anabranch.kernels.native.hashing import hash_int
from anabranch.kernels.native.lines import (
    CELLS,
    COUNT,
    DENSE,
    GREATEST,
    LEAST,
    LINE_WORDS,
    LOW,
    ROOM,
    get_cell,
    index_span,
    line_steps,
    step_index,
    step_value,
)
from anabranch.kernels.native.lists import LONG, line_count, take_kept
from anabranch.kernels.native.memory import ENTRIES, SIZE, USED, VALUE
from anabranch.kernels.native.sorting import sort_items
from anabranch.kernels.native.tables import find_words, take_scratch
from anabranch.kernels.native.words import Leave, inlined, load, load_float, store, store_float

SPARSE_ADD, SPARSE_SUBTRACT, SPARSE_MULTIPLY, SPARSE_DIVIDE = range(4)
SHORT = 4096  # rows from the lowest to the highest for which sums always stand in an array


@inlined
def pairs_line(context: int, pairs: int, count: int) -> int:
    """The vector whose pairs are in memory already, in ascending order."""
    if count == 0:
        return 0
    line = take_scratch(context, 8 * LINE_WORDS)
    store(line + CELLS, pairs)
    store(line + COUNT, count)
    store(line + ROOM, count)
    store(line + LOW, 0)
    store(line + DENSE, 0)
    return line


@inlined
def line_pairs(line: int) -> int:
    """Where the pairs of a vector are that was handed over, or came in."""
    return 0 if line == 0 else load(line + CELLS)


@inlined
def hand_line(context: int, line: int) -> int:
    """A vector as a result refers to it: a copy of its pairs that lives as long as the result."""
    count = line_count(line)
    if count == 0:
        return 0
    pairs = take_kept(context, 16 * count)
    at = pairs
    for step in range(line_steps(line)):
        value = step_value(line, step)
        if value != 0.0:
            store(at, step_index(line, step))
            store_float(at + 8, value)
            at += 16
    return pairs_line(context, pairs, count)


@inlined
def _ended(pairs: int, end: int, context: int) -> int:
    return pairs_line(context, pairs, (end - pairs) >> 4)


@inlined
def sparse_both(context: int, a: int, b: int, what: int) -> int:
    """`a + b` or `a - b`."""
    n, m = line_steps(a), line_steps(b)
    pairs = take_scratch(context, 16 * (line_count(a) + line_count(b)))
    at = pairs
    i = j = 0
    while i < n or j < m:
        x = step_value(a, i) if i < n else 0.0
        y = step_value(b, j) if j < m else 0.0
        if i < n and x == 0.0:
            i += 1
            continue
        if j < m and y == 0.0:
            j += 1
            continue
        p = step_index(a, i) if i < n else GREATEST
        q = step_index(b, j) if j < m else GREATEST
        if j >= m or (i < n and p < q):
            index, value = p, x
            i += 1
        elif i >= n or q < p:
            index, value = q, y if what == SPARSE_ADD else -y
            j += 1
        else:
            index, value = p, x + y if what == SPARSE_ADD else x - y
            i += 1
            j += 1
        if value != 0.0:
            store(at, index)
            store_float(at + 8, value)
            at += 16
    return _ended(pairs, at, context)


@inlined
def sparse_each(context: int, a: int, y: float, what: int) -> int:
    """A vector times, or divided by, a float."""
    if what == SPARSE_DIVIDE and y == 0.0:
        raise Leave
    pairs = take_scratch(context, 16 * line_count(a))
    at = pairs
    for step in range(line_steps(a)):
        x = step_value(a, step)
        if x != 0.0:
            value = x * y if what == SPARSE_MULTIPLY else x / y
            if value != 0.0:
                store(at, step_index(a, step))
                store_float(at + 8, value)
                at += 16
    return _ended(pairs, at, context)


@inlined
def sparse_dot(a: int, b: int) -> float:
    total = 0.0
    for step in range(line_steps(a)):
        x = step_value(a, step)
        if x != 0.0:
            y = get_cell(b, step_index(a, step))
            if y != 0.0:
                total += x * y
    return total


@inlined
def sparse_sum(a: int) -> float:
    total = 0.0
    for step in range(line_steps(a)):
        total += step_value(a, step)
    return total


@inlined
def sparse_norm(a: int) -> float:
    total = 0.0
    for step in range(line_steps(a)):
        x = step_value(a, step)
        total += x * x
    return math.sqrt(total)


# -- products of a matrix and a vector ------------------------------------------------------------------------------


@inlined
def dot_columns(context: int, hdr: int, vector: int) -> int:
    """`m.dot(v)` of a matrix whose lines are columns: the sum of each row, in the order of the vector's items."""
    steps = line_steps(vector)
    found = take_scratch(context, 8 + 16 * steps)
    key = found + 16 * steps
    count = cells = 0
    low, high = GREATEST, LEAST
    for step in range(steps):
        factor = step_value(vector, step)
        if factor != 0.0:
            store(key, step_index(vector, step))
            entry = find_words(hdr, hash_int(load(key)), key)
            line = 0 if entry < 0 else load(hdr + ENTRIES) + entry * load(hdr + SIZE) + load(hdr + VALUE)
            if line_count(line) > 0:
                store(found + 16 * count, line)
                store_float(found + 16 * count + 8, factor)
                count += 1
                cells += load(line + COUNT)
                low = min(low, step_index(line, 0))
                high = max(high, step_index(line, line_steps(line) - 1))
    if count == 0:
        return 0
    width = index_span(low, high)
    if width <= SHORT or (width <= 4 * cells and width <= LONG):
        return _dot_by_array(context, found, count, low, width)
    return _dot_by_order(context, found, count, cells)


@inlined
def _dot_by_array(context: int, found: int, count: int, low: int, width: int) -> int:
    """The sums in an array, which is a dense line."""
    line = take_scratch(context, 8 * LINE_WORDS + 8 * width)
    sums = line + 8 * LINE_WORDS
    for i in range(width):
        store(sums + 8 * i, 0)
    for i in range(count):
        _add_line(load(found + 16 * i), load_float(found + 16 * i + 8), sums, low)
    there = 0
    for i in range(width):
        there += 1 if load_float(sums + 8 * i) != 0.0 else 0
    store(line + CELLS, sums)
    store(line + COUNT, there)
    store(line + ROOM, width)
    store(line + LOW, low)
    store(line + DENSE, 1)
    return line


@inlined
def _add_line(line: int, factor: float, sums: int, low: int) -> None:
    cells = load(line + CELLS)
    if load(line + DENSE) != 0:
        first, room = sums + 8 * (load(line + LOW) - low), load(line + ROOM)
        if factor - factor == 0.0:  # then a cell that is absent adds a zero, which changes no sum: none is -0.0
            for i in range(room):
                store_float(first + 8 * i, load_float(first + 8 * i) + load_float(cells + 8 * i) * factor)
        else:
            for i in range(room):
                value = load_float(cells + 8 * i)
                if value != 0.0:
                    store_float(first + 8 * i, load_float(first + 8 * i) + value * factor)
        return
    for i in range(load(line + COUNT)):
        at = sums + 8 * (load(cells + 16 * i) - low)
        store_float(at, load_float(at) + load_float(cells + 16 * i + 8) * factor)


@inlined
def _dot_by_order(context: int, found: int, count: int, cells: int) -> int:
    """The products by their rows, those of one row in their order, and then summed."""
    pairs = take_scratch(context, 16 * cells)
    at = pairs
    for i in range(count):
        line, factor = load(found + 16 * i), load_float(found + 16 * i + 8)
        for step in range(line_steps(line)):
            value = step_value(line, step)
            if value != 0.0:
                store(at, step_index(line, step))
                store_float(at + 8, value * factor)
                at += 16
    sort_items(context, pairs, cells, 2, 1, False)
    end, at = at, pairs
    read = pairs
    while read < end:
        index, total = load(read), 0.0
        while read < end and load(read) == index:
            total += load_float(read + 8)
            read += 16
        if total != 0.0:
            store(at, index)
            store_float(at + 8, total)
            at += 16
    return _ended(pairs, at, context)


@inlined
def dot_rows(context: int, hdr: int, vector: int) -> int:
    """`m.dot(v)` of a matrix whose lines are rows: all of them are looked at."""
    if line_count(vector) == 0:
        return 0
    used = load(hdr + USED)
    pairs = take_scratch(context, 16 * used)
    count = 0
    for entry in range(used):
        address = load(hdr + ENTRIES) + entry * load(hdr + SIZE)
        total = sparse_dot(vector, address + load(hdr + VALUE))
        if total != 0.0:
            store(pairs + 16 * count, load(address + 8))
            store_float(pairs + 16 * count + 8, total)
            count += 1
    sort_items(context, pairs, count, 2, 1, False)
    return pairs_line(context, pairs, count)
