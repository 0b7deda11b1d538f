"""Methods of state types as the translator sees them: arguments, key, result, read or write.

The marks on the methods themselves say whether they write; this table adds what marks cannot say: types, and which
argument names the place in partitioned state. A test holds the two together.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anabranch.frontend.operators import NUMERIC
from anabranch.graph.nodes import State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.annotations import parse
from anabranch.lang.types import (
    BOOL,
    DENSE_VECTOR,
    FLOAT,
    INT,
    NONE,
    UNKNOWN,
    VECTOR,
    Dense,
    Dict,
    List,
    Sparse,
    Tuple,
    Type,
    UnsupportedType,
    accepts,
    freeze,
    optional,
)


@dataclass(frozen=True, slots=True)
class Use:
    """One method of one state. `whole` marks what needs all of it; `key` is the number of the key's argument."""

    result: Type
    writes: bool
    key: int | None = None
    whole: bool = False
    part: int | None = None  # which component of the key argument names the place: 0 row, 1 column, None all of it


@dataclass(frozen=True, slots=True)
class Misuse:
    """The arguments do not fit; `wanted` says which would."""

    wanted: str


Rule = Callable[[State, Sequence[Type]], Use | Misuse]


def use(state: State, name: str, args: Sequence[Type]) -> Use | Misuse | None:
    """How `name(args)` uses the state; None if its type has no such method."""
    rules = _RULES.get(state.cls)
    if rules is None:
        return _own(state, name, args)
    rule = rules.get(name)
    return None if rule is None else rule(state, args)


def method_names(state: State) -> list[str]:
    rules = _RULES.get(state.cls)
    if rules is not None:
        return sorted(n for n in rules if n.isidentifier() and not n.startswith("__"))
    return sorted(n for n, f in vars(state.cls).items() if hasattr(f, "__anabranch_mark__"))


def _own(state: State, name: str, args: Sequence[Type]) -> Use | Misuse | None:
    function = getattr(state.cls, name, None)
    mark = getattr(function, "__anabranch_mark__", None)
    if function is None or mark is None:
        return None
    original = inspect.unwrap(function)
    try:
        hints = typing.get_type_hints(original, include_extras=True)
        parameters = list(inspect.signature(original).parameters.values())[1:]
        result = parse(hints["return"])
        wanted = [parse(hints[p.name]) for p in parameters]
    except (KeyError, NameError, UnsupportedType):
        return Misuse(f"annotations with value types on every parameter and the result of {state.cls.__name__}.{name}")
    required = sum(p.default is p.empty for p in parameters)
    if not required <= len(args) <= len(wanted) or not all(map(accepts, wanted, args)):
        return Misuse(f"{name}({', '.join(map(str, wanted))})")
    return Use(freeze(result), mark == "writes", key=0 if args else None, whole=not args)


def _key_fits(state: State, arg: Type) -> bool:
    return state.key is not None and (arg == UNKNOWN or accepts(state.key, arg))


def _table(writes: bool, result: Callable[[State, Sequence[Type]], Type | None], least: int, most: int) -> Rule:
    def rule(state: State, args: Sequence[Type]) -> Use | Misuse:
        given = result(state, args) if least <= len(args) <= most else None
        if given is None or not _key_fits(state, args[0]):
            return Misuse(f"a key of type {state.key} and values of type {state.value}")
        return Use(given, writes, key=0, part=0 if state.axis == "row" else None)

    return rule


def _held(state: State) -> Type:
    return freeze(state.value or UNKNOWN)


def _get(state: State, args: Sequence[Type]) -> Type | None:
    if len(args) == 1 or args[1] == NONE:
        return optional(_held(state))
    return _held(state) if accepts(state.value or UNKNOWN, args[1]) else None


def _pop(state: State, args: Sequence[Type]) -> Type | None:
    return _held(state) if len(args) == 1 else _get(state, args)


def _store(state: State, args: Sequence[Type]) -> Type | None:
    return NONE if accepts(state.value or UNKNOWN, args[1]) else None


def _setdefault(state: State, args: Sequence[Type]) -> Type | None:
    return _held(state) if accepts(state.value or UNKNOWN, args[1]) else None


