"""Types of the methods and attributes of values: strings, containers, times and vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anabranch.frontend.operators import NUMERIC, iterate
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
    UNKNOWN,
    UTC_DATETIME,
    Dense,
    Dict,
    Function,
    Iter,
    List,
    Record,
    Set,
    Sparse,
    Tuple,
    Type,
    freeze,
    join,
    optional,
)


@dataclass(frozen=True, slots=True)
class Method:
    """What a call of a method gives, whether it changes its receiver, and the receiver's type afterwards."""

    result: Type
    changes: bool = False
    receiver: Type | None = None


_STR: dict[str, Type] = {
    **dict.fromkeys(
        "lower upper strip lstrip rstrip title capitalize swapcase casefold replace zfill center ljust rjust "
        "join format removeprefix removesuffix expandtabs translate".split(),
        STR,
    ),
    **dict.fromkeys("split rsplit splitlines".split(), List(STR)),
    **dict.fromkeys("find rfind index rindex count".split(), INT),
    **dict.fromkeys(
        "startswith endswith isdigit isalpha isalnum isspace islower isupper istitle isnumeric isdecimal "
        "isidentifier isascii isprintable".split(),
        BOOL,
    ),
    **dict.fromkeys("partition rpartition".split(), Tuple((STR, STR, STR))),
    "encode": BYTES,
}
_BYTES: dict[str, Type] = {
    **dict.fromkeys("lower upper strip lstrip rstrip replace join removeprefix removesuffix".split(), BYTES),
    **dict.fromkeys("split splitlines".split(), List(BYTES)),
    **dict.fromkeys("find rfind index count".split(), INT),
    **dict.fromkeys("startswith endswith isdigit isalpha isalnum isspace".split(), BOOL),
    **dict.fromkeys("decode hex".split(), STR),
}
_DATE: dict[str, Type] = {
    **dict.fromkeys("weekday isoweekday toordinal".split(), INT),
    "isoformat": STR,
    "replace": DATE,
}
_DATETIME: dict[str, Type] = {**_DATE, "date": DATE, "replace": DATETIME}
_METHODS: dict[Type, dict[str, Type]] = {
    STR: _STR,
    BYTES: _BYTES,
    DATE: _DATE,
    DATETIME: _DATETIME,
    UTC_DATETIME: {**_DATETIME, "timestamp": FLOAT, "replace": UTC_DATETIME},
    TIMEDELTA: {"total_seconds": FLOAT},
    INT: {"bit_length": INT, "bit_count": INT},
    FLOAT: {"is_integer": BOOL},
}
_DAY: dict[str, Type] = dict.fromkeys("year month day".split(), INT)
_ATTRIBUTES: dict[Type, dict[str, Type]] = {
    DATE: _DAY,
    DATETIME: {**_DAY, **dict.fromkeys("hour minute second microsecond".split(), INT)},
    UTC_DATETIME: {**_DAY, **dict.fromkeys("hour minute second microsecond".split(), INT)},
    TIMEDELTA: dict.fromkeys("days seconds microseconds".split(), INT),
}


def attribute(receiver: Type, name: str) -> Type | None:
    if isinstance(receiver, Record):
        found = receiver.field(name)
        return None if found is None else freeze(found)  # a record is a value as a whole
    return _ATTRIBUTES.get(receiver, {}).get(name)


def attribute_names(receiver: Type) -> list[str]:
    if isinstance(receiver, Record):
        return [name for name, _ in receiver.fields]
    container = next((rules for kind, rules in _CONTAINERS.items() if isinstance(receiver, kind)), {})
    return sorted({*_ATTRIBUTES.get(receiver, {}), *_METHODS.get(receiver, {}), *container})


def method(receiver: Type, name: str, args: Sequence[Type]) -> Method | None:
    """What `receiver.name(args)` is; None if there is no such method or it does not take these arguments."""
    for kind, rules in _CONTAINERS.items():
        if isinstance(receiver, kind):
            rule = rules.get(name)
            return None if rule is None else rule(receiver, args)
    result = _METHODS.get(receiver, {}).get(name)
    return None if result is None else Method(result)


Rule = Callable[[Type, Sequence[Type]], Method | None]


def _list_grow(position: int) -> Rule:
    def rule(receiver: Type, args: Sequence[Type]) -> Method | None:
        assert isinstance(receiver, List)
        if len(args) != position + 1:
            return None
        of = join(receiver.of, args[position])
        return None if of == UNKNOWN else Method(NONE, True, List(of, receiver.frozen))

    return rule


def _extend(receiver: Type, args: Sequence[Type]) -> Method | None:
    element = iterate(args[0]) if len(args) == 1 else None
    return None if element is None else _list_grow(0)(receiver, (element,))


def _same(result: Callable[[Type], Type], changes: bool = False, most: int = 0) -> Rule:
    def rule(receiver: Type, args: Sequence[Type]) -> Method | None:
        return Method(result(receiver), changes) if len(args) <= most else None

    return rule


def _element(t: Type) -> Type:
    return iterate(t) or UNKNOWN


def _key(receiver: Type) -> Type:
    return receiver.key if isinstance(receiver, Dict) else UNKNOWN


def _value(receiver: Type) -> Type:
    assert isinstance(receiver, Dict)
    return freeze(receiver.value) if receiver.frozen else receiver.value


def _dict_get(receiver: Type, args: Sequence[Type]) -> Method | None:
    if len(args) == 1:
        return Method(optional(_value(receiver)))
    both = join(_value(receiver), args[1]) if len(args) == 2 else UNKNOWN
    return None if both == UNKNOWN else Method(both)


