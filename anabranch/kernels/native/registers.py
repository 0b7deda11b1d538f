"""Values inside a kernel: their types and the expressions that give their words.

As in memory (see `layout`), but a list is one word, the address of its head in scratch memory (address of the items,
how many there are, room for how many), because it can change in place; so are a dense vector, and a dict and a set (see
`dicts`); and a sparse vector is the address of its line, or 0 (see `sparse`). What is an int or a float, as the sum of
floats, is a flag and a float: the flag is set for the int 0, and there is no other int. Two names of one list have one
head, and so have a name and the item of a list: what is changed through one is seen through the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.kernels.native.layout import NotInKernels, is_plain_record, kinds
from anabranch.lang.types import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    NEVER,
    NONE,
    NUMBER,
    STR,
    Dense,
    Dict,
    List,
    Optional,
    Record,
    Scalar,
    Set,
    Sparse,
    Tuple,
    Type,
    join,
    thaw,
)

ZERO = {"i": "0", "f": "0.0", "b": "False"}
KEY_WORDS = 8  # room for the words of a key in the head of a dict or set


@dataclass(frozen=True, slots=True)
class Value:
    """A type and one expression for each word; an expression may be written once only, unless it is a name."""

    type: Type
    words: tuple[str, ...]

    @property
    def word(self) -> str:
        if len(self.words) != 1:
            raise NotInKernels(f"a value of type {self.type} where one of one word is needed")
        return self.words[0]


def registers(t: Type) -> tuple[str, ...]:
    """The kinds of the words of a value in a kernel."""
    match t:
        case Optional(of):
            return ("b", *registers(of))
        case Tuple(items):
            return tuple(k for item in items for k in registers(item))
        case Record(_, fields):
            if not is_plain_record(t):
                raise NotInKernels(f"{t} has code of its own in its making or comparing")
            return tuple(k for _, field in fields for k in registers(field))
        case List(of):
            registers(of)
            return ("i",)
        case Dict(key, value):
            key_words(key)
            registers(value)
            return ("i",)
        case Set(of):
            key_words(of)
            return ("i",)
        case Sparse() | Dense():
            return ("i",)
    return ("b", "f") if t == NUMBER else kinds(t)


def width(t: Type) -> int:
    """The words of an item of a list."""
    return max(len(registers(t)), 1)


def key_words(t: Type) -> int:
    """The words of a key of a dict or set that a kernel makes."""
    if not _is_key(t):
        raise NotInKernels(f"a dict or set of {t}")
    words = len(kinds(t))
    if words > KEY_WORDS:
        raise NotInKernels(f"a dict or set of {t}, which is wide")
    return words


def _is_key(t: Type) -> bool:
    if isinstance(t, Tuple):
        return bool(t.items) and all(map(_is_key, t.items))
    return t in (INT, BOOL, STR, BYTES, NEVER)


def is_open(t: Type) -> bool:
    """Is it a container of which nothing says what it holds? Then it is empty."""
    match t:
        case List(of) | Set(of):
            return of == NEVER or is_open(of)
        case Dict(key, value):
            return NEVER in (key, value) or is_open(value)
        case Tuple(items):
            return any(map(is_open, items))
        case Optional(of):
            return is_open(of)
    return False


def has_lists(t: Type) -> bool:
    """Is there something in it that has a head, so that its words are others in memory?"""
    match t:
        case List() | Dict() | Set() | Dense() | Sparse():
            return True
        case Optional(of):
            return has_lists(of)
        case Tuple(items):
            return any(map(has_lists, items))
        case Record(_, fields):
            return any(has_lists(f) for _, f in fields)
    return False


def items_of(value: Value) -> list[Value]:
    """The items of a tuple, or the fields of a record."""
    types: Sequence[Type]
    match value.type:
        case Tuple(items):
            types = items
        case Record(_, fields):
            types = [t for _, t in fields]
        case _:
            raise NotInKernels(f"{value.type} has no items")
    found, at = [], 0
    for t in types:
        width = len(registers(t))
        found.append(Value(t, value.words[at : at + width]))
        at += width
    return found


def nothing(t: Type) -> Value:
    """Some value of the type, where it does not matter which."""
    return Value(t, tuple(ZERO[k] for k in registers(t)))


def convert(value: Value, to: Type) -> Value:
    """The value as one of type `to`: as stores, parameters and results are coerced, and as branches meet.

    An integer becomes a float where it is exact, and leaves the kernel elsewhere.
    """
    of, to = thaw(value.type), thaw(to)
    if of == to:
        return Value(to, value.words)
    if of == NEVER:
        return nothing(to)
    match of, to:
        case Scalar(), Scalar() if of == INT and to == FLOAT:
            return Value(to, (f"int_to_float_exact({value.word})",))
        case Scalar(), Scalar() if NUMBER in (of, to):
            return _number(value, of, to)
        case Optional(inner), Optional(wanted):
            held = convert(Value(inner, value.words[1:]), wanted)
            return Value(to, (value.words[0], *_where(value.words[0], held, inner, wanted)))
        case _, Optional(wanted):
            if of == NONE:
                return Value(to, ("False", *nothing(wanted).words))
            return Value(to, ("True", *convert(value, wanted).words))
        case Optional(inner), _ if to != NONE:
            return convert(Value(inner, value.words[1:]), to)
        case ((Tuple() | Record()), (Tuple() | Record())) if type(of) is type(to):
            wanted_types = list(to.items) if isinstance(to, Tuple) else [t for _, t in to.fields]
            words = [w for item, t in zip(items_of(value), wanted_types, strict=True) for w in convert(item, t).words]
            return Value(to, tuple(words))
        case (List(), List()) | (Dict(), Dict()) | (Set(), Set()) if _fills(of, to):
            return Value(to, value.words)
    raise NotInKernels(f"a value of type {of} becomes one of type {to}")


def _number(value: Value, of: Type, to: Type) -> Value:
    if of == NUMBER and to == FLOAT:
        return Value(to, value.words[1:])
    if of == NUMBER and to == INT:
        return Value(to, ("0",))
    if of == FLOAT:
        return Value(to, ("False", *value.words))
    if of == INT and value.words == ("0",):
        return Value(to, ("True", "0.0"))
    raise NotInKernels(f"a value of type {of} becomes one of type {to}")


def fit(value: Value, to: Type) -> Value:
    """The value as an item of a container, which coerces nothing: no int becomes a float there, and None stays None."""
    if not _fits(thaw(value.type), thaw(to)):
        raise NotInKernels(f"a {value.type} in a container of {to}")
    return convert(value, to)


def _fits(of: Type, to: Type) -> bool:
    match of, to:
        case Optional(x), Optional(y):
            return _fits(x, y)
        case _, Optional(y):
            return of == NONE or _fits(of, y)
        case Tuple(xs), Tuple(ys):
            return len(xs) == len(ys) and all(map(_fits, xs, ys))
        case (List(), List()) | (Dict(), Dict()) | (Set(), Set()):
            return _fills(of, to)
    return of in (NEVER, to)


def _fills(of: Type, to: Type) -> bool:
    """Is it the same type but for what empty containers may hold?"""
    match of, to:
        case (List(x), List(y)) | (Set(x), Set(y)):
            return _fills(x, y)
        case Dict(k, v), Dict(l, w):
            return _fills(k, l) and _fills(v, w)
    return of in (NEVER, to)


def _where(there: str, held: Value, of: Type, to: Type) -> tuple[str, ...]:
    if _fills(thaw(of), thaw(to)) or (of, to) == (NUMBER, FLOAT):
        return held.words
    raise NotInKernels(f"a {Optional(of)} becomes a {Optional(to)}")


def meet(a: Type, b: Type) -> Type:
    """The type of a variable that gets values of both."""
    both = join(thaw(a), thaw(b))
    registers(both)
    return both


def is_number(t: Type) -> bool:
    return t in (INT, FLOAT, BOOL)