def _row(state: State, args: Sequence[Type]) -> Use | Misuse:
    key = state.key
    if not isinstance(key, Tuple) or len(key.items) < 2 or len(args) != 1 or not accepts(key.items[0], args[0]):
        return Misuse("the first component of a key, on a table with tuple keys")
    rest = key.items[1] if len(key.items) == 2 else Tuple(key.items[1:])
    return Use(freeze(Dict(rest, state.value or UNKNOWN)), False, key=0)


def _pairs(state: State) -> Type:
    return List(Tuple((state.key or UNKNOWN, _held(state))))


def _whole(result: Callable[[State], Type], writes: bool = False, *wanted: Type) -> Rule:
    def rule(state: State, args: Sequence[Type]) -> Use | Misuse:
        if len(args) != len(wanted) or not all(map(accepts, wanted, args)):
            return Misuse(f"({', '.join(map(str, wanted))})")
        return Use(result(state), writes, whole=True)

    return rule


def _assign_table(state: State, args: Sequence[Type]) -> Use | Misuse:
    wanted = Dict(state.key or UNKNOWN, state.value or UNKNOWN)
    if len(args) != 1 or not accepts(wanted, args[0]):
        return Misuse(str(wanted))
    return Use(NONE, True, whole=True)


def _cell(writes: bool) -> Rule:
    """`m[i, j]` and `m[i, j] = x`: the key argument is the pair, the axis says which of it counts."""

    def rule(state: State, args: Sequence[Type]) -> Use | Misuse:
        index = args[0] if args else UNKNOWN
        if index != Tuple((INT, INT)) or (writes and args[1] not in NUMERIC):
            return Misuse("[row, column] with two ints, and a float to store")
        return Use(NONE if writes else FLOAT, writes, key=0, part=1 if state.axis == "column" else 0)

    return rule


def _contains_cell(state: State, args: Sequence[Type]) -> Use | Misuse:
    found = _cell(False)(state, args)
    return found if isinstance(found, Misuse) else Use(BOOL, False, found.key, part=found.part)


def _line(result: Type) -> Rule:
    def rule(state: State, args: Sequence[Type]) -> Use | Misuse:
        return Use(freeze(result), False, key=0) if list(args) == [INT] else Misuse("one int")

    return rule


def _set_line(kind: type) -> Rule:
    def rule(state: State, args: Sequence[Type]) -> Use | Misuse:
        if len(args) == 2 and args[0] == INT and isinstance(args[1], kind):
            return Use(NONE, True, key=0)
        return Misuse(f"an int and a {'Vector' if kind is Sparse else 'DenseVector'}")

    return rule


def _item(result: Type, writes: bool = False) -> Rule:
    """Access to a vector by index."""

    def rule(state: State, args: Sequence[Type]) -> Use | Misuse:
        if len(args) == 1 + writes and args[0] == INT and (not writes or args[1] in NUMERIC):
            return Use(result, writes, key=0)
        return Misuse("an int index" + (" and a float to store" if writes else ""))

    return rule


def _vector_get(state: State, args: Sequence[Type]) -> Use | Misuse:
    if 1 <= len(args) <= 2 and args[0] == INT and all(a in NUMERIC for a in args):
        return Use(FLOAT, False, key=0)
    return Misuse("an int index and a float for a missing entry")


def _like(kind: type, result: Type) -> Rule:
    def rule(state: State, args: Sequence[Type]) -> Use | Misuse:
        if len(args) == 1 and isinstance(args[0], kind):
            return Use(result, False, whole=True)
        return Misuse("one Vector" if kind is Sparse else "one DenseVector")

    return rule


def _assign_vector(kind: type) -> Rule:
    def rule(state: State, args: Sequence[Type]) -> Use | Misuse:
        fits = len(args) == 1 and (isinstance(args[0], kind) or (kind is Dense and args[0] == List(FLOAT)))
        return Use(NONE, True, whole=True) if fits else Misuse("a Vector" if kind is Sparse else "a DenseVector")

    return rule


def _assign_rows(state: State, args: Sequence[Type]) -> Use | Misuse:
    fits = len(args) == 1 and isinstance(args[0], List) and (args[0].of == List(FLOAT) or isinstance(args[0].of, Dense))
    return Use(NONE, True, whole=True) if fits else Misuse("list[list[float]] or list[DenseVector]")


