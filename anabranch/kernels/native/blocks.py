"""Rows as columns of words: what goes into kernels and what comes out.

Laws: a block is a sequence of the rows it was made of, as Python values; a block made of Arrow data or numpy arrays has
exactly the rows that `anabranch.lang.columns.read_batch` would give, or is not made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from anabranch.kernels.native.columns import Words, decode, encode
from anabranch.kernels.native.layout import kinds
from anabranch.lang.types import Type

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Block(Sequence[Row]):
    """`columns` are the words of the values of each type, one after the other; `kept` is what they refer to."""

    types: tuple[Type, ...]
    columns: tuple[Words, ...]
    size: int
    kept: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, i: int) -> Row: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            return tuple(self._rows(i))
        if i < 0:
            i += self.size
        if not 0 <= i < self.size:
            raise IndexError(i)
        return self._rows(slice(i, i + 1))[0]

    def __iter__(self) -> Iterator[Row]:
        for start in range(0, self.size, 4096):
            yield from self._rows(slice(start, start + 4096))

    def _rows(self, part: slice) -> list[Row]:
        count = len(range(*part.indices(self.size)))
        values, at = [], 0
        for t in self.types:
            width = len(kinds(t))
            values.append(decode(t, [c[part] for c in self.columns[at : at + width]], count))
            at += width
        return list(zip(*values, strict=True)) if values else [()] * count


def block_of(types: Sequence[Type], rows: Sequence[Row]) -> Block:
    """The rows as words; `NotInKernels` if one does not fit."""
    columns: list[Words] = []
    kept = []
    for i, t in enumerate(types):
        found = encode(t, [row[i] for row in rows])
        columns += found.columns
        kept.append(found.kept)
    return Block(tuple(types), tuple(columns), len(rows), kept)


class Results(Sequence[Any]):
    """One result for each row, as columns of words."""

    def __init__(self, t: Type, count: int) -> None:
        self.type, self.size = t, count
        self.columns = [np.zeros(count, dtype=np.float64 if k == "f" else np.int64) for k in kinds(t)]
        self.kept: list[Any] = []

    def put(self, row: int, value: Any) -> None:
        found = encode(self.type, [value])
        for column, word in zip(self.columns, found.columns, strict=True):
            column[row] = word[0]
        self.kept.append(found.kept)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, i: int) -> Any: ...
    @overload
    def __getitem__(self, i: slice) -> list[Any]: ...
    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            count = len(range(*i.indices(self.size)))
            return decode(self.type, [c[i] for c in self.columns], count)
        if i < 0:
            i += self.size
        if not 0 <= i < self.size:
            raise IndexError(i)
        return self[i : i + 1][0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self[0 : self.size])
