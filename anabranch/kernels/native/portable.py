"""Blocks and boxes as plain buffers, for other address spaces.

What is packed is a list of integers and of buffers, contiguous, words in the order of bytes of this machine, and no
address among them. First come the words of the rows, then what they refer to, piece by piece: all bytes of a text
column, or all items of a column of lists, which are rows again. Addresses are left out, or are 0, and made on arrival.

Laws: what is unpacked has the rows that were packed (words without references bit by bit) and refers only to memory
that it keeps alive itself. What is not as it was packed raises `ValueError` and nothing outside of its buffers is read;
that text is sound and that numbers mean something is the sender's matter. Nothing is copied that can be used as it is:
a packed block may share memory with the block, and one that is unpacked with the buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from anabranch.graph.liveness import helper_prefixes
from anabranch.graph.nodes import Graph
from anabranch.kernels.native.blocks import Block
from anabranch.kernels.native.columns import PAIR, Words, as_kind
from anabranch.kernels.native.gathering import gather_pieces
from anabranch.kernels.native.layout import TEXT, kinds
from anabranch.kernels.native.shares import Share
from anabranch.kernels.native.staged import SYSTEM
from anabranch.kernels.native.stages import Box
from anabranch.lang.types import FLOAT, INT, Dense, List, Optional, Record, Scalar, Sparse, Tuple, Type, thaw

Packed = list[Any]


@dataclass(frozen=True, slots=True)
class Reference:
    """Word `at` of a row is an address, the next one says how many of what is there, of `unit` bytes each.

    `items` is the type of these, None for text. `flags` are the words of the row that are all set where it holds.
    """

    at: int
    unit: int
    items: Type | None
    flags: tuple[int, ...]


@lru_cache(maxsize=4096)
def references(t: Type, at: int = 0, flags: tuple[int, ...] = ()) -> tuple[Reference, ...]:
    """What the words of a value refer to, the first of which is number `at`."""
    match t:
        case Scalar():
            return (Reference(at, 1, None, flags),) if t in TEXT else ()
        case Optional(of):
            return references(of, at + 1, (*flags, at))
        case List(of):
            return (Reference(at, 8 * _width(of), of, flags),)
        case Dense():
            return (Reference(at, 8, FLOAT, flags),)
        case Sparse():
            return (Reference(at, 16, PAIR, flags),)
        case Tuple(items):
            types = items
        case Record(_, fields):
            types = tuple(f for _, f in fields)
        case _:
            return ()
    found: list[Reference] = []
    for item in types:
        found += references(item, at, flags)
        at += len(kinds(item))
    return tuple(found)


def _width(t: Type) -> int:
    """Words of a row that is a value of this type; a row has at least one."""
    return max(len(kinds(t)), 1)


# -- blocks -----------------------------------------------------------------------------------------------------------


def pack_block(block: Block) -> Packed:
    """The block, or share, as integers and buffers."""
    packed: Packed = [int(isinstance(block, Share)), len(block)]
    if isinstance(block, Share):
        packed.append(np.ascontiguousarray(block.sequences))
    refers = references(Tuple(block.types))
    pieces = [_gathered(block.columns, r) for r in refers]
    sizes = {r.at + 1: found for r, (found, _) in zip(refers, pieces, strict=True)}
    addresses = {r.at for r in refers}
    for i, column in enumerate(block.columns):
        if i not in addresses:
            packed.append(sizes[i] if i in sizes else np.ascontiguousarray(column))
    for refer, (_, piece) in zip(refers, pieces, strict=True):
        _pack_piece(refer, piece, packed)
    return packed


def unpack_block(types: tuple[Type, ...], packed: Packed) -> Block:
    """The block that was packed, a share if it was one; `types` are those of its parameters."""
    reader = _Reader(packed)
    shared, count = reader.number(1), reader.number()
    sequences = reader.words(count) if shared else None
    t = Tuple(types)
    refers = references(t)
    addresses = {r.at for r in refers}
    columns: list[Words] = []
    for i, kind in enumerate(kinds(t)):
        words = np.zeros(0, dtype=np.int64) if i in addresses else reader.words(count)
        columns.append(as_kind(words, kind))
    kept = []
    for refer in refers:
        columns[refer.at], piece = _unpack_piece(refer, columns[refer.at + 1], reader)
        kept.append(piece)
    reader.end()
    if sequences is not None:
        return Share(types, tuple(columns), count, kept, sequences=sequences)
    return Block(types, tuple(columns), count, kept)


# -- boxes ------------------------------------------------------------------------------------------------------------


def pack_box(graph: Graph, result: Type | None, box: Box) -> Packed:
    """The box as integers and buffers; `result` is the type of the results of its entry."""
    packed: Packed = [box.flow, box.instance, len(box)]
    _pack_rows(row_type(graph, result, box.flow), box.rows, packed)
    return packed


def unpack_box(graph: Graph, result: Type | None, packed: Packed) -> Box:
    reader = _Reader(packed)
    flow, instance, count = reader.number(len(graph.flows) - 1, least=-1), reader.number(), reader.number()
    rows, kept = _unpack_rows(row_type(graph, result, flow), count, reader)
    reader.end()
    return Box(flow, instance, rows, kept)


def row_type(graph: Graph, result: Type | None, flow: int) -> Type:
    """The words of a row in a box, as a type: what may be unset is, in memory, what may be None."""
    if flow < 0:
        if result is None:
            raise ValueError("a box of results, of which the type is not known")
        return Tuple((INT, result))
    task = graph.task(graph.flow(flow).target)
    unset = helper_prefixes(graph.entry(task.entry).body)
    inputs = [(v.name.startswith(unset), thaw(v.type)) for v in task.inputs]
    return Tuple((INT,) * SYSTEM + tuple(Optional(t) if may else t for may, t in inputs))


# -- rows and what they refer to --------------------------------------------------------------------------------------


def _gathered(columns: Sequence[Words] | Words, refer: Reference) -> tuple[Words, Words]:
    """How large what each row refers to is, and all of it one behind the other."""
    sizes = np.ascontiguousarray(columns[refer.at + 1])
    for flag in refer.flags:  # where there is no value the words may be anything
        sizes = sizes * (columns[flag] != 0)
    total = int(sizes.sum()) * refer.unit
    piece = np.empty(total, dtype=np.uint8) if refer.items is None else np.empty(total // 8, dtype=np.int64)
    addresses = columns[refer.at]
    gather_pieces(
        addresses.ctypes.data, addresses.strides[0], sizes.ctypes.data, len(sizes), refer.unit, piece.ctypes.data
    )
    return sizes, piece


def _pack_piece(refer: Reference, piece: Words, packed: Packed) -> None:
    if refer.items is None:
        packed.append(piece)
    else:
        _pack_rows(refer.items, piece.reshape(-1, _width(refer.items)), packed)


def _pack_rows(t: Type, rows: Words, packed: Packed) -> None:
    refers = references(t)
    rows = np.array(rows) if refers else np.ascontiguousarray(rows)
    packed.append(rows)
    for refer in refers:
        sizes, piece = _gathered(rows.T, refer)
        rows[:, refer.at], rows[:, refer.at + 1] = 0, sizes
        _pack_piece(refer, piece, packed)


def _unpack_piece(refer: Reference, sizes: Words, reader: _Reader) -> tuple[Words, Any]:
    """The addresses of what rows refer to, whose sizes are known, and what keeps it alive."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    # Sizes that are not negative and add up to what is there name nothing outside of it; a sum may overflow on the way.
    if len(sizes) and (int(sizes.min()) < 0 or int(ends.min()) < 0 or int(sizes.max()) > total):
        raise ValueError(f"packed rows are damaged: sizes from {sizes.min()} to {sizes.max()}, {total} in all")
    inner = None
    if refer.items is None:
        piece = reader.octets(total)
    else:
        piece, inner = _unpack_rows(refer.items, total, reader)
    return (ends - sizes) * refer.unit + piece.ctypes.data, (piece, inner)


