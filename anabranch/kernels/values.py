"""What emitted code hands on beside the user's values, and how it copies those.

Laws: `copier(t)` is None exactly if no value of type t can be changed in place; else what it gives shares nothing that
can be changed with its argument. What state handed out is frozen and passed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from anabranch.lang.frozen import FrozenDict, FrozenList, FrozenSet
from anabranch.lang.types import Dense, Dict, List, Optional, Record, Set, Sparse, Tuple, Type

Copier = Callable[[Any], Any]

DONE: Final = -1  # the flow number of a task that ends its entry


class Unset:
    """The type of `UNSET`; there is one such object, also after pickling."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()  # a variable of an inlined helper that has no value on a flow


def copier(kind: Type) -> Copier | None:
    """How to copy a value of this type; None where it need not be copied.

    >>> from anabranch.lang.types import INT
    >>> copier(INT), copier(Optional(List(INT)))([1])
    (None, [1])
    """
    match kind:
        case List(of):
            return _list(copier(of))
        case Dict(_, value):
            return _dict(copier(value))
        case Set():
            return lambda xs: xs if xs.__class__ is FrozenSet else set(xs)
        case Sparse() | Dense():
            return lambda v: v if v._frozen else v.copy()
        case Optional(of):
            return _optional(copier(of))
        case Tuple(items):
            return _tuple([copier(t) for t in items])
        case Record(cls, fields):
            return _record(cls, [(name, copier(t)) for name, t in fields])
    return None


def _list(of: Copier | None) -> Copier:
    if of is None:
        return lambda xs: xs if xs.__class__ is FrozenList else list(xs)
    return lambda xs: xs if xs.__class__ is FrozenList else [of(x) for x in xs]


def _dict(of: Copier | None) -> Copier:
    if of is None:
        return lambda d: d if d.__class__ is FrozenDict else dict(d)
    return lambda d: d if d.__class__ is FrozenDict else {k: of(x) for k, x in d.items()}


def _optional(of: Copier | None) -> Copier | None:
    return None if of is None else lambda x: None if x is None else of(x)


def _tuple(items: list[Copier | None]) -> Copier | None:
    if not any(items):
        return None
    return lambda xs: tuple([x if item is None else item(x) for item, x in zip(items, xs, strict=True)])


def _record(cls: type, fields: list[tuple[str, Copier | None]]) -> Copier | None:
    if not any(copy for _, copy in fields):
        return None

    def copied(record: Any) -> Any:
        values = [(n, getattr(record, n) if copy is None else copy(getattr(record, n))) for n, copy in fields]
        if issubclass(cls, tuple):
            return cls._make(x for _, x in values)  # type: ignore[attr-defined]
        new = object.__new__(cls)  # not cls(...): it was built, and checked, once already
        for name, x in values:
            object.__setattr__(new, name, x)
        return new

    return copied
