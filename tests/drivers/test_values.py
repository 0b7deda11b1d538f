"""What is encoded comes back the same, types and bits; what is not a value is refused with its place; bytes that
nobody encoded are `Malformed` and nothing else."""

from __future__ import annotations

import datetime as dt
import math
import random
import struct
import time
import tracemalloc
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.drivers.values import Malformed, Values, records_of
from anabranch.kernels.values import UNSET
from anabranch.lang.dense import DenseVector
from anabranch.lang.frozen import ConfigDict, ConfigList, ConfigSet, FrozenDict, FrozenList, FrozenSet
from anabranch.lang.table import MISSING
from anabranch.lang.vector import Vector


class Point(NamedTuple):
    x: Any
    y: Any


class Checked(NamedTuple("Checked", [("x", Any)])):
    __slots__ = ()

    def __new__(cls, x: Any) -> Checked:
        raise AssertionError("built again")


@dataclass(frozen=True)
class Order:
    item: Any
    count: Any = 1

    def __post_init__(self) -> None:
        if isinstance(self.count, str) and self.count == "built again":
            raise AssertionError


@dataclass(frozen=True, slots=True)
class Slotted:
    only: Any


class Stranger(NamedTuple):
    x: int


VALUES = Values([Point, Order, Slotted, Checked])
SIGNALLING = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000123))[0]


