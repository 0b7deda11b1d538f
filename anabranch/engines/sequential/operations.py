"""The operations of the graph's expressions, each by the Python operation that it stands for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from anabranch.lang.binding import Refused, check_argument
from anabranch.lang.entry import checked_result

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
OPERATIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **_COMPARE,
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "//": operator.floordiv,
        "%": operator.mod,
        "**": operator.pow,
        "<<": operator.lshift,
        ">>": operator.rshift,
        "&": operator.and_,
        "|": operator.or_,
        "^": operator.xor,
        "@": operator.matmul,
        "neg": operator.neg,
        "pos": operator.pos,
        "invert": operator.invert,
        "not": operator.not_,
        "truth": bool,
        "local": lambda x: x,
        "[]": operator.getitem,
        "setitem": operator.setitem,
        "delitem": operator.delitem,
        "slice": lambda xs, start, stop, step: xs[slice(start, stop, step)],
        "tuple": lambda *xs: xs,
        "list": lambda *xs: list(xs),
        "set": lambda *xs: set(xs),
        "dict": lambda *xs: dict(zip(xs[::2], xs[1::2], strict=True)),
        "fstring": lambda *xs: "".join(xs),
        "format": lambda x, conversion, spec: format(_convert(x, conversion), spec),
        "call": lambda f, *xs, **named: f(*xs, **named),
        "coerce": lambda x, entry, parameter: _coerce(x, entry, parameter),
    }
)


def _convert(x: Any, conversion: str) -> Any:
    """`!r`, `!s` and `!a` of a format string."""
    match conversion:
        case "r":
            return repr(x)
        case "s":
            return str(x)
        case "a":
            return ascii(x)
    return x


def _coerce(value: Any, entry: Any, parameter: Any) -> Any:
    if parameter is None:
        return checked_result(entry, value)
    try:
        return check_argument(parameter, value)
    except Refused as error:
        raise error.plain(entry.name) from None


def apply(op: str, args: list[Any], named: dict[str, Any]) -> Any:
    """The value of an operation that evaluates all its operands."""
    if op.startswith("attr:"):
        return getattr(args[0], op[5:])
    if op.startswith("method:"):
        return getattr(args[0], op[7:])(*args[1:], **named)
    return OPERATIONS[op](*args, **named)


def compare(op: str, left: Any, right: Any) -> Any:
    return _COMPARE[op](left, right)
