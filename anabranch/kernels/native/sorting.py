"""Items of a list in order, as `list.sort` gives it: stable, whatever the sort.

`code` says how items are compared, one digit of base 4 for each thing from the lowest on: 1 is an integer or a boolean,
2 a float, 3 text, which is two words; 0 is the end. The items of tuples follow each other. A NaN leaves.
"""

from __future__ import annotations

from anabranch.kernels.native.tables import take_scratch
from anabranch.kernels.native.text import text_compare
from anabranch.kernels.native.words import Leave, copy, inlined, load, load_float

_RUN = 8


@inlined
def compare_items(a: int, b: int, code: int) -> int:
    """-1, 0 or 1 as the first is less than, equal to or greater than the second."""
    while code != 0:
        kind = code & 3
        if kind == 3:
            found = text_compare(load(a), load(a + 8), load(b), load(b + 8))
            if found != 0:
                return found
            a += 8
            b += 8
        elif kind == 2:
            x, y = load_float(a), load_float(b)
            if x != x or y != y:
                raise Leave
            if x != y:
                return -1 if x < y else 1
        else:
            i, j = load(a), load(b)
            if i != j:
                return -1 if i < j else 1
        a += 8
        b += 8
        code >>= 2
    return 0


@inlined
def _sort_run(items: int, start: int, end: int, size: int, code: int, sign: int, spare: int) -> None:
    """By insertion."""
    for i in range(start + 1, end):
        j = i
        copy(spare, items + i * size, size)
        while j > start and sign * compare_items(spare, items + (j - 1) * size, code) < 0:
            copy(items + j * size, items + (j - 1) * size, size)
            j -= 1
        copy(items + j * size, spare, size)


@inlined
def _merge(a: int, start: int, middle: int, end: int, b: int, size: int, code: int, sign: int) -> None:
    i, j = start, middle
    for k in range(start, end):
        if j >= end or (i < middle and sign * compare_items(a + j * size, a + i * size, code) >= 0):
            copy(b + k * size, a + i * size, size)
            i += 1
        else:
            copy(b + k * size, a + j * size, size)
            j += 1


@inlined
def sort_items(context: int, items: int, count: int, width: int, code: int, reverse: bool) -> None:
    if count < 2:
        return
    size, sign = 8 * width, -1 if reverse else 1
    spare = take_scratch(context, size)
    for start in range(0, count, _RUN):
        _sort_run(items, start, min(start + _RUN, count), size, code, sign, spare)
    if count <= _RUN:
        return
    other = take_scratch(context, size * count)
    a, b, run = items, other, _RUN
    while run < count:
        start = 0
        while start < count:
            middle = min(start + run, count)
            _merge(a, start, middle, min(middle + run, count), b, size, code, sign)
            start += 2 * run
        a, b, run = b, a, 2 * run
    if a != items:
        copy(items, a, size * count)
