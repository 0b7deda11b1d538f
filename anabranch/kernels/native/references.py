"""What the entries of a store refer to outside of themselves: text, lists, lines."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from anabranch.kernels.native.layout import TEXT, kinds
from anabranch.kernels.native.pages import Words
from anabranch.kernels.native.shapes import Shape
from anabranch.lang.types import Dense, List, Optional, Record, Scalar, Tuple, Type

Piece = list[int]


def references(shape: Shape) -> tuple[Words, int, int]:
    """What the words of an entry refer to, as `driver` reads it; how many of these are in the entry itself; and in its
    key."""
    found: list[Piece] = []
    if shape.axis is not None:
        found.append([shape.offset, 0, 0, 0])
        return np.array(found, dtype=np.int64), 1, len(_collect(shape.key, 8))
    of_key = _collect(shape.key, 8)
    level = of_key + _collect(shape.value, shape.offset)
    roots = len(level)
    while level:
        below: list[tuple[Piece, Type | None]] = []
        end = len(found) + len(level)
        for piece, of in level:
            inner = [] if of is None else _collect(of, 0)
            piece[2:] = end + len(below), end + len(below) + len(inner)
            below += inner
            found.append(piece)
        level = below
    return np.array(found, dtype=np.int64).reshape(-1, 4), roots, len(of_key)


def _collect(t: Type, offset: int) -> list[tuple[Piece, Type | None]]:
    """The pieces of a value whose words begin there, each with what it is a list of."""
    match t:
        case Scalar():
            return [([offset, 1, 0, 0], None)] if t in TEXT else []
        case Optional(of):
            return _collect(of, offset + 8)
        case Tuple(items):
            return _collect_all(items, offset)
        case Record(_, fields):
            return _collect_all([field for _, field in fields], offset)
        case Dense():
            return [([offset, 8, 0, 0], None)]
        case List(of):
            return [([offset, 8 * max(len(kinds(of)), 1), 0, 0], of)]
    return []


def _collect_all(items: Iterable[Type], offset: int) -> list[tuple[Piece, Type | None]]:
    found = []
    for item in items:
        found += _collect(item, offset)
        offset += 8 * len(kinds(item))
    return found
