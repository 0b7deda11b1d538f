"""Loops over columns: what they refer to put together, keys hashed, rows dealt out."""

from __future__ import annotations

import numba

from anabranch.kernels.native.driver import BOOL_KEY, INT_KEY, STR_KEY, native
from anabranch.kernels.native.hashing import hash_bool, hash_bytes, hash_int, hash_text, hash_tuple_step
from anabranch.kernels.native.words import copy, load, store

I = numba.types.int64


@native(I, I, I, I, I, I)
def gather_pieces(addresses: int, step: int, sizes: int, count: int, unit: int, target: int) -> None:
    """Copy pieces of memory one behind the other.

    Their addresses are `step` bytes apart, their sizes one word each, in units of so many bytes.
    """
    for i in range(count):
        size = load(sizes + 8 * i) * unit
        if size > 0:
            copy(target, load(addresses + step * i), size)
            target += size


@native(I, I, I, I, I, I, I)
def hash_column(kind: int, words: int, step: int, sizes: int, size_step: int, count: int, out: int) -> None:
    """The hashes of the keys of a column; `sizes` are those of text."""
    if kind == INT_KEY:
        for i in range(count):
            store(out + 8 * i, hash_int(load(words + step * i)))
    elif kind == BOOL_KEY:
        for i in range(count):
            store(out + 8 * i, hash_bool(load(words + step * i) != 0))
    elif kind == STR_KEY:
        for i in range(count):
            store(out + 8 * i, hash_text(load(words + step * i), load(sizes + size_step * i)))
    else:
        for i in range(count):
            store(out + 8 * i, hash_bytes(load(words + step * i), load(sizes + size_step * i)))


@native(I, I, I)
def hash_further(hashes: int, items: int, count: int) -> None:
    """Go on with the hashes of tuples by those of an item of each."""
    for i in range(count):
        store(hashes + 8 * i, hash_tuple_step(load(hashes + 8 * i), load(items + 8 * i)))


@native(I, I, I, I, I)
def deal_rows(piles: int, count: int, number: int, ends: int, order: int) -> None:
    """The rows of pile 0 in order, then those of pile 1, and so on; `ends`, zeros at first, is where each ends."""
    for i in range(count):
        at = ends + 8 * load(piles + 8 * i)
        store(at, load(at) + 1)
    total = 0
    for pile in range(number):
        rows = load(ends + 8 * pile)
        store(ends + 8 * pile, total)
        total += rows
    for i in range(count):
        at = ends + 8 * load(piles + 8 * i)
        store(order + 8 * load(at), i)
        store(at, load(at) + 1)