def _unpack_rows(t: Type, count: int, reader: _Reader) -> tuple[Words, Any]:
    width, refers = _width(t), references(t)
    rows = reader.words(count * width).reshape(count, width)
    if refers:
        rows = np.array(rows)
    kept = []
    for refer in refers:
        rows[:, refer.at], piece = _unpack_piece(refer, rows[:, refer.at + 1], reader)
        kept.append(piece)
    return rows, kept


class _Reader:
    """What was packed, one after the other."""

    def __init__(self, packed: Packed) -> None:
        self._packed, self._at = packed, 0

    def _next(self) -> Any:
        if self._at == len(self._packed):
            raise ValueError(f"packed rows are cut short: they end after {self._at} parts")
        self._at += 1
        return self._packed[self._at - 1]

    def number(self, most: int = 2**48, least: int = 0) -> int:
        found = self._next()
        if type(found) is not int or not least <= found <= most:
            raise ValueError(f"packed rows are damaged: part {self._at - 1} is no number from {least} to {most}")
        return found

    def octets(self, count: int) -> Words:
        found = self._next()
        try:
            octets = np.frombuffer(found, dtype=np.uint8)
        except (TypeError, AttributeError):
            raise ValueError(f"packed rows are damaged: part {self._at - 1} is a {type(found).__name__}") from None
        if len(octets) != count:
            raise ValueError(
                f"packed rows are cut short: part {self._at - 1} has {len(octets)} bytes and should have {count}"
            )
        return octets

    def words(self, count: int) -> Words:
        octets = self.octets(8 * count)
        if octets.ctypes.data % 8:  # kernels read whole words
            octets = octets.copy()
        return octets.view(np.int64)

    def end(self) -> None:
        if self._at != len(self._packed):
            raise ValueError(f"packed rows are damaged: {self._at} parts are expected, there are {len(self._packed)}")
