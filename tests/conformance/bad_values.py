"""Bad values: a table of what the entries of `Typed` must refuse, and in which words."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

import anabranch as ab
from tests.conformance.typed import GOOD, NOON, Box, Pair


@dataclass(frozen=True)
class Bad:
    """A value that `entry` must refuse for `column`; `shown` is what the message says of it.

    `arrow` is an array of one element that holds it, of a type that holds good values as well.
    """

    entry: str
    kind: str
    value: Any
    shown: str
    overflow: bool = False
    column: str = "x"
    arrow: pa.Array[Any] | None = None
    only_arrow: bool = False


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("has no text")


AWARE = NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=2)))
BIG, INEXACT = 2**63, 2**53 + 1
TOO_BIG = f"got {BIG} (int): it does not fit 64 bits"
NOT_EXACT = f"got {INEXACT} (int): no float is exactly that"
SURROGATE = r"got '\ud800' (str): it has a lone surrogate"
INDEXED = pa.list_(pa.struct([("index", pa.uint64()), ("value", pa.float64())]))
PAIRS = pa.struct([("n", pa.uint64()), ("name", pa.string())])
BOXES = pa.struct([("n", pa.int64()), ("weight", pa.float64())])
TUPLES = pa.struct([("0", pa.uint64()), ("1", pa.string())])


def array(value: Any, type: pa.DataType) -> pa.Array[Any]:
    return pa.array([value], type=type)


def text(data: bytes) -> pa.Array[Any]:
    """A string array of these bytes, be they UTF-8 or not."""
    return pa.Array.from_buffers(pa.string(), 1, pa.array([data]).buffers())


def _null(entry: str, type: pa.DataType) -> Bad:
    return Bad(entry, "null", None, "got None; declare x: ", arrow=array(None, type))


NULLS = [
    _null("put_int", pa.int64()), _null("put_float", pa.float64()), _null("put_bool", pa.bool_()),
    _null("put_str", pa.string()), _null("put_bytes", pa.binary()), _null("put_datetime", pa.timestamp("us")),
    _null("put_utc", pa.timestamp("us", tz="UTC")), _null("put_date", pa.date32()),
    _null("put_timedelta", pa.duration("us")), _null("put_tuple", TUPLES), _null("put_pair", PAIRS),
    _null("put_box", BOXES), _null("put_list", pa.list_(pa.int64())), _null("put_set", pa.list_(pa.int64())),
    _null("put_dict", pa.map_(pa.int64(), pa.float64())), _null("put_vector", INDEXED),
    _null("put_dense", pa.list_(pa.float64())), _null("put_nested", pa.list_(TUPLES)),
]  # fmt: skip

NUMBERS = [
    Bad("put_int", "overflow", BIG, TOO_BIG, True, arrow=array(BIG, pa.uint64())),
    Bad("put_int", "overflow below", -BIG - 1, f"got {-BIG - 1} (int): it does not fit", True),
    Bad("put_int", "overflow without text", 10**5000, "got an int of 16610 bits (int): it does not fit", True),
    Bad("put_int", "overflow of numpy", np.uint64(BIG), f"got {BIG} (int): it does not fit", True),
    Bad("put_int", "value without text", Unprintable(), "expected int, got <tests.conformance.bad_values.Unprintable "),
    Bad("put_int", "float", 1.0, "expected int, got 1.0 (float)"),
    Bad("put_int", "bool", True, "expected int, got True (bool)"),
    Bad("put_int", "bool of numpy", np.True_, "expected int, got np.True_ (bool)"),
    Bad("put_optional", "overflow", BIG, TOO_BIG, True, arrow=array(BIG, pa.uint64())),
    Bad("put_optional", "bool", False, "got False (bool)"),
    Bad("put_optional", "float", float("nan"), "got nan (float)"),
    Bad("put_float", "inexact", INEXACT, NOT_EXACT, arrow=array(INEXACT, pa.int64())),
    Bad("put_float", "inexact of numpy", np.int64(INEXACT), NOT_EXACT),
    Bad("put_float", "overflow", 10**400, "(int): it is too large", True),
    Bad("put_float", "bool", True, "expected float, got True (bool)"),
    Bad("put_float", "decimal", Decimal("0.5"), "expected float, got Decimal('0.5')"),
    Bad("put_bool", "int", 1, "expected bool, got 1 (int)"),
    Bad("put_int", "float key", 1.0, "expected int, got 1.0 (float)", column="key"),
    Bad("put_int", "null key", None, "expected int, got None", column="key", arrow=array(None, pa.int64())),
    Bad("put_int", "bool key", True, "expected int, got True (bool)", column="key"),
    Bad("put_int", "overflow of key", BIG, TOO_BIG, True, column="key", arrow=array(BIG, pa.uint64())),
]

TEXTS_AND_TIMES = [
    Bad("put_str", "lone surrogate", "\ud800", SURROGATE),
    Bad("put_bytes", "bytearray", bytearray(b"a"), "got bytearray(b'a')"),
    Bad("put_datetime", "aware", AWARE, "it has a time zone; declare ab.UTCDateTime"),
    Bad("put_datetime", "date", NOON.date(), "got datetime.date(2026, 3, 1)"),
    Bad("put_datetime", "NaT", np.datetime64("NaT", "us"), "got np.datetime64('NaT','us')"),
    Bad("put_datetime", "nanoseconds", np.datetime64(1, "ns"), "it is not exactly one"),
    Bad("put_datetime", "overflow", np.datetime64(2**60, "us"), "it is out of range", True),
    Bad("put_datetime", "overflow of seconds", np.datetime64(2**62, "s"), "it is out of range", True),
    Bad("put_utc", "naive", NOON, "it has no time zone"),
    Bad("put_utc", "overflow", dt.datetime.min.replace(tzinfo=AWARE.tzinfo), "in UTC it is out of range", True),
    Bad("put_date", "datetime", NOON, "a datetime is no date; write .date()"),
    Bad("put_date", "overflow", np.datetime64(2**40, "D"), "it is out of range", True),
    Bad("put_date", "part of a day", np.datetime64(1, "ms"), "it is not exactly one"),
    Bad("put_timedelta", "overflow", dt.timedelta.max, "it does not fit 64 bits of microseconds", True),
    Bad("put_timedelta", "nanoseconds", np.timedelta64(1, "ns"), "it is not exactly one"),
]  # fmt: skip

PRODUCTS = [
    Bad("put_tuple", "too short", (1,), "expected tuple[int, str], got (1,)"),
    Bad("put_tuple", "too long", (1, "a", 2), "expected tuple[int, str], got (1, 'a', 2)"),
    Bad("put_tuple", "list", [1, "a"], "expected tuple[int, str], got [1, 'a'] (list)"),
    Bad("put_tuple", "record", Pair(1, "a"), "expected tuple[int, str], got Pair(n=1, name='a')"),
    Bad("put_tuple", "null inside", (1, None), "[1]: expected str, got None", arrow=array({"0": 1}, TUPLES)),
    Bad("put_tuple", "overflow inside", (BIG, ""), f"[0]: expected int, {TOO_BIG}", True,
        arrow=array({"0": BIG, "1": ""}, TUPLES)),
    Bad("put_tuple", "surrogate inside", (1, "\ud800"), f"[1]: expected str, {SURROGATE}"),
    Bad("put_pair", "tuple", (1, "a"), "expected Pair, got (1, 'a') (tuple)"),
    Bad("put_pair", "other record", Box(1), "expected Pair, got Box(n=1, weight=1.0)"),
    Bad("put_pair", "null inside", Pair(1, None), ".name: expected str, got None", arrow=array({"n": 1}, PAIRS)),
    Bad("put_pair", "overflow inside", Pair(BIG, ""), f".n: expected int, {TOO_BIG}", True,
        arrow=array({"n": BIG, "name": ""}, PAIRS)),
    Bad("put_pair", "bool inside", Pair(True, ""), ".n: expected int, got True (bool)"),
    Bad("put_box", "dict", {"n": 1}, "expected Box, got {'n': 1} (dict)"),
    Bad("put_box", "null inside", Box(1, None), ".weight: expected float, got None", arrow=array({"n": 1}, BOXES)),
    Bad("put_box", "inexact inside", Box(1, INEXACT), f".weight: expected float, {NOT_EXACT}"),
    Bad("put_nested", "null inside", [("a", None), None], "[1]: expected tuple[str, Pair | None], got None"),
    Bad("put_nested", "deep inside", [("a", Pair(1, 2))], "[0][1].name: expected str, got 2 (int)"),
    Bad("put_nested", "deep overflow", [("a", Pair(BIG, "b"))], f"[0][1].n: expected int, {TOO_BIG}", True),
    Bad("put_nested", "deep surrogate", [("\ud800", None)], f"[0][0]: expected str, {SURROGATE}"),
]  # fmt: skip

CONTAINERS = [
    Bad("put_list", "tuple", (1,), "expected list[int], got (1,) (tuple)"),
    Bad("put_list", "null inside", [1, None], "[1]: expected int, got None",
        arrow=array([1, None], pa.list_(pa.int64()))),
    Bad("put_list", "overflow inside", [1, BIG], f"[1]: expected int, {TOO_BIG}", True,
        arrow=array([1, BIG], pa.list_(pa.uint64()))),
    Bad("put_list", "bool inside", [True], "[0]: expected int, got True (bool)"),
    Bad("put_list", "str inside", [1, 2, "3"], "[2]: expected int, got '3' (str)"),
    Bad("put_dict", "float key", {1.5: 1.0}, "[1.5]: expected int, got 1.5 (float)"),
    Bad("put_dict", "null inside", {1: None}, "[1]: expected float, got None",
        arrow=array([(1, None)], pa.map_(pa.int64(), pa.float64()))),
    Bad("put_dict", "null key", {None: 1.0}, "[None]: expected int, got None"),
    Bad("put_dict", "inexact inside", {1: INEXACT}, f"[1]: expected float, {NOT_EXACT}",
        arrow=array([(1, INEXACT)], pa.map_(pa.int64(), pa.int64()))),
    Bad("put_dict", "overflow of key", {BIG: 1.0}, f"[{BIG}]: expected int, {TOO_BIG}", True,
        arrow=array([(BIG, 1.0)], pa.map_(pa.uint64(), pa.float64()))),
    Bad("put_dict", "pairs", [(1, 1.0), (1, 2.0)], "expected dict[int, float], got [(1, 1.0), (1, 2.0)]"),
    Bad("put_dict", "key without text", {10**5000: 1.0}, "[an int of 16610 bits]: expected int, got an int", True),
    Bad("put_set", "list", [1], "expected set[int], got [1] (list)"),
    Bad("put_set", "null inside", {None}, "[member]: expected int, got None",
        arrow=array([None], pa.list_(pa.int64()))),
    Bad("put_set", "float inside", {1.0}, "[member]: expected int, got 1.0 (float)"),
    Bad("put_set", "overflow inside", {BIG}, f"[member]: expected int, {TOO_BIG}", True,
        arrow=array([BIG], pa.list_(pa.uint64()))),
    Bad("put_vector", "dict", {1: 1.0}, "expected Vector, got {1: 1.0} (dict)"),
    Bad("put_vector", "pairs", [(1, 1.0)], "expected Vector, got [(1, 1.0)] (list)"),
    Bad("put_dense", "list", [1.0], "expected DenseVector, got [1.0] (list)"),
    Bad("put_dense", "array", np.zeros(1), "expected DenseVector, got array([0.]) (ndarray)"),
]  # fmt: skip


def _arrow(entry: str, kind: str, given: pa.Array[Any], value: Any, why: str, overflow: bool = False) -> Bad:
    return Bad(entry, f"{kind} in Arrow", value, why, overflow, arrow=given, only_arrow=True)


def _entries(*entries: Any) -> pa.Array[Any]:
    return array([e and {"index": e[0], "value": e[1]} for e in entries], INDEXED)


IN_ARROW = [
    _arrow("put_str", "no UTF-8", text(b"\xff"), b"\xff", r"expected str, got b'\xff' (bytes) of string"),
    _arrow("put_datetime", "nanoseconds", array(1, pa.timestamp("ns")), 1, "(int) of timestamp[ns]: Casting"),
    _arrow("put_datetime", "overflow", array(2**60, pa.timestamp("us")), 2**60, "(int) of timestamp[us]: ", True),
    _arrow("put_datetime", "overflow of seconds", array(2**62, pa.timestamp("s")), 2**62, "timestamp[s]: Cast", True),
    _arrow("put_date", "overflow", pa.array([2**30], pa.int32()).view(pa.date32()), 2**30, "of date32[day]", True),
    _arrow("put_date", "part of a day", pa.array([1]).view(pa.date64()), 1, "1 (int) of date64[ms]: "),
    _arrow("put_timedelta", "overflow", array(2**62, pa.duration("s")), 2**62, "of duration[s]: Casting", True),
    _arrow("put_timedelta", "nanoseconds", array(1, pa.duration("ns")), 1, "1 (int) of duration[ns]: Casting"),
    _arrow("put_box", "refused by the record", array({"n": -1}, BOXES), {"n": -1, "weight": None}, "negative number"),
    _arrow("put_dict", "one key twice", array([(1, 0.0), (1, 2.0)], pa.map_(pa.int64(), pa.float64())),
           [(1, 0.0), (1, 2.0)], "it has two entries of one key"),
    _arrow("put_vector", "null inside", _entries((1, None)), [{"index": 1, "value": None}], "expected float, got None"),
    _arrow("put_vector", "null entry", _entries((1, 0.5), None), [{"index": 1, "value": 0.5}, None], "expected Vector"),
    _arrow("put_vector", "overflow of index", _entries((BIG, 0.5)), [{"index": BIG, "value": 0.5}], TOO_BIG, True),
    _arrow("put_vector", "one index twice", _entries((1, 0.5), (1, 1.0)),
           [{"index": 1, "value": 0.5}, {"index": 1, "value": 1.0}], "it has two entries of one key"),
    _arrow("put_dense", "null inside", array([0.5, None], pa.list_(pa.float64())), [0.5, None], "got None"),
    _arrow("put_dense", "inexact inside", array([INEXACT], pa.list_(pa.int64())), [INEXACT], NOT_EXACT),
]  # fmt: skip

BAD = [*NULLS, *NUMBERS, *TEXTS_AND_TIMES, *PRODUCTS, *CONTAINERS, *IN_ARROW]

# One value of every kind, and the entries that take it; all others must refuse it.
PROBES: dict[str, tuple[Any, set[str]]] = {
    "int": (7, {"put_int", "put_float", "put_optional"}),
    "float": (0.5, {"put_float"}),
    "bool": (True, {"put_bool"}),
    "str": ("7", {"put_str"}),
    "bytes": (b"7", {"put_bytes"}),
    "naive": (NOON, {"put_datetime"}),
    "aware": (AWARE, {"put_utc"}),
    "date": (NOON.date(), {"put_date"}),
    "timedelta": (dt.timedelta(1), {"put_timedelta"}),
    "tuple": ((7, "7"), {"put_tuple"}),
    "Pair": (Pair(7, "7"), {"put_pair"}),
    "Box": (Box(7), {"put_box"}),
    "list": ([7], {"put_list"}),
    "dict": ({7: 0.5}, {"put_dict"}),
    "set": ({7}, {"put_set"}),
    "Vector": (ab.Vector({7: 0.5}), {"put_vector"}),
    "DenseVector": (ab.DenseVector([0.5]), {"put_dense"}),
    "list of tuples": ([("7", None)], {"put_nested"}),
    "complex": (7j, set()),
    "object": (object(), set()),
}
# Columns of Arrow data of one type, and the entries that take it.
COLUMNS: dict[str, tuple[pa.Array[Any], set[str]]] = {
    "int64": (pa.array([7, 7]), {"put_int", "put_float", "put_optional"}),
    "uint8": (pa.array([7, 7], pa.uint8()), {"put_int", "put_float", "put_optional"}),
    "double": (pa.array([0.5, 0.5]), {"put_float"}),
    "decimal": (pa.array([Decimal(7), Decimal(7)]), set()),
    "bool": (pa.array([True, True]), {"put_bool"}),
    "string": (pa.array(["7", "7"]), {"put_str"}),
    "binary": (pa.array([b"7", b"7"]), {"put_bytes"}),
    "timestamp": (pa.array([NOON, NOON]), {"put_datetime"}),
    "timestamp with zone": (pa.array([NOON] * 2, pa.timestamp("us", "UTC")), {"put_utc"}),
    "date": (pa.array([NOON.date()] * 2), {"put_date"}),
    "time": (pa.array([NOON.time()] * 2), set()),
    "duration": (pa.array([dt.timedelta(1)] * 2), {"put_timedelta"}),
    "null": (pa.nulls(2), {"put_optional"}),
    "list of int": (pa.array([[7], [7]]), {"put_list", "put_set", "put_dense"}),
    "list of double": (pa.array([[0.5], [0.5]]), {"put_dense"}),
    "list of string": (pa.array([["ab"], ["cd"]]), set()),
    "list of list": (pa.array([[[7]], [[7]]]), set()),
    "struct": (pa.array([{"n": 7, "name": "7"}] * 2), {"put_pair", "put_tuple"}),
    "struct of three": (pa.array([{"0": 7, "1": "7", "2": 7}] * 2), set()),
    "struct of one": (pa.array([{"n": 7}] * 2), set()),
    "list of struct": (pa.array([[{"index": 7, "value": 0.5}]] * 2), {"put_vector"}),
    "list of entries": (pa.array([[{"key": 7, "value": 0.5}]] * 2), {"put_dict"}),
    "list of other struct": (pa.array([[{"i": 7, "x": 0.5}]] * 2), set()),
    "map": (pa.array([[(7, 0.5)]] * 2, pa.map_(pa.int64(), pa.float64())), {"put_dict", "put_vector"}),
    "dictionary": (pa.array(["7", "7"]).dictionary_encode(), {"put_str"}),
}

assert {entry for _, entries in PROBES.values() for entry in entries} == set(GOOD)
