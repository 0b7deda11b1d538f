"""Dense vectors as kernels see them: the head of a list of floats (see `lists`), which never changes its length.

Laws: those of `anabranch.lang.dense`: sums go from left to right and begin at 0.0, vectors of different lengths and
a division by zero leave.
"""

from __future__ import annotations

import math

from anabranch.kernels.native.lists import LONG, new_list
from anabranch.kernels.native.words import Leave, copy, inlined, load, load_float, store, store_float

ADD, SUBTRACT, MULTIPLY, DIVIDE, TURNED = range(5)  # turned: a float minus a vector


@inlined
def dense_at(head: int, index: int) -> int:
    if index < 0 or index >= load(head + 8):
        raise Leave
    return load(head) + 8 * index


@inlined
def new_dense(context: int, size: int) -> int:
    """One of this size, its entries still to be written."""
    if size < 0 or size > LONG:
        raise Leave
    head = new_list(context, size, 1)
    store(head + 8, size)
    return head


@inlined
def dense_zeros(context: int, size: int) -> int:
    head = new_dense(context, size)
    for i in range(size):
        store_float(load(head) + 8 * i, 0.0)
    return head


@inlined
def dense_copy(context: int, head: int) -> int:
    size = load(head + 8)
    made = new_dense(context, size)
    copy(load(made), load(head), 8 * size)
    return made


@inlined
def _combined(x: float, y: float, what: int) -> float:
    if what == ADD:
        return x + y
    if what == SUBTRACT:
        return x - y
    if what == MULTIPLY:
        return x * y
    if what == TURNED:
        return y - x
    if y == 0.0:
        raise Leave
    return x / y


@inlined
def dense_both(context: int, a: int, b: int, what: int) -> int:
    """Two vectors, entry by entry."""
    size = load(a + 8)
    if size != load(b + 8):
        raise Leave
    made = new_dense(context, size)
    x, y, z = load(a), load(b), load(made)
    for i in range(size):
        store_float(z + 8 * i, _combined(load_float(x + 8 * i), load_float(y + 8 * i), what))
    return made


@inlined
def dense_each(context: int, a: int, y: float, what: int) -> int:
    """A vector and a float."""
    if what == DIVIDE and y == 0.0:
        raise Leave
    size = load(a + 8)
    made = new_dense(context, size)
    x, z = load(a), load(made)
    for i in range(size):
        store_float(z + 8 * i, _combined(load_float(x + 8 * i), y, what))
    return made


@inlined
def dense_negated(context: int, a: int) -> int:
    size = load(a + 8)
    made = new_dense(context, size)
    for i in range(size):
        store_float(load(made) + 8 * i, -load_float(load(a) + 8 * i))
    return made


@inlined
def dense_dot(a: int, b: int) -> float:
    size = load(a + 8)
    if size != load(b + 8):
        raise Leave
    x, y, total = load(a), load(b), 0.0
    for i in range(size):
        total += load_float(x + 8 * i) * load_float(y + 8 * i)
    return total


@inlined
def dense_sum(a: int) -> float:
    x, total = load(a), 0.0
    for i in range(load(a + 8)):
        total += load_float(x + 8 * i)
    return total


@inlined
def dense_norm(a: int) -> float:
    return math.sqrt(dense_dot(a, a))


@inlined
def dense_equal(a: int, b: int) -> bool:
    if load(a + 8) != load(b + 8):
        return False
    x, y, same = load(a), load(b), True
    for i in range(load(a + 8)):
        same &= load_float(x + 8 * i) == load_float(y + 8 * i)
    return same


@inlined
def dense_same(a: int, b: int) -> bool:
    """Equal as items of a tuple or list are: one and the same is equal, also if it holds a NaN."""
    if a == b:
        return True
    if load(a + 8) != load(b + 8):
        return False
    x, y = load(a), load(b)
    for i in range(load(a + 8)):
        p, q = load_float(x + 8 * i), load_float(y + 8 * i)
        if p != q:
            if p != p and q != q:
                raise Leave  # they may be one all the same: only Python knows
            return False
    return True


@inlined
def dense_row(data: int, rows: int, columns: int, i: int) -> int:
    """Where a row of an array begins."""
    if i < 0 or i >= rows:
        raise Leave
    return data + 8 * columns * i


@inlined
def dense_cell(data: int, rows: int, columns: int, i: int, j: int) -> int:
    if i < 0 or i >= rows or j < 0 or j >= columns:
        raise Leave
    return data + 8 * (columns * i + j)
