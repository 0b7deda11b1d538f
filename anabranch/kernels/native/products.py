"""`Matrix.dot` on lines that are columns: each row's sum, in the order of the vector's items."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from anabranch.kernels.native import lines, tables
from anabranch.kernels.native.driver import native
from anabranch.kernels.native.hashing import hash_int
from anabranch.kernels.native.words import load, load_byte, load_float, store, store_byte, store_float

I = numba.types.int64
WIDEST = 1 << 24  # rows between the lowest and the highest for which there is an array of sums


@native(I, I, I, I)
def find_lines(hdr: int, indices: int, count: int, found: int) -> int:
    """Write the addresses of the lines with these numbers, 0 where there is none, then the lowest and highest row.

    Gives the number of cells.
    """
    cells = 0
    low, high = (1 << 62), -(1 << 62)
    for i in range(count):
        entry = tables.find_words(hdr, hash_int(load(indices + 8 * i)), indices + 8 * i)
        line = 0 if entry < 0 else tables.entry_at(hdr, entry) + 16
        store(found + 8 * i, line)
        steps = lines.line_steps(line)
        if steps > 0:
            low = min(low, lines.step_index(line, 0))
            high = max(high, lines.step_index(line, steps - 1))
            cells += steps
    store(found + 8 * count, low)
    store(found + 8 * count + 8, high)
    return cells


@native(I, I, I, I, I, I)
def add_lines(found: int, factors: int, count: int, low: int, sums: int, touched: int) -> None:
    for i in range(count):
        line, factor = load(found + 8 * i), load_float(factors + 8 * i)
        for step in range(lines.line_steps(line)):
            value = lines.step_value(line, step)
            if value != 0.0:
                at = lines.step_index(line, step) - low
                store_float(sums + 8 * at, load_float(sums + 8 * at) + value * factor)
                store_byte(touched + at, 1)


@native(I, I, I, I)
def collect(touched: int, width: int, sums: int, found: int) -> int:
    """The places with a sum other than zero."""
    count = 0
    for i in range(width):
        if load_byte(touched + i) != 0 and load_float(sums + 8 * i) != 0.0:
            store(found + 8 * count, i)
            count += 1
    return count


def dot_columns(
    hdr: int, indices: NDArray[np.int64], factors: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Rows and their sums, ascending; None where the rows are too far apart for an array of sums."""
    count = len(indices)
    found = np.empty(count + 2, dtype=np.int64)
    if not find_lines(hdr, indices.ctypes.data, count, found.ctypes.data):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    low, high = found[-2:].tolist()
    width = high - low + 1
    if width > WIDEST:
        return None
    sums, touched = np.zeros(width), np.zeros(width, dtype=np.uint8)
    add_lines(found.ctypes.data, factors.ctypes.data, count, low, sums.ctypes.data, touched.ctypes.data)
    at = np.empty(width, dtype=np.int64)
    at = at[: collect(touched.ctypes.data, width, sums.ctypes.data, at.ctypes.data)]
    return at + low, sums[at]
