"""What entries may call besides their own helpers: builtins and listed parts of the standard library, with types.

A rule takes the types of the arguments and gives the type of the result, or None if they do not go together. What is
forbidden is listed too, each with the code of its diagnostic, so that the user learns why.
"""

from __future__ import annotations

import bisect
import builtins
import copy
import datetime as dt
import io
import logging
import math
import socket
import statistics
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from anabranch.frontend.operators import NUMERIC, binary, iterate
from anabranch.lang.hashing import stable_hash
from anabranch.lang.types import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NEVER,
    NONE,
    NUMBER,
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
    join,
)

Rule = Callable[[Sequence[Type], Mapping[str, Type]], Type | None]


def _fixed(result: Type, *wanted: Sequence[Type] | None, optional: int = 0) -> Rule:
    """A rule by position; None stands for any type."""

    def rule(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
        if keywords or not len(wanted) - optional <= len(args) <= len(wanted):
            return None
        fits = all(w is None or a in w for a, w in zip(args, wanted, strict=False))
        return result if fits else None

    return rule


def _element(args: Sequence[Type], position: int = 0) -> Type:
    return (iterate(args[position]) if len(args) > position else None) or UNKNOWN


def _abs(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if len(args) == 1 and args[0] in (*NUMERIC, TIMEDELTA):
        return INT if args[0] == BOOL else args[0]
    return None


def _round(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if not args or args[0] not in NUMERIC:
        return None
    if (len(args) == 1 and not keywords) or NONE in args[1:]:
        return INT
    return INT if args[0] in (INT, BOOL) else args[0]


def _extreme(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if set(keywords) - {"key", "default"} or not args:
        return None
    if len(args) > 1:
        found: Type = NEVER
        for arg in args:
            found = join(found, arg)
        return None if found == UNKNOWN else found
    found = _element(args)
    if "default" in keywords:
        found = join(found, keywords["default"])
    return None if found in (UNKNOWN, NEVER) else found


def _sum(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    """An empty sum of floats is the int 0: that is why `sum(floats)` is `int | float`."""
    element = _element(args)
    start = args[1] if len(args) == 2 else keywords.get("start", INT)
    if element in (UNKNOWN, STR) or len(args) > 2:
        return None
    if element == NEVER:
        return start
    if isinstance(element, Sparse | Dense) and start == INT:
        return UNKNOWN
    total = binary("+", start, element)
    if total is None:
        return None
    again = binary("+", total, element)
    if again is None:
        return None
    both = join(join(start, total), again)
    return None if both == UNKNOWN else both


def _sorted(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    element = _element(args)
    return None if element == UNKNOWN or set(keywords) - {"key", "reverse"} or len(args) != 1 else List(element)


def _list(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if not args:
        return List(NEVER)
    return None if _element(args) == UNKNOWN or len(args) > 1 else List(_element(args))


def _set(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if not args:
        return Set(NEVER)
    return None if _element(args) == UNKNOWN or len(args) > 1 else Set(_element(args))


def _dict(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if not args:
        value: Type = NEVER
        for other in keywords.values():
            value = join(value, other)
        return Dict(STR if keywords else NEVER, value) if value != UNKNOWN else None
    if len(args) == 1 and isinstance(args[0], Dict):
        return Dict(args[0].key, args[0].value)
    element = _element(args)
    return Dict(*element.items) if isinstance(element, Tuple) and len(element.items) == 2 else None


def _iter(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    return None if len(args) != 1 or _element(args) == UNKNOWN else Iter(_element(args))


def _next(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if not args or not isinstance(args[0], Iter) or len(args) > 2:
        return None
    found = args[0].of if len(args) == 1 else join(args[0].of, args[1])
    return None if found == UNKNOWN else found


def _reversed(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if len(args) == 1 and isinstance(args[0], List | Tuple | Dict | Dense):
        return _iter(args, keywords)
    return Iter(STR) if list(args) == [STR] else None


def _enumerate(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    element = _element(args)
    return None if element == UNKNOWN else Iter(Tuple((INT, element)))


def _zip(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    items = tuple(_element(args, i) for i in range(len(args)))
    return None if UNKNOWN in items or set(keywords) - {"strict"} else Iter(Tuple(items))


def _map(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    return Iter(args[0].result) if len(args) == 2 and isinstance(args[0], Function) else None


def _filter(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    return Iter(_element(args, 1)) if len(args) == 2 and _element(args, 1) != UNKNOWN else None


def _truth(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    return BOOL if len(args) == 1 and iterate(args[0]) is not None else None


def _len(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    sized = len(args) == 1 and (
        isinstance(args[0], List | Dict | Set | Tuple | Sparse | Dense) or args[0] in (STR, BYTES)
    )
    return INT if sized else None


def _divmod(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if len(args) != 2:
        return None
    quotient, rest = binary("//", *args), binary("%", *args)
    return Tuple((quotient, rest)) if quotient and rest else None


def _pow(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    if len(args) == 3:
        return INT if set(args) <= {INT} else None
    return binary("**", *args) if len(args) == 2 else None


def _any(result: Type, least: int = 1, most: int = 1) -> Rule:
    def rule(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
        return result if least <= len(args) <= most else None

    return rule


def _keywords(result: Type, allowed: Sequence[Type]) -> Rule:
    def rule(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
        return result if all(t in allowed for t in (*args, *keywords.values())) else None

    return rule


def _utc(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    return DATETIME if all(t in (INT, BOOL) for t in (*args, *keywords.values())) else None


def _stable_hash(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    return INT if len(args) == 1 and not keywords and _is_hashed(args[0]) else None


def _is_hashed(t: Type) -> bool:
    """Does `stable_hash` take it?"""
    match t:
        case Tuple(items):
            return all(map(_is_hashed, items))
        case Record(cls, fields):
            return issubclass(cls, tuple) and all(_is_hashed(of) for _, of in fields)
    return t in (INT, BOOL, STR, BYTES)


def _mean(args: Sequence[Type], keywords: Mapping[str, Type]) -> Type | None:
    element = _element(args)
    return FLOAT if element == FLOAT else NUMBER if element == INT else None


_INTS = (INT, BOOL)
_TEXT = (STR, BYTES)
_MATH: dict[Any, Rule] = {
    **{
        getattr(math, name): _fixed(FLOAT, NUMERIC)
        for name in "sqrt exp expm1 log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
        "fabs erf erfc gamma lgamma degrees radians exp2 cbrt ulp".split()
    },
    **{getattr(math, name): _fixed(INT, NUMERIC) for name in "floor ceil trunc".split()},
    **{getattr(math, name): _fixed(BOOL, NUMERIC) for name in "isnan isinf isfinite".split()},
    **{getattr(math, name): _fixed(FLOAT, NUMERIC, NUMERIC) for name in "pow atan2 copysign fmod remainder".split()},
    **{getattr(math, name): _any(INT, 0, 99) for name in "gcd lcm".split()},
    **{getattr(math, name): _fixed(INT, _INTS) for name in "factorial isqrt".split()},
    math.comb: _fixed(INT, _INTS, _INTS),
    math.perm: _fixed(INT, _INTS, _INTS, optional=1),
    math.log: _fixed(FLOAT, NUMERIC, NUMERIC, optional=1),
    math.hypot: _any(FLOAT, 0, 99),
    math.isclose: _any(BOOL, 2, 2),
    math.fsum: lambda args, keywords: FLOAT if _element(args) in NUMERIC else None,
    math.dist: _any(FLOAT, 2, 2),
    math.prod: lambda args, keywords: _element(args) if _element(args) in NUMERIC else None,
    math.modf: _fixed(Tuple((FLOAT, FLOAT)), NUMERIC),
    math.ldexp: _fixed(FLOAT, NUMERIC, _INTS),
}
RULES: Mapping[Any, Rule] = MappingProxyType(
    {
        **_MATH,
        abs: _abs,
        round: _round,
        min: _extreme,
        max: _extreme,
        sum: _sum,
        len: _len,
        sorted: _sorted,
        reversed: _reversed,
        enumerate: _enumerate,
        zip: _zip,
        range: lambda args, kw: Iter(INT) if 1 <= len(args) <= 3 and all(a in _INTS for a in args) else None,
        list: _list,
        set: _set,
        frozenset: _set,
        dict: _dict,
        iter: _iter,
        next: _next,
        map: _map,
        filter: _filter,
        any: _truth,
        all: _truth,
        divmod: _divmod,
        pow: _pow,
        int: lambda args, kw: INT if not kw and (not args or args[0] in (*NUMERIC, STR)) and len(args) < 3 else None,
        float: lambda args, kw: (
            FLOAT if not kw and len(args) < 2 and (not args or args[0] in (*NUMERIC, STR)) else None
        ),
        bool: _any(BOOL, 0, 1),
        str: _any(STR, 0, 1),
        repr: _any(STR),
        format: _any(STR, 1, 2),
        ord: _fixed(INT, _TEXT),
        chr: _fixed(STR, _INTS),
        hex: _fixed(STR, _INTS),
        bin: _fixed(STR, _INTS),
        oct: _fixed(STR, _INTS),
        bytes: _any(BYTES, 0, 1),
        bisect.bisect: _any(INT, 2, 4),
        bisect.bisect_left: _any(INT, 2, 4),
        bisect.bisect_right: _any(INT, 2, 4),
        stable_hash: _stable_hash,
        statistics.median: _mean,
        statistics.mean: _mean,
        statistics.fmean: lambda args, kw: FLOAT if _element(args) in NUMERIC else None,
        dt.timedelta: _keywords(TIMEDELTA, NUMERIC),
        dt.date: _keywords(DATE, _INTS),
        dt.datetime: _utc,
        dt.datetime.fromisoformat: _fixed(DATETIME, (STR,)),
        dt.date.fromisoformat: _fixed(DATE, (STR,)),
    }
)

# The order of a set is not part of its value: these do not show it.
ORDER_FREE = frozenset((sorted, len, min, max, any, all, set, frozenset, bool, sum, math.fsum))

FORBIDDEN_BUILTINS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("print", "open", "input", "breakpoint", "help"), ("AB506", "input or output")),
        **dict.fromkeys(("hash", "id"), ("AB509", "a number that differs from run to run")),
        **dict.fromkeys(
            "exec eval compile globals locals vars getattr setattr delattr hasattr __import__ dir memoryview".split(),
            ("AB508", "access to names at run time"),
        ),
    }
)
FORBIDDEN_MODULES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "time": ("AB504", "a clock"),
        **dict.fromkeys(("random", "secrets", "uuid", "numpy.random"), ("AB505", "randomness")),
        **dict.fromkeys(
            "os io sys socket ssl select selectors subprocess pathlib shutil tempfile glob fileinput mmap logging "
            "warnings pprint traceback urllib.request requests http ftplib smtplib sqlite3 threading _thread queue "
            "concurrent.futures multiprocessing asyncio posix nt loguru structlog".split(),
            ("AB506", "input or output"),
        ),
        **dict.fromkeys(("importlib", "inspect", "ctypes", "gc"), ("AB508", "access to names at run time")),
    }
)
_INSTEAD: Mapping[Any, str] = MappingProxyType(
    {
        copy.copy: "write list(xs), dict(d), set(s) or x.copy()",
        copy.deepcopy: "write out what is copied: [list(x) for x in xs]",
    }
)
_MAKERS: Mapping[Any, type] = MappingProxyType(
    {open: io.TextIOWrapper, logging.getLogger: logging.Logger, socket.create_connection: socket.socket}
)
CLOCKS = frozenset(("now", "utcnow", "today"))


def forbidden(function: Any) -> tuple[str, str] | None:
    """Code and reason, if calling this breaks determinism."""
    name = getattr(function, "__name__", "")
    if getattr(builtins, name, None) is function and name in FORBIDDEN_BUILTINS:
        return FORBIDDEN_BUILTINS[name]
    owner = getattr(function, "__self__", None)
    if name in CLOCKS and isinstance(owner, type) and issubclass(owner, dt.date):
        return ("AB504", "a clock")
    module = getattr(function, "__module__", None) or getattr(type(owner), "__module__", None) or ""
    for prefix, why in FORBIDDEN_MODULES.items():
        if module == prefix or module.startswith((prefix + ".", "_" + prefix)):
            return why
    return None


def instead_of(function: Any) -> str | None:
    """What does the same and may be called."""
    try:
        return _INSTEAD.get(function)
    except TypeError:
        return None


def forbidden_object(value: Any) -> tuple[str, str] | None:
    """Code and reason, if this is an object that works outside: a logger, a file, a socket, a lock, a generator."""
    classes = (value if isinstance(value, type) else type(value)).__mro__
    return next((why for why in map(forbidden, classes) if why is not None), None)


def made_by(function: Any) -> type | None:
    """The class of what a call of this makes, where it is known."""
    if isinstance(function, type):
        return function
    try:
        return _MAKERS.get(function)
    except TypeError:
        return None


def rule_of(function: Any) -> Rule | None:
    try:
        return RULES.get(function)
    except TypeError:
        return None


__all__ = ["NONE", "ORDER_FREE", "RULES", "UTC_DATETIME", "forbidden", "rule_of"]
