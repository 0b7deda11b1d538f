"""The law of the primitives: the bits of the Python twin, or leaving where it may leave; nothing else."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.kernels.native import hashing, numbers, text
from anabranch.kernels.native.moments import FROM_WORD, TO_WORD
from anabranch.kernels.native.primitives import PRIMITIVES, Primitive
from anabranch.kernels.native.words import Leave, inlined
from anabranch.lang.keys import hash_key
from anabranch.lang.types import DATE, DATETIME, TIMEDELTA

MANY = 3_000  # random operands of each numeric primitive, besides those of hypothesis: last bits differ rarely
TYPES = {"int": int, "float": float, "bool": bool, "str": str, "bytes": bytes}
TIMES = {"date": DATE, "datetime": DATETIME, "timedelta": TIMEDELTA}

# Where a primitive leaves though its twin gives a result that fits: the cases behind each `may_leave`.
MAY_LEAVE: dict[str, Callable[..., bool]] = {
    "int_power": lambda a, b: b < 0,
    "true_divide": lambda a, b: max(abs(a), abs(b)) > 2**53,
    "int_to_float_exact": lambda a: int(float(a)) != a,
    "float_power": lambda x, y: 0.0 < abs(x**y) < 2.0**-1022,
    "copysign": lambda x, y: math.isnan(y),
    "lower_ascii": lambda value: not value.isascii(),
    "upper_ascii": lambda value: not value.isascii(),
}


class Memory:
    """Operands as words. Text lies at an odd address, between bytes that would make white space and letters with it."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def words(self, operands: tuple[Any, ...]) -> list[Any]:
        found: list[Any] = []
        for value in operands:
            if type(value).__name__ in TIMES:
                found.append(TO_WORD[TIMES[type(value).__name__]](value))
                continue
            data = value.encode() if isinstance(value, str) else value
            found += self.text(data) if isinstance(data, bytes) else [data]
        return found

    def text(self, data: bytes) -> tuple[int, int]:
        return self.room(b"  \xc2" + data + b"\x85  ") + 3, len(data)

    def room(self, data: bytes) -> int:
        self.kept.append(np.frombuffer(bytearray(data), dtype=np.uint8))
        return int(self.kept[-1].ctypes.data)


@cache
def called(primitive: Any) -> Any:
    """What a kernel that does nothing else gives."""
    return numba.njit(lambda *words: primitive(*words), error_model="numpy")


def run_compiled(primitive: Primitive, operands: tuple[Any, ...]) -> Any:
    memory = Memory()
    words = memory.words(operands)
    if primitive.gives[0] in TIMES:
        return FROM_WORD[TIMES[primitive.gives[0]]](called(primitive.compiled)(*words))
    if primitive.gives != ("str",):
        return called(primitive.compiled)(*words)
    size = words[1]
    called(primitive.compiled)(*words, memory.room(b"?" * (size + 1)))
    written = memory.kept[-1].tobytes()
    assert written[size:] == b"?"
    return written[:size].decode()