def _read_value(state: State, args: Sequence[Type]) -> Use | Misuse:
    return Misuse("no arguments: it is an attribute") if args else Use(_held(state), False)


def _write_value(state: State, args: Sequence[Type]) -> Use | Misuse:
    if len(args) == 1 and accepts(state.value or UNKNOWN, args[0]):
        return Use(NONE, True)
    return Misuse(f"a value of type {state.value}")


def _table_top(state: State, args: Sequence[Type]) -> Use | Misuse:
    return Use(_pairs(state), False, whole=True) if list(args) == [INT] else Misuse("one int")


def _integer(state: State) -> Type:
    return INT


def _none(state: State) -> Type:
    return NONE


_PAIRS = List(Tuple((INT, FLOAT)))
_RULES: dict[type, dict[str, Rule]] = {
    Table: {
        "__getitem__": _table(False, lambda s, a: _held(s), 1, 1),
        "__setitem__": _table(True, _store, 2, 2),
        "__delitem__": _table(True, lambda s, a: NONE, 1, 1),
        "__contains__": _table(False, lambda s, a: BOOL, 1, 1),
        "get": _table(False, _get, 1, 2),
        "pop": _table(True, _pop, 1, 2),
        "setdefault": _table(True, _setdefault, 2, 2),
        "row": _row,
        "items": _whole(_pairs),
        "keys": _whole(lambda s: List(s.key or UNKNOWN)),
        "values": _whole(lambda s: List(_held(s))),
        "top": _table_top,
        "__len__": _whole(_integer),
        "__iter__": _whole(lambda s: List(s.key or UNKNOWN)),
        "clear": _whole(_none, True),
        "assign": _assign_table,
    },
    Vector: {
        "__getitem__": _item(FLOAT),
        "__setitem__": _item(NONE, True),
        "__contains__": _item(BOOL),
        "get": _vector_get,
        "items": _whole(lambda s: _PAIRS),
        "keys": _whole(lambda s: List(INT)),
        "values": _whole(lambda s: List(FLOAT)),
        "__iter__": _whole(lambda s: List(INT)),
        "__len__": _whole(_integer),
        "top": _whole(lambda s: _PAIRS, False, INT),
        "dot": _like(Sparse, FLOAT),
        "sum": _whole(lambda s: FLOAT),
        "norm": _whole(lambda s: FLOAT),
        "copy": _whole(lambda s: VECTOR),
        "clear": _whole(_none, True),
        "assign": _assign_vector(Sparse),
    },
    Matrix: {
        "__getitem__": _cell(False),
        "__setitem__": _cell(True),
        "__contains__": _contains_cell,
        "row": _line(VECTOR),
        "column": _line(VECTOR),
        "set_row": _set_line(Sparse),
        "dot": _like(Sparse, VECTOR),
        "items": _whole(lambda s: List(Tuple((Tuple((INT, INT)), FLOAT)))),
        "rows": _whole(lambda s: List(INT)),
        "__len__": _whole(_integer),
        "clear": _whole(_none, True),
    },
    DenseVector: {
        "__getitem__": _item(FLOAT),
        "__setitem__": _item(NONE, True),
        "__len__": _whole(_integer),
        "__iter__": _whole(lambda s: List(FLOAT)),
        "tolist": _whole(lambda s: List(FLOAT)),
        "dot": _like(Dense, FLOAT),
        "sum": _whole(lambda s: FLOAT),
        "norm": _whole(lambda s: FLOAT),
        "copy": _whole(lambda s: DENSE_VECTOR),
        "assign": _assign_vector(Dense),
    },
    DenseMatrix: {
        "__getitem__": _cell(False),
        "__setitem__": _cell(True),
        "row": _line(DENSE_VECTOR),
        "set_row": _set_line(Dense),
        "dot": _like(Dense, DENSE_VECTOR),
        "assign": _assign_rows,
        "shape": _whole(lambda s: Tuple((INT, INT))),
        "rows": _whole(lambda s: List(INT)),
        "tolist": _whole(lambda s: List(List(FLOAT))),
        "__len__": _whole(_integer),
    },
    Value: {
        "value": _read_value,
        "value=": _write_value,
        "assign": _write_value,
    },
}