def same(a: Any, b: Any) -> bool:
    """Equal in type and bits at every depth."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(same, a, b)) and all(map(same, a.values(), b.values()))
    if isinstance(a, set):
        return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)
    if isinstance(a, Vector):
        return a._frozen == b._frozen and same(a.items(), b.items())
    if isinstance(a, DenseVector):
        return a._frozen == b._frozen and same(a._data, b._data)
    if isinstance(a, np.ndarray):
        kept = (a.dtype.str, a.shape, a.flags.writeable) == (b.dtype.str, b.shape, b.flags.writeable)
        return kept and a.tobytes() == b.tobytes()
    if isinstance(a, dt.datetime):
        return a == b and a.fold == b.fold and a.tzinfo is b.tzinfo
    if is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return a is b if a in (UNSET, MISSING) else a == b


floats = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0]) | st.floats()
texts = st.text() | st.text(st.characters(categories=["Cs", "Lu"]))
atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**66), 2**66)
    | floats
    | texts
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.just(dt.UTC))
    | st.timedeltas()
    | st.sampled_from([UNSET, MISSING])
)
vectors = st.dictionaries(st.integers(-(2**63), 2**63 - 1), floats).map(Vector)
denses = st.lists(floats).map(lambda xs: DenseVector(np.array(xs, np.float64)))
dtypes = st.sampled_from("|b1 |i1 |u1 <i2 >u2 <i4 <u4 <i8 >i8 <u8 <f2 <f4 <f8 >f8 <U1 >U3 <U7".split())


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    dtype, shape = np.dtype(draw(dtypes)), tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    size = math.prod(shape)
    if dtype.kind == "U":
        array = np.array([draw(st.text(max_size=3)) for _ in range(size)], dtype).reshape(shape)
    elif dtype.kind == "b":
        array = np.array([draw(st.booleans()) for _ in range(size)], dtype).reshape(shape)
    else:
        content = draw(st.binary(min_size=size * dtype.itemsize, max_size=size * dtype.itemsize))
        array = np.frombuffer(content, dtype).reshape(shape).copy()
    array.setflags(write=draw(st.booleans()))
    return array.T if draw(st.booleans()) else array


hashables = st.recursive(atoms, lambda of: st.lists(of, max_size=3).map(tuple) | st.builds(Point, of, of), max_leaves=4)


def containers(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists, dicts = st.lists(of, max_size=20), st.dictionaries(hashables, of, max_size=4)
    sets = st.sets(hashables, max_size=4)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(FrozenList),
        lists.map(ConfigList),
        dicts,
        dicts.map(FrozenDict),
        dicts.map(ConfigDict),
        sets,
        sets.map(FrozenSet),
        sets.map(ConfigSet),
        st.builds(Point, of, of),
        st.builds(Order, of, of),
        st.builds(Slotted, of),
    )


leaves = atoms | vectors | vectors.map(Vector._as_frozen) | denses | denses.map(DenseVector._as_frozen) | arrays()
anything = st.recursive(leaves, containers, max_leaves=30)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(anything)
@example(SIGNALLING)
@example([-0.0, math.inf, math.nan])
@example((2**64, -(2**63) - 1, 2**64 - 1, -(2**63), 10**5000))
@example(("\ud800", ["x\udfff"]))
@example(dt.datetime(2020, 10, 25, 2, 30, fold=1))
@example(tuple((i, float(i), str(i), (i, (None,))) for i in range(100)))
@example([*range(20), 2**70])
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    data = VALUES.encode(value)
    assert same(value, VALUES.decode(data))
    assert same(value, VALUES.decode(memoryview(data)))


def test_records_are_not_built_again() -> None:
    checked, order = tuple.__new__(Checked, (1,)), Order("a")
    object.__setattr__(order, "count", "built again")
    assert same((checked, order), VALUES.decode(VALUES.encode((checked, order))))


def test_a_dict_keeps_its_order() -> None:
    d = {3: "c", 1: "a", (2, "x"): "b", None: "d"}
    assert list(VALUES.decode(VALUES.encode(d)).items()) == list(d.items())


def test_arrays_share_no_memory() -> None:
    a = np.arange(3)
    VALUES.decode(VALUES.encode(a))[0] = 7
    assert a[0] == 0


def deep(levels: int, wrap: Any) -> Any:
    value: Any = wrap(())
    for _ in range(levels):
        value = wrap((value,))
    return value


@pytest.mark.parametrize("levels", [50, *range(1015, 1035), 5000])
@pytest.mark.parametrize("wrap", [tuple, list])
def test_a_value_is_too_deep_for_both_ends_or_for_none(levels: int, wrap: Any) -> None:
    value = deep(levels, wrap)
    try:
        data = VALUES.encode(value)
    except TypeError:
        assert levels > 50
        return
    found, depth = VALUES.decode(data), 0
    while found:
        (found,), depth = found, depth + 1
    assert depth == levels


class Text(str):
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object, "value: <class 'object'> (type) cannot be sent: type is not a value type"),
        ((1, [2, np.float64(3)]), "value[1][1]: np.float64(3.0) (float64) cannot be sent: float64 is not a value type"),
        ({"a": Point(1, Text("t"))}, "value['a'].y: 't' (Text) cannot be sent: Text is not a value type"),
        ({(1, 2j): 0}, "value[key (1, 2j) (tuple)][1]: 2j (complex) cannot be sent: complex is not a value type"),
        ([{frozenset()}], "value[0][member]: frozenset() (frozenset) cannot be sent: frozenset is not a value type"),
        (
            Slotted(Stranger(1)),
            "value.only: Stranger(x=1) (Stranger) cannot be sent: the record Stranger is not among those that both "
            "ends know",
        ),
        (
            [np.array([None])],
            "value[0]: array([None], dtype=object) (ndarray) cannot be sent: an array of object has no fixed form as "
            "bytes",
        ),
        (
            dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1), "X")),
            "its time zone is not datetime.UTC",
        ),
        (bytearray(b"x"), "value: bytearray(b'x') (bytearray) cannot be sent: bytearray is not a value type"),
        (tuple([(1, 2.0)] * 50 + [(1, Text())]), "value[50][1]: '' (Text) cannot be sent: Text is not a value type"),
        (object.__new__(Slotted), "object has no attribute 'only'"),
    ],
)
def test_what_is_no_value_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        VALUES.encode(value)
    assert message in str(caught.value)


def test_a_list_in_itself_is_refused() -> None:
    xs: list[Any] = []
    xs.append(xs)
    with pytest.raises(TypeError, match="nested too deep"):
        VALUES.encode(xs)


def test_only_records_can_be_listed() -> None:
    with pytest.raises(TypeError, match="Text is no record"):
        Values([Text])


# -- bytes that nobody encoded -----------------------------------------------------------------------------------


def tagged(tag: Any, payload: Any) -> bytes:
    return msgpack.packb({tag: payload})


def extension(code: int, data: bytes) -> bytes:
    return msgpack.packb(msgpack.ExtType(code, data)) if code >= 0 else b"\xd6\xff" + data


VECTOR = (False, struct.pack("<2q", 1, 2), struct.pack("<2d", 1.0, 2.0))
NONSENSE = {
    "nothing": b"",
    "cut off": VALUES.encode("hello")[:-1],
    "too much": VALUES.encode(1) + b"\0",
    "no byte of msgpack": b"\xc1",
    "no text": b"\xa1\xff",
    "an extension": extension(5, b"x"),
    "an empty extension": b"\xc7\x00\x05",
    "a timestamp": extension(-1, b"1234"),
    "an empty timestamp": b"\xc7\x00\xff",
    "no pair": msgpack.packb({}),
    "two pairs": msgpack.packb({16: (), 17: ()}),
    "a tag of nobody": tagged(15, ()),
    "a text for a tag": tagged("list", ()),
    "a list for a tag": b"\x81\x81\x10\x90\x90",
    "a negative tag": tagged(-1, ()),
    "a record of nobody": tagged(32 + 4, ()),
    "too few fields": tagged(32, (1,)),
    "too many fields": tagged(33, (1, 2, 3)),
    "a list of a text": tagged(16, "abc"),
    "a dict of one half": tagged(19, ((1,),)),
    "a dict of unequal halves": tagged(19, ((1, 2), (1,))),
    "a dict of texts": tagged(19, ("ab", "cd")),
    "a key twice": tagged(19, ((1, 1), (2, 3))),
    "a key that cannot be hashed": tagged(19, (({16: ()},), (1,))),
    "a member twice": tagged(22, (1, 1.0)),
    "a member that cannot be hashed": tagged(22, ({16: ()},)),
    "an int of a text": tagged(0, "1"),
    "a text of no text": tagged(1, b"\xff"),
    "day 0": tagged(2, 0),
    "a day too far": tagged(2, 2**40),
    "a month 13": tagged(3, (2020, 13, 1, 0, 0, 0, 0, 0)),
    "a moment of seven": tagged(4, (2020, 1, 1, 0, 0, 0, 0)),
    "a moment of texts": tagged(4, ("2020", 1, 1, 0, 0, 0, 0, 0)),
    "a duration too long": tagged(5, (2**40, 0, 0)),
    "a duration of floats": tagged(5, (1, 0, 0.5)),
    "an unset with something": tagged(6, 1),
    "a vector that descends": tagged(8, (VECTOR[0], struct.pack("<2q", 2, 1), VECTOR[2])),
    "a vector with zeros": tagged(8, (*VECTOR[:2], struct.pack("<2d", 1.0, 0.0))),
    "a vector with an odd end": tagged(8, (False, b"123", b"123")),
    "a vector of unequal parts": tagged(8, (False, VECTOR[1], b"")),
    "a vector frozen by two": tagged(8, (2, *VECTOR[1:])),
    "an array of objects": tagged(10, (True, (1,), "|O8", b"12345678")),
    "an array of fields": tagged(10, (True, (1,), "i4,i4", b"12345678")),
    "an array of long texts": tagged(10, (True, (), "<U999999999", b"")),
    "an array larger than its content": tagged(10, (True, (2**40,), "<i8", b"12345678")),
    "an array of size -1": tagged(10, (True, (-1,), "<i8", b"12345678")),
    "an array of absurd shape": tagged(10, (True, (0, 2**62, 2**62), "<i8", b"")),
    "an array of 100 dimensions": tagged(10, (True, (1,) * 100, "<i8", b"12345678")),
    "an array of a shape of texts": tagged(10, (True, ("1",), "<i8", b"12345678")),
    "no boolean": tagged(10, (True, (1,), "|b1", b"\2")),
    "no character": tagged(10, (True, (1,), "<U1", b"\xff\xff\xff\x7f")),
    "no character the other way": tagged(10, (True, (1,), ">U1", b"\x7f\xff\xff\xff")),
    "a dense vector of nothing": tagged(9, ()),
    "a dense vector with an odd end": tagged(9, (True, "<f8", b"123")),
    "too deep": b"\x91" * 100_000 + b"\0",
    "too deep in lists": b"\x81\x10\x91" * 100_000 + b"\0",
    "a long array": b"\xdd\xff\xff\xff\xff" + b"\0" * 1000,
    "a long map": b"\xdf\xff\xff\xff\xff" + b"\0" * 1000,
    "a long text": b"\xdb\xff\xff\xff\xff" + b"\0" * 1000,
    "a long binary": b"\xc6\xff\xff\xff\xff" + b"\0" * 1000,
    "a long extension": b"\xc9\xff\xff\xff\xff\x05" + b"\0" * 1000,
    "long arrays in long arrays": (b"\xdd\x00\x0f\xff\xff" * 1000).ljust(1 << 20, b"\0"),
    "long arrays in few bytes": b"\xdc\x00\xf0" * 80,
    "long maps in long maps": (b"\xdf\x00\x07\xff\xff\0" * 1000).ljust(1 << 20, b"\0"),
}


@pytest.mark.parametrize("data", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_malformed_soon_and_costs_little(data: bytes) -> None:
    with pytest.raises(Malformed):  # what is imported and cached on the way is not counted
        VALUES.decode(data)
    tracemalloc.start()
    try:
        start = time.perf_counter()
        with pytest.raises(Malformed):
            VALUES.decode(data)
        assert time.perf_counter() - start < 1
        assert tracemalloc.get_traced_memory()[1] < 1_000_000 + 10 * len(data)
    finally:
        tracemalloc.stop()


def decoded(data: bytes) -> None:
    """Either Malformed, or a value that can be sent on."""
    try:
        value = VALUES.decode(data)
    except Malformed:
        return
    VALUES.encode(value)


@settings(max_examples=500)
@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    decoded(data)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(anything, st.integers(0, 2**32))
def test_altered_bytes(value: Any, seed: int) -> None:
    data, chance = VALUES.encode(value), random.Random(seed)
    for _ in range(20):
        altered = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(altered) + 1)
            match chance.randrange(4):
                case 0:
                    altered[at : at + 1] = chance.randbytes(1)
                case 1:
                    del altered[at : at + chance.randint(1, 5)]
                case 2:
                    altered[at:at] = altered[chance.randrange(len(altered) + 1) :][:30]
                case _:
                    altered[at : at + 1] = bytes([chance.choice(b"\x80\x81\x91\xc4\xc7\xd9\xdc\xdd\xde\xdf\xff\x10")])
        decoded(bytes(altered))


# -- records of a graph ------------------------------------------------------------------------------------------


class Inner(NamedTuple):
    n: int


@dataclass(frozen=True)
class Outer:
    inner: list[Inner]


class Key(NamedTuple):
    a: int


class Stock(ab.Program):
    held: ab.Partitioned[ab.Table[int, Outer]]

    def put(self, item: int, what: Outer | None) -> None:
        if what is not None:
            self.held[item] = what

    def look(self, item: int) -> dict[Key, float]:
        return {Key(item): 1.0}


def test_records_of_a_graph() -> None:
    assert records_of(ab.compile(Stock)) == (Outer, Inner, Key)
    assert records_of(ab.compile(Stock)) == records_of(ab.compile(Stock))