def bits(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return type(value), value


def fits(primitive: Primitive, result: Any) -> bool:
    if primitive.gives[0] in TIMES:
        return (
            type(result).__name__ == primitive.gives[0]
            and -(2**63) <= TO_WORD[TIMES[primitive.gives[0]]](result) < 2**63
        )
    results = result if isinstance(result, tuple) else (result,)
    return [type(r) for r in results] == [TYPES[kind] for kind in primitive.gives] and all(
        -(2**63) <= r < 2**63 for r in results if isinstance(r, int)
    )


def check(primitive: Primitive, operands: tuple[Any, ...]) -> None:
    try:
        expected = primitive.twin(*operands)
        gives = fits(primitive, expected)
    except Exception:
        gives = False
    try:
        found = run_compiled(primitive, operands)
    except Leave:
        allowed = MAY_LEAVE.get(primitive.name, lambda *_: False)
        assert not gives or allowed(*operands), f"{primitive.name}{operands} leaves, Python gives {expected!r}"
    else:
        assert gives, f"{primitive.name}{operands} gives {found!r}, Python raises or has a result of another kind"
        assert bits(found) == bits(expected), f"{primitive.name}{operands} gives {found!r}, Python {expected!r}"


# Operands


def of_bits(pattern: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", pattern))[0])


INTS = sorted(
    number
    for number in {s * 2**k + d for k in (0, 2, 5, 6, 31, 53, 54, 62, 63) for s in (1, -1) for d in (-2, -1, 0, 1, 2)}
    if -(2**63) <= number < 2**63
)
EDGES = [0.5, 1.0, 1.5, 2.5, 3.0, 10.0, math.pi, 709.78, 745.2, 1024.0, 1074.5, 2.0**31, 2.0**52, 2.0**53, 2.0**63]
EDGES += [0.0, 2.0**-1022, 2.0**-537, math.inf, 1e22, 0.1, 1 / 3]
FLOATS = [v for x in EDGES for y in (x, math.nextafter(x, 0.0), math.nextafter(x, math.inf)) for v in (y, -y)]
FLOATS += [5e-324, -5e-324, math.nan, -math.nan, float(2**63 - 1024), 2.0**63 + 2048]

SPACES = [chr(c) for c in range(0x110000) if chr(c).isspace()]
BESIDE_SPACES = [chr(ord(s) + d) for s in SPACES for d in (-1, 1, 64) if not chr(ord(s) + d).isspace()]
LETTERS = ["\0", "@", "A", "Z", "[", "a", "b", "z", "{", "\x7f", "é", "İ", "ß", "€", "字", "\ufeff", "😀", "\U0010ffff"]
RUNS = ["abcdefghijklmnopqrstuvwxyz"[:n] for n in (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17)]
PAIRED = [*LETTERS, *RUNS, *(r[:-1] + "A" for r in RUNS[1:]), *(r + "é" for r in RUNS), "aabaabaaab", "aab", "éé"]
TEXTS = [*PAIRED, *SPACES, *BESIDE_SPACES, *(f"{s}a{s}" for s in SPACES), *(f"a{s}{s}b" for s in SPACES)]

int_values = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(INTS) | st.integers(-70, 70)
bit_patterns = st.integers(0, 2**64 - 1).map(of_bits)
near_integers = st.tuples(st.integers(-100, 100), st.sampled_from([0.0, 0.5, 1e-15, -1e-15, 1e-9])).map(math.fsum)
float_values = bit_patterns | st.floats() | st.sampled_from(FLOATS) | near_integers
characters = st.sampled_from(SPACES) | st.sampled_from(BESIDE_SPACES + LETTERS) | st.characters(codec="utf-8")
text_values = st.text(characters, max_size=24) | st.text(st.sampled_from("ab \t"), max_size=40)
bytes_values = st.binary(max_size=24) | text_values.map(str.encode)
delta_values = int_values.map(FROM_WORD[TIMEDELTA]) | st.integers(-(10**6), 10**6).map(FROM_WORD[TIMEDELTA])
VALUES = {
    **{"int": int_values, "float": float_values, "bool": st.booleans(), "str": text_values, "bytes": bytes_values},
    **{"date": st.dates(), "datetime": st.datetimes(), "timedelta": delta_values},
}
DATES = [
    dt.date.min,
    dt.date.max,
    dt.date(1970, 1, 1),
    dt.date(1969, 12, 31),
    dt.date(1900, 3, 1),
    dt.date(2000, 2, 29),
]
DATES += [
    dt.date(year, month, 28) + dt.timedelta(d) for year in (4, 1600, 1700, 2024) for month in (2, 12) for d in (0, 1, 4)
]
SPECIAL = {
    ("bool",): [False, True],
    ("date",): DATES,
    ("datetime",): [
        dt.datetime.min,
        dt.datetime.max,
        *(dt.datetime(d.year, d.month, d.day, 23, 59, 59, 9) for d in DATES),
    ],
    ("timedelta",): [FROM_WORD[TIMEDELTA](n) for n in (*INTS, -1, 86_400_000_000, -86_400_000_000, 86_399_999_999)],
    ("int",): INTS,
    ("float",): FLOATS,
    ("str",): TEXTS,
    ("str", "str"): PAIRED,
    ("bytes",): [t.encode() for t in TEXTS],
    ("bytes", "bytes"): [*(t.encode() for t in PAIRED), b"\xff", b"\x80\0"],
}


def tamed(primitive: Primitive, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without the operands for which Python would fill the memory."""
    match primitive.name, operands:
        case "int_power", (a, b) if abs(a) > 1 and b > 70:
            return a, b % 71
        case "shift_left", (a, b) if a != 0 and b > 70:
            return a, b % 71
    return operands


@st.composite
def operands_of(draw: st.DrawFn, takes: tuple[str, ...]) -> tuple[Any, ...]:
    """Each drawn by itself, or one made of the other: a part of it, or the float beside it."""
    operands = tuple(draw(VALUES[kind]) for kind in takes)
    match takes, draw(st.booleans()):
        case ((("str", "str") | ("bytes", "bytes")), True):
            start = draw(st.integers(0, len(operands[0])))
            return operands[0], operands[0][start : draw(st.integers(start, len(operands[0])))]
        case ((("int", "float") | ("float", "int")), True):
            number = operands[takes.index("int")]
            beside = math.nextafter(float(number), draw(st.sampled_from([-math.inf, float(number), math.inf])))
            return (number, beside) if takes[0] == "int" else (beside, number)
    return operands


def name_of(primitive: Primitive) -> str:
    return f"{primitive.name}-{'-'.join(primitive.takes)}"


# Tests


def test_names_and_kinds_are_unique_and_exceptions_are_known() -> None:
    assert len(set(map(name_of, PRIMITIVES))) == len(PRIMITIVES)
    assert {p.name for p in PRIMITIVES if p.may_leave} == set(MAY_LEAVE)


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=name_of)
def test_special_operands(primitive: Primitive) -> None:
    lists = [SPECIAL.get(primitive.takes) or SPECIAL[kind,] for kind in primitive.takes]
    for operands in itertools.product(*lists):
        check(primitive, tamed(primitive, operands))


@pytest.mark.parametrize("takes", sorted({p.takes for p in PRIMITIVES}), ids="-".join)
@settings(max_examples=2 * settings().max_examples)
@given(data=st.data())
def test_drawn_operands(takes: tuple[str, ...], data: st.DataObject) -> None:
    operands = data.draw(operands_of(takes))
    for primitive in PRIMITIVES:
        if primitive.takes == takes:
            check(primitive, tamed(primitive, operands))


@pytest.mark.parametrize("primitive", [p for p in PRIMITIVES if set(p.takes) <= {"int", "float"}], ids=name_of)
def test_many_operands(primitive: Primitive) -> None:
    source = random.Random(primitive.name)
    draw: dict[str, list[Callable[[], Any]]] = {
        "int": [lambda: source.getrandbits(64) - 2**63, lambda: source.getrandbits(source.randint(1, 62))],
        "float": [lambda: of_bits(source.getrandbits(64)), lambda: source.uniform(-30, 30), source.random],
    }
    for _ in range(MANY):
        check(primitive, tamed(primitive, tuple(source.choice(draw[kind])() for kind in primitive.takes)))


@given(text_values)
def test_words(value: str) -> None:
    memory, found, data = Memory(), [], value.encode()
    address, size = memory.text(data)
    start, end = called(text.next_word)(address, size, 0)
    while start >= 0:
        found.append(data[start:end].decode())
        start, end = called(text.next_word)(address, size, end)
    assert found == value.split()


@given(st.data(), st.sampled_from(["str", "bytes"]))
def test_parts(data: st.DataObject, kind: str) -> None:
    value = data.draw(VALUES[kind])
    start = data.draw(st.integers(0, len(value)))
    separator = value[start : start + data.draw(st.integers(1, 3))] or {"str": "ab", "bytes": b"ab"}[kind]
    memory, found, position = Memory(), [], 0
    words = memory.words((value, separator))
    raw = value if isinstance(value, bytes) else value.encode()
    while position >= 0:
        start, end, position = called(text.next_part)(*words[:2], position, *words[2:])
        found.append(raw[start:end])
    assert found == [part if isinstance(part, bytes) else part.encode() for part in value.split(separator)]


def test_an_empty_separator_leaves() -> None:
    memory = Memory()
    a, n, b, m = memory.words(("ab", ""))
    with pytest.raises(Leave):
        called(text.next_part)(a, n, 0, b, m)


scalar_keys = st.booleans() | int_values | text_values | st.binary(max_size=24)


HASHES = {bool: hashing.hash_bool, int: hashing.hash_int, str: hashing.hash_text, bytes: hashing.hash_bytes}


def compiled_hash(key: Any) -> int:
    if not isinstance(key, tuple):
        memory = Memory()
        return int(called(HASHES[type(key)])(*memory.words((key,))))
    h = called(hashing.hash_tuple_start)(len(key))
    for item in key:
        h = called(hashing.hash_tuple_step)(h, compiled_hash(item))
    return int(h)


@given(st.recursive(scalar_keys, lambda keys: st.lists(keys, max_size=4).map(tuple), max_leaves=8))
def test_hashes_of_tuples(key: object) -> None:
    assert compiled_hash(key) & (2**64 - 1) == hash_key(key)


@inlined
def with_constants(x: float) -> tuple[float, ...]:
    one = numbers.float_power
    return (
        *(one(2.0, x), one(10.0, x), one(x, 2.0), one(x, 3.0), one(x, 0.5), one(x, -1.0)),
        *(numbers.pow(2.0, x), numbers.pow(x, 2.0), numbers.exp(1.0), numbers.sin(3.0), numbers.log(10.0)),
        *(numbers.sin(x), numbers.cos(x), numbers.exp(x), numbers.log(x)),
    )


def test_constants_do_not_change_what_is_called() -> None:
    """LLVM knows pow, exp2 and the like, and would put one for the other where an operand is constant."""
    source = random.Random(1)
    for _ in range(MANY):
        x = source.uniform(0.01, 300.0)
        assert called(with_constants)(x) == (
            *(2.0**x, 10.0**x, x**2.0, x**3.0, x**0.5, x**-1.0),
            *(math.pow(2.0, x), math.pow(x, 2.0), math.exp(1.0), math.sin(3.0), math.log(10.0)),
            *(math.sin(x), math.cos(x), math.exp(x), math.log(x)),
        )
