"""How much memory a state takes: exactly in flat memory, of Python objects estimated from the first they hold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from itertools import islice
from typing import Any

import numpy as np

from anabranch.lang import Matrix
from anabranch.lang.marks import is_builtin

SAMPLE = 32
ATOMS = frozenset({int, float, bool, str, bytes, type(None)})
DEPTH = 8  # what is nested deeper is not counted: an own type may hold itself


def size_of(part: Any) -> int:
    """Bytes of a state object.

    >>> from anabranch.lang import DenseMatrix, Table
    >>> size_of(Table({"a": 1})) > size_of(Table()) > 0
    True
    >>> 8_000_000 < size_of(DenseMatrix.zeros(1000, 1000)) < 8_001_000
    True
    """
    store = getattr(part, "store", None)
    if store is not None and is_builtin(part):  # in flat memory: exactly what is allocated
        return int(store.nbytes)
    if not is_builtin(part):
        return _deep(part, 0)
    if isinstance(part, Matrix):
        return sys.getsizeof(part) + _deep(part._rows, 0) + _deep(part._columns, 0)
    return sys.getsizeof(part) + _deep(part._data, 0) + _deep(getattr(part, "_index", None), 0)


def size_of_value(value: Any) -> int:
    """Bytes of a value.

    >>> size_of_value("text") < size_of_value("longer text") < size_of_value(["longer text"])
    True
    """
    return sys.getsizeof(value) if value.__class__ in ATOMS else _deep(value, 0)


def _deep(value: Any, depth: int) -> int:
    size = value.nbytes if isinstance(value, np.ndarray) else sys.getsizeof(value)
    if depth == DEPTH:
        return size
    inner = depth + 1
    if isinstance(value, dict):
        return size + _sampled(value.items(), lambda item: _deep(item[0], inner) + _deep(item[1], inner))
    if isinstance(value, list | tuple | set | frozenset):
        return size + _sampled(value, lambda item: _deep(item, inner))
    if hasattr(value, "_data"):  # a vector
        return size + _deep(value._data, inner)
    if hasattr(value, "__dict__"):  # a record, an own type
        return size + sum(_deep(x, inner) for x in vars(value).values())
    return size


def _sampled(items: Collection[Any], size: Callable[[Any], int]) -> int:
    sample = [size(item) for item in islice(items, SAMPLE)]
    return round(len(items) * sum(sample) / len(sample)) if sample else 0
