"""Value types: what a variable, a parameter, a result or an entry of a state can be.

A type is an immutable value with one canonical text (`str(type)`), the text users write in annotations. `join` is the
least type that holds the values of both its arguments.

Laws: `join` is commutative, associative and idempotent; `join(NEVER, t) == t`.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from dataclasses import dataclass
from typing import Annotated


class UnsupportedType(TypeError):
    """An annotation that is no value type; the message says what to write."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without parameters, named as users write it."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Optional:
    """`T | None`; never nested."""

    of: Type

    def __str__(self) -> str:
        return f"{self.of} | None"


@dataclass(frozen=True, slots=True)
class Tuple:
    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.items)) or '()'}]"


@dataclass(frozen=True, slots=True)
class Record:
    """A `NamedTuple` or a `dataclass(frozen=True)`; two records are one type if they are one class."""

    cls: type
    fields: tuple[tuple[str, Type], ...] = dataclasses.field(compare=False)

    def __str__(self) -> str:
        return self.cls.__name__

    def field(self, name: str) -> Type | None:
        return dict(self.fields).get(name)


@dataclass(frozen=True, slots=True)
class List:
    of: Type
    frozen: bool = False

    def __str__(self) -> str:
        return f"list[{self.of}]"


@dataclass(frozen=True, slots=True)
class Dict:
    key: Type
    value: Type
    frozen: bool = False

    def __str__(self) -> str:
        return f"dict[{self.key}, {self.value}]"


@dataclass(frozen=True, slots=True)
class Set:
    of: Type
    frozen: bool = False

    def __str__(self) -> str:
        return f"set[{self.of}]"


@dataclass(frozen=True, slots=True)
class Sparse:
    """`Vector`, as a value."""

    frozen: bool = False

    def __str__(self) -> str:
        return "Vector"


@dataclass(frozen=True, slots=True)
class Dense:
    """`DenseVector`, as a value."""

    frozen: bool = False

    def __str__(self) -> str:
        return "DenseVector"


@dataclass(frozen=True, slots=True)
class Iter:
    """What `range`, `zip`, `d.items()` or a generator expression give: it lives inside one task only."""

    of: Type

    def __str__(self) -> str:
        return f"Iterator[{self.of}]"


@dataclass(frozen=True, slots=True)
class Function:
    """A lambda handed to a call; it lives inside one task only."""

    result: Type

    def __str__(self) -> str:
        return f"Callable[..., {self.result}]"


@dataclass(frozen=True, slots=True)
class Fault:
    """An exception: it lives inside one task only."""

    name: str

    def __str__(self) -> str:
        return self.name


Type = Scalar | Optional | Tuple | Record | List | Dict | Set | Sparse | Dense | Iter | Function | Fault

INT = Scalar("int")
FLOAT = Scalar("float")
BOOL = Scalar("bool")
STR = Scalar("str")
BYTES = Scalar("bytes")
DATE = Scalar("date")
DATETIME = Scalar("datetime")
UTC_DATETIME = Scalar("UTCDateTime")
TIMEDELTA = Scalar("timedelta")
NONE = Scalar("None")
VECTOR = Sparse()
DENSE_VECTOR = Dense()

# Types that only inference knows. NUMBER is `sum([])`'s dilemma: an int here and a float there.
NUMBER = Scalar("int | float")
NEVER = Scalar("Never")
UNKNOWN = Scalar("?")

UTCDateTime = Annotated[dt.datetime, "utc"]
"""A point in time, as the type of a parameter, result or value: a datetime with a time zone, kept in UTC. `datetime`
alone is one without a time zone.
"""

_KEY_SCALARS = (INT, STR, BYTES, BOOL)


def optional(t: Type) -> Type:
    return t if isinstance(t, Optional) or t in (NONE, UNKNOWN) else Optional(t)


def strip_optional(t: Type) -> Type:
    return t.of if isinstance(t, Optional) else t


def is_key(t: Type) -> bool:
    """May a value of this type be a key of state? Floats may not: NaN, -0.0 and rounding break equality."""
    if isinstance(t, Tuple):
        return bool(t.items) and all(map(is_key, t.items))
    return t in _KEY_SCALARS


def is_hashable(t: Type) -> bool:
    if isinstance(t, Tuple):
        return all(map(is_hashable, t.items))
    if isinstance(t, Record):
        return all(is_hashable(f) for _, f in t.fields)
    if isinstance(t, Optional):
        return is_hashable(t.of)
    return isinstance(t, Scalar) and t not in (UNKNOWN,)


def is_value(t: Type) -> bool:
    """May a value of this type be stored, sent, passed or returned?"""
    match t:
        case Iter() | Function() | Fault():
            return False
        case Scalar():
            return t not in (UNKNOWN, NEVER, NUMBER)
        case Optional(of) | List(of) | Set(of):
            return is_value(of)
        case Dict(key, value):
            return is_value(key) and is_value(value)
        case Tuple(items):
            return all(map(is_value, items))
    return True