def _dict_pop(receiver: Type, args: Sequence[Type]) -> Method | None:
    if len(args) == 1:
        return Method(_value(receiver), True)
    both = join(_value(receiver), args[1]) if len(args) == 2 else UNKNOWN
    return None if both == UNKNOWN else Method(both, True)


def _setdefault(receiver: Type, args: Sequence[Type]) -> Method | None:
    if len(args) != 2 or not isinstance(receiver, Dict):
        return None
    key, value = join(receiver.key, args[0]), join(receiver.value, args[1])
    return None if UNKNOWN in (key, value) else Method(value, True, Dict(key, value, receiver.frozen))


def _update(receiver: Type, args: Sequence[Type]) -> Method | None:
    both = join(receiver, args[0]) if len(args) == 1 else UNKNOWN
    if isinstance(both, Dict) and isinstance(receiver, Dict):
        return Method(NONE, True, Dict(both.key, both.value, receiver.frozen))
    if isinstance(receiver, Set) and len(args) == 1:
        element = iterate(args[0])
        return None if element is None else _set_add(receiver, (element,))
    return None


def _set_add(receiver: Type, args: Sequence[Type]) -> Method | None:
    of = join(_element(receiver), args[0]) if len(args) == 1 else UNKNOWN
    return None if of == UNKNOWN or not isinstance(receiver, Set) else Method(NONE, True, Set(of, receiver.frozen))


def _set_join(receiver: Type, args: Sequence[Type]) -> Method | None:
    of = _element(receiver)
    for arg in args:
        of = join(of, iterate(arg) or UNKNOWN)
    return None if of == UNKNOWN else Method(Set(of))


def _dot(receiver: Type, args: Sequence[Type]) -> Method | None:
    return Method(FLOAT) if len(args) == 1 and isinstance(args[0], type(receiver)) else None


def _vector_get(receiver: Type, args: Sequence[Type]) -> Method | None:
    return Method(FLOAT) if args and args[0] == INT and all(a in NUMERIC for a in args) else None


def _top(receiver: Type, args: Sequence[Type]) -> Method | None:
    return Method(List(Tuple((INT, FLOAT)))) if list(args) == [INT] else None


def _sort(receiver: Type, args: Sequence[Type]) -> Method | None:
    return Method(NONE, True) if all(a == BOOL or isinstance(a, Function) for a in args) else None


def _none(receiver: Type) -> Type:
    return NONE


def _boolean(receiver: Type) -> Type:
    return BOOL


def _float(receiver: Type) -> Type:
    return FLOAT


_CONTAINERS: dict[type, dict[str, Rule]] = {
    List: {
        "append": _list_grow(0),
        "insert": _list_grow(1),
        "extend": _extend,
        "pop": _same(_element, True, 1),
        "remove": _same(_none, True, 1),
        "index": _same(lambda t: INT, most=3),
        "count": _same(lambda t: INT, most=1),
        "sort": _sort,
        "reverse": _same(_none, True),
        "clear": _same(_none, True),
        "copy": _same(lambda t: List(_element(t))),
    },
    Dict: {
        "get": _dict_get,
        "pop": _dict_pop,
        "setdefault": _setdefault,
        "update": _update,
        "items": _same(lambda t: Iter(Tuple((_key(t), _value(t))))),
        "keys": _same(lambda t: Iter(_key(t))),
        "values": _same(lambda t: Iter(_value(t))),
        "clear": _same(_none, True),
        "copy": _same(lambda t: Dict(_key(t), _value(t))),
    },
    Set: {
        "add": _set_add,
        "discard": _same(_none, True, 1),
        "remove": _same(_none, True, 1),
        "update": _update,
        "intersection_update": _same(_none, True, 1),
        "difference_update": _same(_none, True, 1),
        "symmetric_difference_update": _update,
        "union": _set_join,
        "intersection": _set_join,
        "difference": _set_join,
        "symmetric_difference": _set_join,
        "issubset": _same(_boolean, most=1),
        "issuperset": _same(_boolean, most=1),
        "isdisjoint": _same(_boolean, most=1),
        "clear": _same(_none, True),
        "copy": _same(lambda t: Set(_element(t))),
    },
    Sparse: {
        "items": _same(lambda t: List(Tuple((INT, FLOAT)))),
        "keys": _same(lambda t: List(INT)),
        "values": _same(lambda t: List(FLOAT)),
        "get": _vector_get,
        "top": _top,
        "dot": _dot,
        "sum": _same(_float),
        "norm": _same(_float),
        "copy": _same(lambda t: Sparse()),
        "clear": _same(_none, True),
    },
    Dense: {
        "dot": _dot,
        "sum": _same(_float),
        "norm": _same(_float),
        "tolist": _same(lambda t: List(FLOAT)),
        "copy": _same(lambda t: Dense()),
    },
}


def stored_item(receiver: Type, key: Type, value: Type) -> Type | None:
    """The type of a local container after `receiver[key] = value`; None if it cannot hold it."""
    match receiver:
        case List(of, frozen) if key in (INT, BOOL):
            both = join(of, value)
            return None if both == UNKNOWN else List(both, frozen)
        case Dict(wanted, held, frozen):
            k, v = join(wanted, key), join(held, value)
            return None if UNKNOWN in (k, v) else Dict(k, v, frozen)
        case Sparse() | Dense() if key in (INT, BOOL) and value in NUMERIC:
            return receiver
    return None


def empty(t: Type) -> bool:
    """Is it a container of which nothing says what it will hold?"""
    match t:
        case List(of) | Set(of):
            return of == NEVER or empty(of)
        case Dict(key, value):
            return NEVER in (key, value) or empty(value)
        case Tuple(items):
            return any(map(empty, items))
    return False
