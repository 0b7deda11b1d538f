"""The attributes of users' own state types as values that can be sent and stored.

Every tuple that `encode` makes starts with what it stands for: a tuple, a nested state, a numpy scalar. So no value of
the user's can be mistaken for one of these.

Laws: `decode(encode(own))` are the same attributes, and share no mutable part with `own`; what cannot be encoded is a
`TypeError` that names the attribute.
"""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any, NoReturn

import numpy as np

from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.annotations import parse
from anabranch.lang.frozen import FrozenDict, FrozenList, FrozenSet
from anabranch.lang.marks import _OURS
from anabranch.lang.scalars import show
from anabranch.lang.table import Missing
from anabranch.lang.types import Record, UnsupportedType

Attributes = dict[str, Any]

_ATOMS = frozenset({type(None), bool, int, float, str, bytes, dt.date, dt.timedelta})
_DO = (
    "keep numbers, text, bytes, times, tuples, lists, dicts, sets, records, numpy arrays and built-in states in an own "
    "state type"
)


def encode(own: Any) -> Attributes:
    """The attributes of an own state."""
    encoder = _Encoder(type(own).__name__)
    return {name: encoder.value(x, f".{name}") for name, x in vars(own).items() if name not in _OURS}


def decode(attributes: Attributes) -> Attributes:
    """The attributes that were encoded."""
    return {name: _decoded(x) for name, x in attributes.items()}


class _Encoder:
    """Encodes one own state. What can change in it must be a tree: two names of one list would come back as two."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._met: dict[int, tuple[str, Any]] = {}  # the object too: the number of one that is gone is given again

    def value(self, x: Any, at: str) -> Any:
        cls = x.__class__
        if cls in _ATOMS:
            return x
        if cls is dt.datetime:
            if x.tzinfo not in (None, dt.UTC):
                self._refuse(x, at, "time zones other than UTC are code; write .astimezone(timezone.utc)")
            return x
        if cls is tuple:
            return ("tuple", *self._all(x, at))
        if cls is frozenset:
            return ("frozenset", *self._all(x, at))
        if isinstance(x, np.generic) and not x.dtype.hasobject:
            return ("scalar", np.array([x]))
        self._meet(x, at)
        if cls is list or isinstance(x, FrozenList):
            return self._all(x, at)
        if cls is set or isinstance(x, FrozenSet):
            return set(self._all(x, at))
        if cls is dict or isinstance(x, FrozenDict):
            values = [self.value(v, f"{at}[{k!r}]") for k, v in x.items()]
            return dict(zip(self._all(x, at), values, strict=True))
        if cls is np.ndarray and not x.dtype.hasobject:
            return x.copy()
        return self._state(x, at)

    def _all(self, xs: Any, at: str) -> list[Any]:
        return [self.value(x, f"{at}[{i}]") for i, x in enumerate(xs)]

    def _state(self, x: Any, at: str) -> Any:
        match x:
            case Vector() | DenseVector():
                return x.copy()
            case Table():
                default = () if isinstance(x._default, Missing) else (self.value(x._default, f"{at}, default"),)
                return ("Table", default, self.value(dict(x.items()), at))
            case Matrix():
                return ("Matrix", *matrix_arrays(x))
            case DenseMatrix():
                return ("DenseMatrix", x.to_numpy())
            case Value():
                return ("Value", self.value(x.value, f"{at}.value"))
        if _is_record(type(x)):
            return copy.deepcopy(x)
        self._refuse(x, at, f"how to make another {type(x).__name__} only its own code knows; {_DO}")

    def _meet(self, x: Any, at: str) -> None:
        if isinstance(x, FrozenList | FrozenDict | FrozenSet) or getattr(x, "_frozen", False) or _is_record(type(x)):
            return
        first, _ = self._met.setdefault(id(x), (at, x))
        if first is not at:
            self._refuse(x, at, f"it is the same object as {self._owner}{first} and would come back as two; copy it")

    def _refuse(self, x: Any, at: str, why: str) -> NoReturn:
        raise TypeError(f"{self._owner}{at} cannot be sent to another process or stored: got {show(x)}; {why}")


def _is_record(cls: type) -> bool:
    try:
        return isinstance(parse(cls), Record)
    except UnsupportedType:
        return False


def _decoded(x: Any) -> Any:
    if x.__class__ in _ATOMS:
        return x
    match x:
        case list():
            return [_decoded(item) for item in x]
        case set():
            return {_decoded(item) for item in x}
        case dict():
            return {_decoded(k): _decoded(v) for k, v in x.items()}
        case np.ndarray() | Vector() | DenseVector():
            return x.copy()
    if x.__class__ is not tuple:
        return copy.deepcopy(x)  # a record, or a datetime
    match x:
        case ("tuple", *items):
            return tuple(map(_decoded, items))
        case ("frozenset", *items):
            return frozenset(map(_decoded, items))
        case ("scalar", array):
            return array[0]
        case ("Table", default, entries):
            given = {"default": _decoded(default[0])} if default else {}
            return Table(_decoded(entries), **given)
        case ("Matrix", indices, values):
            return Matrix(matrix_cells(indices, values))
        case ("DenseMatrix", array):
            return DenseMatrix(array)
        case ("Value", value):
            return Value(_decoded(value))
    raise AssertionError(f"nothing is encoded as {x!r}")


def matrix_arrays(matrix: Matrix) -> tuple[Any, Any]:
    """The cells of a matrix as two arrays: an entry costs three words wherever they go."""
    cells = matrix.items()
    indices = np.array([index for index, _ in cells], dtype=np.int64).reshape(-1, 2)
    return indices, np.array([x for _, x in cells], dtype=np.float64)


def matrix_cells(indices: Any, values: Any) -> list[tuple[tuple[int, int], float]]:
    return [((i, j), x) for (i, j), x in zip(indices.tolist(), values.tolist(), strict=True)]
