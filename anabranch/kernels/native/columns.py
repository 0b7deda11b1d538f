"""Python values as columns of words, and back.

Laws: `decode(t, encode(t, values).columns)` gives equal values of equal types; `encode` refuses, with `NotInKernels`,
what does not fit (an integer of more than 64 bits), and never changes a value. What columns refer to lives as long as
`kept`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.kernels.native.layout import TIMES, NotInKernels, kinds
from anabranch.kernels.native.moments import FROM_WORD, TO_WORD
from anabranch.lang.dense import DenseVector
from anabranch.lang.types import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    NONE,
    STR,
    Dense,
    List,
    Optional,
    Record,
    Scalar,
    Sparse,
    Tuple,
    Type,
)
from anabranch.lang.vector import Vector, _fresh

PAIR = Tuple((INT, FLOAT))  # an entry of a sparse vector
Words = NDArray[Any]  # int64 or float64


@dataclass(slots=True)
class Encoded:
    columns: list[Words] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)


def encode(t: Type, values: Sequence[Any]) -> Encoded:
    found = Encoded()
    _encode(t, values, found)
    return found


def _encode(t: Type, values: Sequence[Any], out: Encoded) -> None:
    match t:
        case Scalar():
            if t == NONE:
                return
            out.columns += _SCALARS[t](values, out.kept) if t in _SCALARS else _refuse(t)
        case Optional(of):
            out.columns.append(np.array([x is not None for x in values], dtype=np.int64))
            filler = filling(of)
            _encode(of, [filler if x is None else x for x in values], out)
        case Tuple(items):
            for i, item in enumerate(items):
                _encode(item, [x[i] for x in values], out)
        case Record(_, fields):
            for name, item in fields:
                _encode(item, [getattr(x, name) for x in values], out)
        case List(of):
            _encode_lists(of, values, out)
        case Dense():
            _encode_lists(FLOAT, [v.tolist() for v in values], out)
        case Sparse():
            _encode_lists(PAIR, [v.items() for v in values], out)
        case _:
            _refuse(t)


def _refuse(t: Type) -> Any:
    raise NotInKernels(f"values of type {t} are not in the kernels' table")


def _ints(values: Sequence[Any], kept: list[Any]) -> list[Words]:
    try:
        return [np.array(values, dtype=np.int64)]
    except OverflowError:
        raise NotInKernels("an integer of more than 64 bits") from None


def _floats(values: Sequence[Any], kept: list[Any]) -> list[Words]:
    return [np.array(values, dtype=np.float64)]


def _texts(values: Sequence[Any], kept: list[Any]) -> list[Words]:
    raw = [x if x.__class__ is bytes else x.encode() for x in values]
    joined = b"".join(raw)
    kept.append(joined)
    sizes = np.fromiter(map(len, raw), dtype=np.int64, count=len(raw))
    ends = np.cumsum(sizes)
    return [ends - sizes + address_of(joined), sizes]


def _times(t: Type) -> Callable[[Sequence[Any], list[Any]], list[Words]]:
    return lambda values, kept: _ints(list(map(TO_WORD[t], values)), kept)


_SCALARS: dict[Scalar, Callable[[Sequence[Any], list[Any]], list[Words]]] = {
    INT: _ints,
    FLOAT: _floats,
    BOOL: _ints,
    STR: _texts,
    BYTES: _texts,
    **{t: _times(t) for t in TIMES},
}


def address_of(data: bytes) -> int:
    """Where the bytes are; they must be kept alive."""
    return id(data) + _HEAD


_HEAD = bytes.__basicsize__ - 1  # CPython puts the bytes of an object behind its head, and a zero behind them


def _encode_lists(of: Type, values: Sequence[Any], out: Encoded) -> None:
    """All items in one array of rows of words; a list is the address of its first and their number."""
    items = encode(of, [x for values_of_row in values for x in values_of_row])
    width = len(kinds(of))
    rows = np.zeros((len(items.columns[0]) if items.columns else 0, max(width, 1)), dtype=np.int64)
    for i, column in enumerate(items.columns):
        rows[:, i] = column.view(np.int64)
    sizes = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
    out.kept += [rows, items.kept]
    out.columns += [(np.cumsum(sizes) - sizes) * (8 * max(width, 1)) + rows.ctypes.data, sizes]


def filling(t: Type) -> Any:
    """Any value of the type: it stands where there is none."""
    match t:
        case Tuple(items):
            return tuple(filling(i) for i in items)
        case Record(_, fields):
            return _Filler({name: filling(f) for name, f in fields})
        case List():
            return []
        case Dense():
            return DenseVector([])
        case Sparse():
            return Vector()
        case Optional() | Scalar(name="None"):
            return None
    if t in FROM_WORD:
        return FROM_WORD[t](0)
    return {INT: 0, FLOAT: 0.0, BOOL: False, STR: "", BYTES: b""}.get(t, 0)  # type: ignore[arg-type]


class _Filler:
    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


# -- back -----------------------------------------------------------------------------------------------------------


def decode(t: Type, columns: Sequence[Words], count: int) -> list[Any]:
    """The values whose words the columns hold."""
    match t:
        case Scalar():
            if t == NONE:
                return [None] * count
            if t == BOOL:
                return columns[0].astype(np.bool_).tolist()
            if t in (INT, FLOAT):
                return columns[0].tolist()
            if t in FROM_WORD:
                return list(map(FROM_WORD[t], columns[0].tolist()))
            return _decode_texts(t, columns[0], columns[1])
        case Optional(of):
            there = columns[0]
            if not there.any():
                return [None] * count
            if there.all():
                return decode(of, columns[1:], count)
            picked = np.flatnonzero(there)
            values = iter(decode(of, [c[picked] for c in columns[1:]], len(picked)))
            return [next(values) if x else None for x in there.tolist()]
        case Tuple(items):
            if not items:
                return [()] * count
            return list(zip(*_parts(items, columns, count), strict=True))
        case Record(cls, fields):
            if not fields:
                return [cls() for _ in range(count)]
            return list(map(maker(cls, [n for n, _ in fields]), *_parts([f for _, f in fields], columns, count)))
        case List(of):
            return _decode_lists(of, columns[0], columns[1])
        case Dense():
            return [DenseVector(items) for items in _decode_lists(FLOAT, columns[0], columns[1])]
        case Sparse():
            return [
                vector_at(address, size) for address, size in zip(columns[0].tolist(), columns[1].tolist(), strict=True)
            ]
    return _refuse(t)


def _parts(items: Iterable[Type], columns: Sequence[Words], count: int) -> list[list[Any]]:
    found, at = [], 0
    for item in items:
        width = len(kinds(item))
        found.append(decode(item, columns[at : at + width], count))
        at += width
    return found


def maker(cls: type, names: Sequence[str]) -> Callable[..., Any]:
    """Builds a record from its fields, which were checked when it was built first."""
    if issubclass(cls, tuple):
        return lambda *values: cls._make(values)  # type: ignore[attr-defined]

    def make(*values: Any) -> Any:
        new = object.__new__(cls)
        for name, x in zip(names, values, strict=True):
            object.__setattr__(new, name, x)
        return new

    return make


def _decode_texts(t: Type, addresses: Words, sizes: Words) -> list[Any]:
    found = [ctypes.string_at(a, n) if n else b"" for a, n in zip(addresses.tolist(), sizes.tolist(), strict=True)]
    return found if t == BYTES else [x.decode() for x in found]


def _decode_lists(of: Type, addresses: Words, sizes: Words) -> list[Any]:
    width = max(len(kinds(of)), 1)
    found = []
    for address, size in zip(addresses.tolist(), sizes.tolist(), strict=True):
        rows = memory_at(address, size * width).reshape(size, width)
        found.append(decode(of, [as_kind(rows[:, i], k) for i, k in enumerate(kinds(of))], size))
    return found


def vector_at(address: int, count: int) -> Vector:
    """The sparse vector whose pairs, so many, are at an address."""
    pairs = memory_at(address, 2 * count)
    return _fresh(dict(zip(pairs[::2].tolist(), pairs[1::2].view(np.float64).tolist(), strict=True)), True)


def memory_at(address: int, words: int) -> Words:
    """The words at an address, as they are now."""
    if not words:
        return np.zeros(0, dtype=np.int64)
    return np.ctypeslib.as_array((ctypes.c_int64 * words).from_address(address))


def as_kind(column: Words, kind: str) -> Words:
    return column.view(np.float64) if kind == "f" else column


def strides(columns: Iterable[Words]) -> Words:
    """Address and stride of each column, as kernels read them."""
    found = [(c.ctypes.data, c.strides[0]) for c in columns]
    return np.array(found or [(0, 0)], dtype=np.int64).reshape(-1)
