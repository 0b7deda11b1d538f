"""Calls of builtins, of `math` and of record classes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from anabranch.graph.code import Apply, Const, Expr
from anabranch.graph.effects import changes
from anabranch.kernels.native import mappings, reductions, sparse_vectors, texts, times, vectors
from anabranch.kernels.native.arithmetic import as_float, as_int, float_of, numeric, settled
from anabranch.kernels.native.keys import stable_hash_of
from anabranch.kernels.native.layout import TEXT, NotInKernels, is_plain_record
from anabranch.kernels.native.registers import Value, fit, is_number, items_of
from anabranch.kernels.native.scope import Scope
from anabranch.lang.dense import DenseVector
from anabranch.lang.hashing import stable_hash
from anabranch.lang.types import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NONE,
    STR,
    TIMEDELTA,
    Dense,
    Dict,
    List,
    Record,
    Set,
    Sparse,
    Tuple,
    Type,
    strip_optional,
)
from anabranch.lang.vector import Vector

# Functions of one float that CPython's math gives as they are.
MATH = {
    getattr(math, name): name
    for name in (
        "sqrt exp log log2 log10 log1p expm1 sin cos tan atan asin acos sinh cosh tanh fabs degrees radians "
        "isnan isinf isfinite floor ceil trunc"
    ).split()
}
MATH_OF_TWO = {getattr(math, name): name for name in "atan2 fmod copysign pow".split()}
_PLAIN: dict[type, Type] = {int: INT, float: FLOAT, bool: BOOL, str: STR, bytes: BYTES, type(None): NONE}
_PLAIN |= {dt.date: DATE, dt.datetime: DATETIME, dt.timedelta: TIMEDELTA}
TO_BOOL = ("isnan", "isinf", "isfinite")
TO_INT = ("floor", "ceil", "trunc")


def call(scope: Scope, expr: Apply) -> Value:
    function, args = expr.args[0], expr.args[1:]
    if not isinstance(function, Const):
        raise NotInKernels("a call of a value")
    called = function.value
    made = strip_optional(expr.type)
    if isinstance(called, type) and isinstance(made, Record) and called is made.cls:
        return _record(scope, made, args, expr.keywords)
    positional = args[: len(args) - len(expr.keywords)]
    named = dict(zip(expr.keywords, args[len(positional) :], strict=True))
    if called is dataclasses.replace:
        return replaced(scope, args, expr.keywords)
    if called is dt.timedelta:
        return times.duration(scope.write.values(args), list(expr.keywords))
    if called is Vector and len(positional) <= 1 and not named:
        return sparse_vectors.made_of(scope, positional)
    if called is DenseVector and len(positional) == 1 and not named:
        return vectors.made_of(scope, scope.write.named(positional[0]))
    if called == DenseVector.zeros and len(positional) == 1 and not named:
        return vectors.zeros(scope, scope.write.named(positional[0]))
    if called in (dt.date, dt.datetime) and not named:
        return times.moment(called, positional)
    known = callable(called) and _is_hashable(called)
    if known and called in reductions.RULES:
        if any(map(changes, args)):
            raise NotInKernels(f"an argument of {_name(called)} changes something")
        found = reductions.RULES[called](scope, positional, named)
        if found is not None:
            return found
    if named:
        raise NotInKernels(f"{_name(called)} with arguments by name")
    if known and called in MATH and len(args) == 1:
        return _math(scope, MATH[called], args)
    if known and called in MATH_OF_TWO:
        return _math(scope, MATH_OF_TWO[called], args)
    rule = _BUILTINS.get(called) if known else None
    if rule is None:
        raise NotInKernels(f"{_name(called)} is not in the kernels' table")
    return rule(scope, args)


def _is_hashable(called: Any) -> bool:
    try:
        hash(called)
    except TypeError:
        return False
    return True


def _name(called: Any) -> str:
    return getattr(called, "__name__", type(called).__name__)


def _math(scope: Scope, name: str, args: Sequence[Expr]) -> Value:
    words = []
    for arg in map(float_of, scope.write.values(args)):
        if not is_number(arg.type):
            raise NotInKernels(f"math.{name} of {arg.type}")
        if arg.type in (INT, BOOL) and name in TO_INT:
            return Value(INT, (as_int(arg),))
        words.append(as_float(arg))
    # What this tier does not have, an import of the kernel would not find: `names` says so.
    scope.needs(name)
    kind = BOOL if name in TO_BOOL else INT if name in TO_INT else FLOAT
    return Value(kind, (f"{name}({', '.join(words)})",))


def _record(scope: Scope, record: Record, args: Sequence[Expr], keywords: tuple[str, ...]) -> Value:
    if not is_plain_record(record):
        raise NotInKernels(f"{record} has code of its own in its making or comparing")
    values = _bound(record, scope.write.values(args), keywords)
    words: list[str] = []
    for name, t in record.fields:
        words += _as_field(record, name, t, values[name] if name in values else _default(scope, record, name))
    return Value(record, tuple(words))


def _as_field(record: Record, name: str, t: Type, given: Value) -> tuple[str, ...]:
    try:
        return fit(given, t).words  # no int becomes a float there: Python keeps it
    except NotInKernels:
        raise NotInKernels(f"a {given.type} as {name} of {record}, which is a {t}") from None


def _bound(record: Record, values: Sequence[Value], keywords: tuple[str, ...]) -> dict[str, Value]:
    """The arguments by the names of their fields, as a call binds them."""
    signature = inspect.signature(record.cls)
    if set(signature.parameters) != {name for name, _ in record.fields}:
        raise NotInKernels(f"{record} has other parameters than fields")
    split = len(values) - len(keywords)
    try:
        bound = signature.bind(*values[:split], **dict(zip(keywords, values[split:], strict=True)))
    except TypeError as error:
        raise NotInKernels(f"a call of {record}: {error}") from None
    return dict(bound.arguments)


def _default(scope: Scope, record: Record, name: str) -> Value:
    """What a field holds that is not given."""
    cls: Any = record.cls
    if issubclass(cls, tuple):
        default = cls._field_defaults[name]
    else:
        default = next(f.default for f in dataclasses.fields(cls) if f.name == name)
    t = _PLAIN.get(default.__class__)
    if t is None:
        raise NotInKernels(f"the default of {name} of {record}")
    return scope.write.constant(default, t)


def replaced(scope: Scope, args: Sequence[Expr], keywords: tuple[str, ...]) -> Value:
    """A record with other values of the fields that are named: `_replace` and `dataclasses.replace`."""
    record, *given = scope.write.named_values(args)
    if not isinstance(record.type, Record) or not is_plain_record(record.type):
        raise NotInKernels(f"{record.type} has code of its own in its making or comparing")
    values = dict(zip(keywords, given, strict=True))
    words: list[str] = []
    for (name, t), old in zip(record.type.fields, items_of(record), strict=True):
        words += _as_field(record.type, name, t, values[name]) if name in values else old.words
    return Value(record.type, tuple(words))


def _abs(scope: Scope, args: Sequence[Expr]) -> Value:
    value = settled(scope.out, scope.value(args[0]))
    if value.type == FLOAT:
        return Value(FLOAT, (f"fabs({value.word})",))
    if value.type in (INT, BOOL):
        return Value(INT, (f"absolute({as_int(value)})",))
    raise NotInKernels(f"abs of {value.type}")


def _int(scope: Scope, args: Sequence[Expr]) -> Value:
    if len(args) > 1:
        raise NotInKernels("int with a base")
    value = float_of(scope.value(args[0])) if args else Value(INT, ("0",))
    if value.type in (INT, BOOL):
        return Value(INT, (as_int(value),))
    if value.type == FLOAT:
        return Value(INT, (f"float_to_int({value.word})",))
    if value.type == STR:
        return Value(INT, (f"text_int({', '.join(value.words)})",))
    raise NotInKernels(f"int of {value.type}")


def _float(scope: Scope, args: Sequence[Expr]) -> Value:
    value = float_of(scope.value(args[0])) if args else Value(FLOAT, ("0.0",))
    if not is_number(value.type):
        raise NotInKernels(f"float of {value.type}")
    return Value(FLOAT, (as_float(value),))


def _bool(scope: Scope, args: Sequence[Expr]) -> Value:
    return Value(BOOL, (scope.write.condition(args[0]) if args else "False",))


def _str(scope: Scope, args: Sequence[Expr]) -> Value:
    return texts.text_of(scope, scope.value(args[0])) if args else scope.write.constant("", STR)


def _round(scope: Scope, args: Sequence[Expr]) -> Value:
    value = float_of(scope.value(args[0]))
    if len(args) != 1 or not is_number(value.type):
        raise NotInKernels("round to a number of digits")
    return Value(INT, (f"round_to_int({value.word})" if value.type == FLOAT else as_int(value),))


def _len(scope: Scope, args: Sequence[Expr]) -> Value:
    value = scope.value(args[0])
    match value.type:
        case List() | Dense():
            return Value(INT, (f"load({value.word} + 8)",))
        case Dict() | Set():
            return Value(INT, (mappings.length(value),))
        case Sparse():
            return Value(INT, (f"line_count({value.word})",))
        case Tuple(items):
            return Value(INT, (str(len(items)),))
    if value.type == STR:
        return Value(INT, (f"text_length({value.words[0]}, {value.words[1]})",))
    if value.type in TEXT:
        return Value(INT, (value.words[1],))
    raise NotInKernels(f"len of {value.type}")


def _ord(scope: Scope, args: Sequence[Expr]) -> Value:
    value = scope.value(args[0])
    if value.type != STR:
        raise NotInKernels(f"ord of {value.type}")
    return Value(INT, (f"code_point({', '.join(value.words)})",))


def _divmod(scope: Scope, args: Sequence[Expr]) -> Value:
    left, right = (scope.write.name_words(v) for v in scope.write.values(args))
    both = [numeric(op, left, right, args[1]) for op in ("//", "%")]
    return Value(Tuple(tuple(v.type for v in both)), tuple(w for v in both for w in v.words))


def _stable_hash(scope: Scope, args: Sequence[Expr]) -> Value:
    return Value(INT, (stable_hash_of(scope.value(args[0])),))


def _range(scope: Scope, args: Sequence[Expr]) -> Value:
    raise NotInKernels("a range that is kept")


_BUILTINS: dict[Any, Callable[[Scope, Sequence[Expr]], Value]] = {
    abs: _abs,
    int: _int,
    float: _float,
    bool: _bool,
    str: _str,
    round: _round,
    len: _len,
    ord: _ord,
    divmod: _divmod,
    stable_hash: _stable_hash,
    range: _range,
}
