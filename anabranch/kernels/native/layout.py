"""Which values kernels hold, and as which words.

A word is an integer ("i"), a float ("f") or a boolean ("b"; 0 or 1 in memory). Dates and times are integers, see
`moments`. Text is its address and its length in
bytes. None is no word at all; `T | None` a boolean, whether there is a value, and the words of T. A tuple or a record
is the words of its items. A list is the address of its items and their number; a dense vector is a list of floats, a
sparse one a list of pairs.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache

from anabranch.lang.types import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    TIMEDELTA,
    UTC_DATETIME,
    Dense,
    Dict,
    Iter,
    List,
    Optional,
    Record,
    Scalar,
    Set,
    Sparse,
    Tuple,
    Type,
)

TEXT = (STR, BYTES)
TIMES = (DATE, DATETIME, UTC_DATETIME, TIMEDELTA)


class NotInKernels(Exception):
    """Something that has to run as Python; the message says what."""


@lru_cache(maxsize=4096)
def kinds(t: Type) -> tuple[str, ...]:
    """The words of a value in memory, by their kinds.

    >>> from anabranch.lang.annotations import parse
    >>> "".join(kinds(parse(tuple[int, str, float | None])))
    'iiibf'
    """
    match t:
        case Scalar():
            if t == INT or t in TIMES:
                return ("i",)
            if t == FLOAT:
                return ("f",)
            if t == BOOL:
                return ("b",)
            if t in TEXT:
                return ("i", "i")
            if t in (NONE, NEVER):
                return ()
        case Optional(of):
            return ("b", *kinds(of))
        case Tuple(items):
            return tuple(k for item in items for k in kinds(item))
        case Record(_, fields):
            return tuple(k for _, field in fields for k in kinds(field))
        case List(of):
            kinds(of)
            return ("i", "i")
        case Dense() | Sparse():
            return ("i", "i")
    raise NotInKernels(f"values of type {_noun(t)} are not in the kernels' table")


def _noun(t: Type) -> str:
    match t:
        case Dict() | Set() | Iter():
            return str(t).partition("[")[0]
    return str(t)


def fits(t: Type) -> bool:
    """Can kernels hold values of this type?"""
    try:
        kinds(t)
    except NotInKernels:
        return False
    return True


def has_sparse(t: Type) -> bool:
    """Is there a sparse vector in it?"""
    match t:
        case Sparse():
            return True
        case Optional(of) | List(of):
            return has_sparse(of)
        case Tuple(items):
            return any(map(has_sparse, items))
        case Record(_, fields):
            return any(has_sparse(f) for _, f in fields)
    return False


def is_flat(t: Type) -> bool:
    """Has it neither text nor lists, so that its words are the whole value?"""
    match t:
        case Scalar():
            return t not in TEXT
        case Optional(of):
            return is_flat(of)
        case Tuple(items):
            return all(map(is_flat, items))
        case Record(_, fields):
            return all(is_flat(f) for _, f in fields)
    return False


def texts(t: Type) -> int:
    """Bit i is set where word i is the address of text."""
    match t:
        case Scalar():
            return 1 if t in TEXT else 0
        case Optional(of):
            return texts(of) << 1
        case Tuple(items):
            return _joined(items)
        case Record(_, fields):
            return _joined(tuple(f for _, f in fields))
    return 0


def _joined(items: tuple[Type, ...]) -> int:
    bits = at = 0
    for item in items:
        bits |= texts(item) << at
        at += len(kinds(item))
    return bits


def is_plain_record(record: Record) -> bool:
    """Is the record just its fields? One with code of its own in its making or comparing is Python's."""
    cls = record.cls
    if issubclass(cls, tuple):
        own = {
            "__new__",
            "__init__",
            "__eq__",
            "__ne__",
            "__lt__",
            "__le__",
            "__gt__",
            "__ge__",
            "__hash__",
            "__bool__",
        }
        own |= {"__len__", "__getitem__", "__iter__", "__contains__", "__getattribute__", "__getattr__"}
        return not (own | {"_replace", "_make"}) & _written_in(cls)
    if not dataclasses.is_dataclass(cls):
        return False
    own = {"__new__", "__post_init__", "__bool__", "__len__", "__getattribute__", "__getattr__"}
    return not (own & _written_in(cls)) and _made_by_dataclass(cls)


def _written_in(cls: type) -> set[str]:
    names: set[str] = set()
    for base in cls.__mro__:
        if base in (object, tuple):
            continue
        made = {"__new__", "_replace", "_make"} if "_fields" in vars(base) else set()  # NamedTuple writes these
        names |= set(vars(base)) - made
    return names


def _made_by_dataclass(cls: type) -> bool:
    """Are `__init__` and `__eq__` the ones that `dataclass` writes, for all its fields?"""
    fields = dataclasses.fields(cls)
    if not all(f.init and f.compare for f in fields):
        return False
    for name in ("__init__", "__eq__"):
        writer = next(base for base in cls.__mro__ if name in vars(base))
        if not dataclasses.is_dataclass(writer) or len(dataclasses.fields(writer)) != len(fields):
            return False  # inherited: it knows of fewer
        made = getattr(cls, name)
        if getattr(getattr(made, "__code__", None), "co_filename", "") != "<string>" and not hasattr(
            made, "__wrapped__"
        ):
            return False
    return True
