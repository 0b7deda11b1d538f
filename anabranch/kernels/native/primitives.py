"""The primitives of kernels, each beside the Python that it stands for.

Law: a compiled primitive gives the result of its twin bit for bit (any NaN for NaN), or it leaves; and it leaves only
where the twin raises, where its result does not fit 64 bits, and for the reason in `may_leave`. A str is valid UTF-8.

How a value is passed: an int, a float or a bool is one word, so is a date or a time (see `moments`); a str or bytes is
two, its address and its length. A primitive that gives a str takes one word more, the address where to write it, with
room for as many bytes as the first operand has. Two entries may have one name and differ in the kinds that they take.

Not here, as they are steps of a loop: `next_word`, `next_part`, `hash_tuple_start`, `hash_tuple_step`.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from anabranch.kernels.native import hashing, moments, numbers, text
from anabranch.lang.keys import hash_key, hash_words

Kind = Literal["int", "float", "bool", "str", "bytes", "date", "datetime", "timedelta"]


@dataclass(frozen=True, slots=True)
class Primitive:
    name: str
    compiled: Any
    twin: Callable[..., Any]
    takes: tuple[Kind, ...]
    gives: tuple[Kind, ...]
    may_leave: str = ""  # why it leaves where the twin gives a result that fits


def _signed(bits: int) -> int:
    return bits - 2**64 if bits >= 2**63 else bits


def _hash(key: object) -> int:
    return _signed(hash_key(key))


def _order(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def _size(value: str) -> int:
    return len(value.encode())


def _strip(value: str) -> tuple[int, int]:
    end = _size(value.rstrip())
    return end - _size(value.strip()), end


def _strip_left(value: str) -> tuple[int, int]:
    return _size(value) - _size(value.lstrip()), _size(value)


def _strip_right(value: str) -> tuple[int, int]:
    return 0, _size(value.rstrip())


_NO_FLOAT = "beyond 2**53 an operand may be no float"
_NEGATIVE = "a negative exponent gives a float"
_SUBNORMAL = "at a subnormal result CPython raises or not, as libm sets errno"
_SIGN_OF_NAN = "the second operand is NaN, whose sign kernels do not keep"
_UNEQUAL = "no float equals the integer: that is what it tells"
_NOT_ASCII = "not ASCII: one letter may become several"

INT: Final = (
    Primitive("floor_divide", numbers.floor_divide, operator.floordiv, ("int", "int"), ("int",)),
    Primitive("modulo", numbers.modulo, operator.mod, ("int", "int"), ("int",)),
    Primitive("negate", numbers.negate, operator.neg, ("int",), ("int",)),
    Primitive("absolute", numbers.absolute, abs, ("int",), ("int",)),
    Primitive("int_power", numbers.int_power, operator.pow, ("int", "int"), ("int",), _NEGATIVE),
    Primitive("shift_left", numbers.shift_left, operator.lshift, ("int", "int"), ("int",)),
    Primitive("shift_right_int", numbers.shift_right_int, operator.rshift, ("int", "int"), ("int",)),
    Primitive("true_divide", numbers.true_divide, operator.truediv, ("int", "int"), ("float",), _NO_FLOAT),
    Primitive("int_to_float", numbers.int_to_float, float, ("int",), ("float",)),
    Primitive("int_to_float_exact", numbers.int_to_float_exact, float, ("int",), ("float",), _UNEQUAL),
    Primitive("minimum", numbers.minimum, min, ("int", "int"), ("int",)),
    Primitive("maximum", numbers.maximum, max, ("int", "int"), ("int",)),
    Primitive("int_float_equal", numbers.int_float_equal, operator.eq, ("int", "float"), ("bool",)),
    Primitive("int_float_less", numbers.int_float_less, operator.lt, ("int", "float"), ("bool",)),
    Primitive("int_float_less_equal", numbers.int_float_less_equal, operator.le, ("int", "float"), ("bool",)),
    Primitive("float_int_less", numbers.float_int_less, operator.lt, ("float", "int"), ("bool",)),
    Primitive("float_int_less_equal", numbers.float_int_less_equal, operator.le, ("float", "int"), ("bool",)),
)

FLOAT: Final = (
    Primitive("float_divide", numbers.float_divide, operator.truediv, ("float", "float"), ("float",)),
    Primitive("float_floor_divide", numbers.float_floor_divide, operator.floordiv, ("float", "float"), ("float",)),
    Primitive("float_modulo", numbers.float_modulo, operator.mod, ("float", "float"), ("float",)),
    Primitive("float_power", numbers.float_power, operator.pow, ("float", "float"), ("float",), _SUBNORMAL),
    Primitive("float_to_int", numbers.float_to_int, int, ("float",), ("int",)),
    Primitive("round_to_int", numbers.round_to_int, round, ("float",), ("int",)),
    Primitive("minimum", numbers.minimum, min, ("float", "float"), ("float",)),
    Primitive("maximum", numbers.maximum, max, ("float", "float"), ("float",)),
)

# Here the name is that of the twin in `math`.
MATH: Final = (
    *(
        Primitive(name, getattr(numbers, name), getattr(math, name), ("float",), ("float",))
        for name in (
            "sqrt exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh fabs degrees radians"
        ).split()
    ),
    *(
        Primitive(name, getattr(numbers, name), getattr(math, name), ("float",), ("int",))
        for name in ("floor", "ceil", "trunc")
    ),
    *(
        Primitive(name, getattr(numbers, name), getattr(math, name), ("float",), ("bool",))
        for name in ("isnan", "isinf", "isfinite")
    ),
    *(
        Primitive(name, getattr(numbers, name), getattr(math, name), ("float", "float"), ("float",))
        for name in ("pow", "fmod", "atan2")
    ),
    Primitive("copysign", numbers.copysign, math.copysign, ("float", "float"), ("float",), _SIGN_OF_NAN),
)

TEXT: Final = (
    Primitive("text_equal", text.text_equal, operator.eq, ("str", "str"), ("bool",)),
    Primitive("text_compare", text.text_compare, _order, ("str", "str"), ("int",)),
    Primitive("text_hash", text.text_hash, lambda value: _signed(hash_words(value.encode())), ("str",), ("int",)),
    Primitive("text_length", text.text_length, len, ("str",), ("int",)),
    Primitive("is_ascii", text.is_ascii, str.isascii, ("str",), ("bool",)),
    Primitive("starts_with", text.starts_with, str.startswith, ("str", "str"), ("bool",)),
    Primitive("ends_with", text.ends_with, str.endswith, ("str", "str"), ("bool",)),
    Primitive("contains", text.contains, operator.contains, ("str", "str"), ("bool",)),
    Primitive("lower_ascii", text.lower_ascii, str.lower, ("str",), ("str",), _NOT_ASCII),
    Primitive("upper_ascii", text.upper_ascii, str.upper, ("str",), ("str",), _NOT_ASCII),
    # Start and end in bytes, of what is left.
    Primitive("strip", text.strip, _strip, ("str",), ("int", "int")),
    Primitive("strip_left", text.strip_left, _strip_left, ("str",), ("int", "int")),
    Primitive("strip_right", text.strip_right, _strip_right, ("str",), ("int", "int")),
)

BYTES: Final = (
    Primitive("text_equal", text.text_equal, operator.eq, ("bytes", "bytes"), ("bool",)),
    Primitive("text_compare", text.text_compare, _order, ("bytes", "bytes"), ("int",)),
    Primitive("text_hash", text.text_hash, lambda value: _signed(hash_words(value)), ("bytes",), ("int",)),
    Primitive("is_ascii", text.is_ascii, bytes.isascii, ("bytes",), ("bool",)),
    Primitive("starts_with", text.starts_with, bytes.startswith, ("bytes", "bytes"), ("bool",)),
    Primitive("ends_with", text.ends_with, bytes.endswith, ("bytes", "bytes"), ("bool",)),
    Primitive("contains", text.contains, operator.contains, ("bytes", "bytes"), ("bool",)),
)

# The 64 bits of `hash_key`, as a signed integer.
HASH: Final = (
    Primitive("hash_int", hashing.hash_int, _hash, ("int",), ("int",)),
    Primitive("hash_bool", hashing.hash_bool, _hash, ("bool",), ("int",)),
    Primitive("hash_text", hashing.hash_text, _hash, ("str",), ("int",)),
    Primitive("hash_bytes", hashing.hash_bytes, _hash, ("bytes",), ("int",)),
)

TIMES: Final = (
    Primitive("moment_later", moments.moment_later, operator.add, ("datetime", "timedelta"), ("datetime",)),
    Primitive("moment_earlier", moments.moment_earlier, operator.sub, ("datetime", "timedelta"), ("datetime",)),
    Primitive("day_later", moments.day_later, operator.add, ("date", "timedelta"), ("date",)),
    Primitive("day_earlier", moments.day_earlier, operator.sub, ("date", "timedelta"), ("date",)),
    Primitive("days_between", moments.days_between, operator.sub, ("date", "date"), ("timedelta",)),
    Primitive("day_of", moments.day_of, dt.datetime.date, ("datetime",), ("date",)),
    Primitive("weekday_of", moments.weekday_of, dt.date.weekday, ("date",), ("int",)),
    Primitive("year_of", moments.year_of, operator.attrgetter("year"), ("date",), ("int",)),
    Primitive("month_of", moments.month_of, operator.attrgetter("month"), ("date",), ("int",)),
    Primitive("day_of_month", moments.day_of_month, operator.attrgetter("day"), ("date",), ("int",)),
)

PRIMITIVES: Final[tuple[Primitive, ...]] = (*INT, *FLOAT, *MATH, *TEXT, *BYTES, *HASH, *TIMES)
