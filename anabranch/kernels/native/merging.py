"""Rows from several boxes in one order."""

from __future__ import annotations

import numba

from anabranch.kernels.native.driver import native
from anabranch.kernels.native.words import load, store

I = numba.types.int64


@native(I, I, I, I)
def merge_rows(runs: int, count: int, rows: int, ways: int) -> None:
    """Merge runs of rows by sequence and order. A run is its address, its rows, the bytes of one and its flow.

    The runs are used up; `rows` gets the address of each row in order, `ways` its flow.
    """
    at = 0
    while True:
        best = -1
        first = second = 0
        for i in range(count):
            run = runs + 32 * i
            if load(run + 8) > 0:
                sequence, order = load(load(run)), load(load(run) + 8)
                if best < 0 or sequence < first or (sequence == first and order < second):
                    best, first, second = run, sequence, order
        if best < 0:
            return
        store(rows + 8 * at, load(best))
        store(ways + 8 * at, load(best + 24))
        store(best, load(best) + load(best + 16))
        store(best + 8, load(best + 8) - 1)
        at += 1
