"""What can be asked of a state, of each type: asked of the view of an app and of the plain state, the answer is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import anabranch as ab
from tests.engines.embedded.zoo import Item

Read = Callable[[Any], Any]

_BAD_KEYS: list[Any] = [
    1.5,
    None,
    "nope",
    b"nope",
    True,
    (),
    (1,),
    (1, 2, 3),
    [1],
    2**70,
    object,
    "\ud800",
    np.float64(1),
]


def _at(*keys: Any) -> list[Read]:
    reads: list[Read] = []
    for k in keys:
        reads += [lambda s, k=k: s[k], lambda s, k=k: k in s]  # type: ignore[misc]
    return reads


def _call(name: str, *args: Any, **named: Any) -> Read:
    return lambda s: getattr(s, name)(*args, **named)


def _table(keys: list[Any], other: Any) -> list[Read]:
    reads = _at(*keys, *_BAD_KEYS)
    for k in [*keys, *_BAD_KEYS]:
        reads += [_call("get", k), _call("get", k, other), _call("get", k, default=other), _call("get", k, None)]
    reads += [_call("get", key=keys[0]), _call("get", keys[0], object()), _call("get"), _call("row", keys[0])]
    reads += [_call("items"), _call("keys"), _call("values"), _call("top", 0), _call("top", -1), _call("top", "x")]
    return [*reads, len, bool, list, _call("column", 1), lambda s: s.value, lambda s: s.shape]


_VECTOR: list[Read] = [
    *_at(0, 3, 39, 1000, -1, np.int64(3), np.uint8(3), *_BAD_KEYS),
    *[_call("get", k, *more) for k in (3, 99, "x", np.int32(3)) for more in ((), (1.5,), ("x",))],
    *[_call("items"), _call("keys"), _call("values"), _call("sum"), _call("norm"), _call("top", 3), _call("top", n=2)],
    *[_call("dot", ab.Vector({3: 2.0, 99: 1.0})), _call("dot", 3), _call("row", 1), _call("tolist"), len, bool, list],
]
_MATRIX: list[Read] = [
    *_at((3, 0), (4, 1), (99, 1), (np.int64(3), np.int8(0)), (1.0, 2), ("a", 1), (2**70, 0), *_BAD_KEYS),
    *[_call(line, k) for line in ("row", "column") for k in (0, 1, 4, 99, np.int64(1), 1.5, "x", None, True)],
    *[_call("row"), _call("row", 1, 2), _call("row", i=1), _call("get", (1, 1)), _call("get", (1, 1), 0.0)],
    *[_call("items"), _call("rows"), _call("dot", ab.Vector({0: 2.0, 1: 1.0})), _call("dot", 1), len, bool, list],
]
_DENSE: list[Read] = [
    *_at(0, 3, 39, 40, -1, np.int64(3), 78.0, *_BAD_KEYS),
    *[_call("tolist"), _call("sum"), _call("norm"), _call("dot", ab.DenseVector.zeros(40)), _call("get", 1)],
    *[_call("dot", ab.DenseVector.zeros(3)), _call("items"), _call("row", 1), len, bool, list],
    lambda s: s.to_numpy().tolist(),
]
_GRID: list[Read] = [
    *_at((3, 3), (3, 0), (40, 0), (0, 4), (-1, 0), (np.int64(3), 3), (1.0, 2), *_BAD_KEYS),
    *[_call("row", k) for k in (0, 3, 39, 40, -1, np.int64(3), "x", None)],
    *[_call("tolist"), _call("rows"), _call("column", 1), _call("dot", ab.DenseVector.zeros(4)), len, bool, list],
    lambda s: s.shape,
]
_VALUE: list[Read] = [lambda s: s.value, lambda s: s[1], lambda s: 1 in s, len, bool, list, _call("get", 1)]
_OWN: list[Read] = [
    *[_call("visitors", k) for k in (0, 1, 2, 99, np.int64(1), "x", None)],
    *[_call("visitors", place=1), _call("visitors"), _call("nope"), _call("visitors", 1, 2)],
]
_ROWS: list[Read] = [_call("row", k) for k in (0, 1, 6, 99, np.int64(1), "x", 1.5, None, True, (1, "k1"))]

PARTITIONED: dict[str, list[Read]] = {
    "table": [*_table([0, 7, 39, 40, -1, np.int64(7)], 5), _call("top", 3), _call("top", n=3)],
    "counts": [*_table(["k1", "k39", "none", "", np.str_("k1"), "é"], 5), _call("top", 3)],
    "pairs": [*_table([(1, "k1"), (1, "k8"), (9, "x"), (np.int64(1), "k1"), ("k1", 1)], 1.5), *_ROWS, _call("top", 2)],
    "cells": [*_table([(1, False), (2, True), (1, True), (1, 0), (np.int64(2), np.True_)], 5), _call("row", 2)],
    "items": _table(["k1", "k2", "none"], Item(1, [])),
    "lists": [*_table([b"a", b"b", b"", "a"], [1]), _call("get", b"a", ("x",))],
    "vector": _VECTOR,
    "by_row": _MATRIX,
    "by_column": _MATRIX,
    "dense": _DENSE,
    "grid": _GRID,
    "own": _OWN,
}
REPLICATED: dict[str, list[Read]] = {
    "table": _table([0, 7, 39, 40, np.int64(7)], Item(1, [])),
    "vector": _VECTOR,
    "matrix": _MATRIX,
    "dense": _DENSE,
    "grid": _GRID,
    "record": [*_VALUE, lambda s: s.value.tags],
    "number": _VALUE,
    "own": [*_OWN, _call("total")],
}
# Sums do not depend on which instance has what: these are what the plain state says.
SUMS: dict[str, list[Read]] = {
    "vector": _VECTOR,
    "matrix": _MATRIX,
    "dense": _DENSE,
    "grid": _GRID,
    "number": _VALUE,
}