def is_known(t: Type) -> bool:
    """False for UNKNOWN and for whatever holds it."""
    match t:
        case Optional(of) | List(of) | Set(of) | Iter(of):
            return is_known(of)
        case Dict(key, value):
            return is_known(key) and is_known(value)
        case Tuple(items):
            return all(map(is_known, items))
        case Function(result):
            return is_known(result)
    return t != UNKNOWN


def is_mutable(t: Type) -> bool:
    """Can a value of this type be changed in place?"""
    match t:
        case List() | Dict() | Set() | Sparse() | Dense():
            return not t.frozen
        case Optional(of):
            return is_mutable(of)
        case Tuple(items):
            return any(map(is_mutable, items))
    return False


def freeze(t: Type) -> Type:
    """The type of the same value as state hands it out."""
    match t:
        case List(of, _):
            return List(freeze(of), True)
        case Set(of, _):
            return Set(of, True)
        case Dict(key, value, _):
            return Dict(key, freeze(value), True)
        case Sparse() | Dense():
            return type(t)(True)
        case Optional(of):
            return Optional(freeze(of))
        case Tuple(items):
            return Tuple(tuple(map(freeze, items)))
    return t


def thaw(t: Type) -> Type:
    """The type without marks of who owns the value: what a flow or a schema says."""
    match t:
        case List(of, _):
            return List(thaw(of))
        case Set(of, _):
            return Set(of)
        case Dict(key, value, _):
            return Dict(key, thaw(value))
        case Sparse() | Dense():
            return type(t)()
        case Optional(of):
            return Optional(thaw(of))
        case Tuple(items):
            return Tuple(tuple(map(thaw, items)))
        case Iter(of):
            return Iter(thaw(of))
    return t


def join(a: Type, b: Type) -> Type:
    """The least type of which both are a part; UNKNOWN if there is none.

    >>> str(join(INT, NONE)), str(join(INT, FLOAT)), str(join(List(NEVER), List(STR)))
    ('int | None', 'int | float', 'list[str]')
    """
    if a == b or b == NEVER:
        return a
    if a == NEVER:
        return b
    if UNKNOWN in (a, b):
        return UNKNOWN
    if a == NONE:
        return optional(b)
    if b == NONE:
        return optional(a)
    if isinstance(a, Optional) or isinstance(b, Optional):
        inner = join(strip_optional(a), strip_optional(b))
        return UNKNOWN if inner == UNKNOWN else optional(inner)
    match a, b:
        case (Scalar(), Scalar()) if {a, b} <= {INT, FLOAT, NUMBER}:
            return NUMBER
        case List(x, f), List(y, g):
            return _known(List, join(x, y), f or g)
        case Set(x, f), Set(y, g):
            return _known(Set, join(x, y), f or g)
        case Dict(k, v, f), Dict(l, w, g):
            key, value = join(k, l), join(v, w)
            return UNKNOWN if UNKNOWN in (key, value) else Dict(key, value, f or g)
        case Sparse(f), Sparse(g):
            return Sparse(f or g)
        case Dense(f), Dense(g):
            return Dense(f or g)
        case Tuple(xs), Tuple(ys) if len(xs) == len(ys):
            items = tuple(join(x, y) for x, y in zip(xs, ys, strict=True))
            return UNKNOWN if UNKNOWN in items else Tuple(items)
        case Iter(x), Iter(y):
            inner = join(x, y)
            return UNKNOWN if inner == UNKNOWN else Iter(inner)
        case Fault(), Fault():
            return Fault("Exception")
    return UNKNOWN


def _known(kind: type[List] | type[Set], inner: Type, frozen: bool) -> Type:
    return UNKNOWN if inner == UNKNOWN else kind(inner, frozen)


def accepts(declared: Type, actual: Type) -> bool:
    """Can a value of static type `actual` be coerced to `declared`? That an int is exact as float shows at run time."""
    declared, actual = thaw(declared), thaw(actual)
    if declared == actual or actual == NEVER:
        return True
    match declared, actual:
        case Optional(of), Optional(inner):
            return accepts(of, inner)
        case Optional(of), _:
            return actual == NONE or accepts(of, actual)
        case List(x), List(y):
            return accepts(x, y)
        case Set(x), Set(y):
            return accepts(x, y)
        case Dict(k, v), Dict(l, w):
            return accepts(k, l) and accepts(v, w)
        case Tuple(xs), Tuple(ys):
            return len(xs) == len(ys) and all(map(accepts, xs, ys))
    return declared == FLOAT and actual in (INT, NUMBER)
