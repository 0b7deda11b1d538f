"""Batches read as columns of words are what the careful reader reads; what that refuses is not read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels.native.inputs import read_block
from anabranch.lang.annotations import parse
from anabranch.lang.columns import read_batch
from anabranch.lang.spec import EntrySpec, Parameter
from anabranch.lang.types import NONE
from tests.kernels.native.flat import assert_alike, outcome

TYPES = [int, float, bool, str, bytes, int | None, float | None, bool | None, str | None, bytes | None]


def spec_of(**parameters: Any) -> EntrySpec:
    given = tuple(Parameter(name, parse(t)) for name, t in parameters.items())
    return EntrySpec("entry", given, NONE, spec_of)


def check(spec: EntrySpec, data: Any) -> bool:
    """Was it read as a block?"""
    block, slow = read_block(spec, data), outcome(lambda: read_batch(spec, data).rows)
    if block is None:
        return False
    assert isinstance(slow, list), f"it was read, though {slow}"
    rows = list(block)
    assert_alike(rows, slow)
    assert len(block) == len(rows) and block.types == tuple(p.type for p in spec.parameters)
    if rows:
        assert_alike([block[0], block[-1], *block[1:]], [slow[0], slow[-1], *slow[1:]])
    return True


# -- columns of every kind --------------------------------------------------------------------------------------------

ints = st.integers(-3, 3) | st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1])
floats = st.sampled_from([0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"), 1e300, 2.0**53, 2.0**60])
texts = st.sampled_from(["", "a", "é", "😀", "longer text"])
binaries = st.sampled_from([b"", b"a", b"\xff\xfe", b"\0"])
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: ints,
    float: floats,
    bool: st.booleans(),
    str: texts,
    bytes: binaries,
}
NUMBERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ">i8", ">u4", ">f8"]
NUMBERS += [np.float16, np.float32, np.float64, np.longdouble, np.bool_, "U4", "S4", object, "M8[us]", "m8[s]", complex]
ARROW = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.bool_()]
ARROW += [pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.string_view(), pa.binary()]
ARROW += [pa.large_binary(), pa.binary_view(), pa.binary(1), pa.null(), pa.decimal128(5), pa.date32()]
ARROW += [pa.timestamp("us"), pa.duration("s"), pa.list_(pa.int64()), pa.bool8()]


@st.composite
def values(draw: st.DrawFn, size: int, none: bool, kind: Any = None) -> list[Any]:
    """Of one type, which is often the one that is wanted."""
    wanted = [scalar for scalar in SCALARS if kind in (scalar, scalar | None)]
    of = SCALARS[draw(st.sampled_from([*SCALARS, *wanted * 8]))]
    return [draw(st.none() | of if none else of) for _ in range(size)]


def made(make: Callable[[], Any], otherwise: Any) -> Any:
    """What numpy or Arrow makes of values, if anything."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return make()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return otherwise


@st.composite
def numpy_columns(draw: st.DrawFn, size: int, wanted: Any = None) -> Any:
    dtype, given = draw(st.sampled_from(NUMBERS)), draw(values(3 * size, False, wanted))
    array = made(lambda: np.array(given).astype(dtype), np.arange(3 * size))
    form = draw(st.sampled_from(["plain", "strided", "reversed", "masked", "twofold", "records"]))
    match form:
        case "strided":
            return array[::3]
        case "reversed":
            return array[:size][::-1]
        case "masked":
            return np.ma.MaskedArray(array[:size], mask=[draw(st.booleans()) for _ in range(size)])
        case "twofold":
            return array[: 2 * size].reshape(size, 2)
        case "records":
            return array[:size].view(np.recarray)
    return array[:size]


@st.composite
def arrow_columns(draw: st.DrawFn, size: int, wanted: Any = None) -> Any:
    kind, none = draw(st.sampled_from(ARROW)), draw(st.booleans())
    given = draw(values(size + 3, none, wanted))
    array = made(lambda: pa.array(given, type=kind), None)
    if array is None:
        array = made(lambda: pa.array(given), pa.array([1] * (size + 3)))
    if draw(st.booleans()):
        array = made(array.dictionary_encode, array)
    match draw(st.sampled_from(["plain", "sliced", "chunked", "null in dictionary", "run-end", "no chunk", "rot"])):
        case "sliced":
            return array[2 : 2 + size]
        case "chunked":
            at = draw(st.integers(0, size))
            parts = [array[:at], array[at:size]]
            return made(lambda: pa.chunked_array(parts), parts[0])
        case "null in dictionary":
            picked = pa.array([draw(st.integers(0, 1)) for _ in range(size)], type=pa.int32())
            return made(lambda: pa.DictionaryArray.from_arrays(picked, array[:2].take(pa.array([0, None]))), array)
        case "run-end":
            return made(lambda: pa.compute.run_end_encode(array[:size]), array)
        case "no chunk" if size == 0:
            return pa.chunked_array([], type=array.type)
        case "rot" if pa.types.is_binary(array.type):
            rotten = pa.StringArray.from_buffers(size, array.buffers()[1], array.buffers()[2])
            return rotten
    return array[:size]


@st.composite
def columns(draw: st.DrawFn, size: int, wanted: Any = None) -> Any:
    size = draw(st.sampled_from([size, size, size, size, size, size, size, size + 1]))
    match draw(st.integers(0, 9)):
        case 0 | 1:
            form = draw(st.sampled_from([list, list, tuple, iter, set]))
            return form(draw(values(size, draw(st.booleans()), wanted)))
        case 2 | 3 | 4:
            return draw(numpy_columns(size, wanted))
        case 5:
            given = draw(values(size, True))
            return made(lambda: pl.Series(given), [])
        case 6:
            given = draw(values(size, True))
            return made(lambda: pd.Series(given), [])
    return draw(arrow_columns(size, wanted))


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(data=st.data())
def test_any_column_in_a_dict(kind: Any, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 4))
    check(spec_of(a=kind), {"a": data.draw(columns(size, kind))})


@given(st.data())
def test_several_columns(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
    size = data.draw(st.integers(0, 3))
    spec = spec_of(**{f"c{i}": t for i, t in enumerate(kinds)})
    names = data.draw(st.permutations([p.name for p in spec.parameters]))
    wanted = {p.name: kind for p, kind in zip(spec.parameters, kinds, strict=True)}
    check(spec, {name: data.draw(columns(size, wanted[name])) for name in names})


@given(st.data())
def test_tables(data: st.DataObject) -> None:
    kinds, size = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2)), data.draw(st.integers(0, 3))
    arrays = [data.draw(arrow_columns(size, kind)) for kind in kinds]
    names = [data.draw(st.sampled_from([f"c{i}", f"c{i}", f"c{i}", "c0", "other"])) for i, _ in enumerate(kinds)]
    spec = spec_of(**{f"c{i}": t for i, t in enumerate(kinds)})
    table = made(lambda: pa.table(arrays, names=names), None)
    if table is not None:
        check(spec, table)
        for batch in made(table.to_batches, []):
            check(spec, batch)
        check(spec, made(table.to_pandas, table))


POLARS = [pl.Int8, pl.UInt8, pl.Int64, pl.UInt64, pl.Int128, pl.Float32, pl.Float64, pl.Boolean, pl.String, pl.Binary]
POLARS += [pl.Categorical, pl.Null, pl.Object]


@given(st.data())
def test_frames(data: st.DataObject) -> None:
    kinds, size = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2)), data.draw(st.integers(0, 3))
    given = [data.draw(values(size, data.draw(st.booleans()), kind)) for kind in kinds]
    dtypes = [data.draw(st.none() | st.sampled_from(POLARS)) for _ in kinds]
    parts = [
        made(lambda x=x, t=t: pl.Series(x, dtype=t), pl.Series([1] * size)) for x, t in zip(given, dtypes, strict=True)
    ]
    frame = pl.DataFrame({f"c{i}": part for i, part in enumerate(parts)})
    spec = spec_of(**{f"c{i}": t for i, t in enumerate(kinds)})
    check(spec, frame)
    check(spec, frame[1:])
    check(spec, pl.concat([frame, frame], rechunk=False))
    check(spec, dict(zip(frame.columns, frame, strict=True)))


# -- what must be read, and what must not -----------------------------------------------------------------------------


GOOD: list[tuple[Any, Sequence[Any]]] = [
    (int, [[1, 2], (1, 2), np.array([1, 2]), np.array([1, 2], dtype=np.uint8), np.array([[1, 2], [3, 4]])[:, 1]]),
    (int, [pa.array([1, 2], type=t) for t in ARROW[:8]]),
    (int, [pa.array([7, 1, 2])[1:], pa.chunked_array([[1], [2]]), pa.array([1, 1]).dictionary_encode(), []]),
    (float, [[1.0, float("nan")], np.array([1.5], dtype=np.float32), np.array([1, 2**53]), pa.array([1, 2])]),
    (float, [pa.array([1.0, 2.0], type=t) for t in ARROW[9:12]]),
    (bool, [[True], np.array([True, False]), pa.array([True, False, True])[1:]]),
    (str, [["a", "é"], ("",), pa.array(["a", "é"]), pa.array(["x", "", "y"])[1:], pa.array(["a"], pa.string_view())]),
    (
        str,
        [pa.array(["a", "b"], pa.large_string()), pa.array(["a", "a"]).dictionary_encode(), pa.array([], pa.string())],
    ),
    (bytes, [[b"a", b"\xff"], pa.array([b"a", b""]), pa.array([b"\xff"], pa.large_binary())]),
    (int | None, [pa.array([1, None]), pa.array([1, 2]), pa.array([None, 1], pa.uint8())[:1]]),
    (float | None, [pa.array([1.0, None, float("nan")]), pa.array([1, None])]),
    (bool | None, [pa.array([True, None])]),
    (str | None, [pa.array(["a", None]), pa.array([None, "", "é"])[1:]]),
    (bytes | None, [pa.array([b"a", None])]),
]


@pytest.mark.parametrize(("kind", "column"), [(t, c) for t, cs in GOOD for c in cs])
def test_what_is_plainly_right_is_read(kind: Any, column: Any) -> None:
    assert check(spec_of(a=kind), {"a": column})


def test_tables_that_are_plainly_right_are_read() -> None:
    spec = spec_of(a=int, b=str)
    table = pa.table({"b": ["x", "y"], "a": [1, 2]})
    for data in (table, table.to_batches()[0], pl.from_arrow(table), pa.concat_tables([table, table]), table[1:]):
        assert check(spec, data)


def nulls_with_rubbish() -> Any:
    """Nulls below which there are bytes that are no text."""
    array = pa.array([b"good", b"\xff\xff", b"x"])
    valid = pa.py_buffer(bytes([0b101]))
    return pa.StringArray.from_buffers(3, array.buffers()[1], array.buffers()[2], valid)


def test_what_is_below_nulls_does_not_matter() -> None:
    spec = spec_of(a=str | None)
    assert check(spec, {"a": nulls_with_rubbish()})
    block = read_block(spec, {"a": nulls_with_rubbish()})
    assert block is not None and block.columns[2].tolist() == [4, 0, 1]


BAD: list[tuple[Any, Any]] = [
    (int, [True]),
    (int, [1.0]),
    (int, [2**63]),
    (int, [None]),
    (int, [np.int64(1)]),
    (int, np.array([1.0, 2.0])),
    (int, np.array([True])),
    (int, np.array([2**63], dtype=np.uint64)),
    (int, np.ma.MaskedArray([1, 2], mask=[False, True])),
    (int, np.array(3)),
    (int, np.array([[1], [2]])),
    (int, np.array([1, 2], dtype=object)),
    (int, np.array([1], dtype="m8[s]")),
    (int, pa.array([1.0])),
    (int, pa.array([True])),
    (int, pa.array([2**63], pa.uint64())),
    (int, pa.array([1, None])),
    (int, pa.array([1], pa.duration("s"))),
    (int, pa.array([Decimal(1)])),
    (int, pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([1, None]))),
    (str, pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))),
    (str, pa.chunked_array([pa.array(["a"]), pa.array([None], pa.string())])),
    (float, np.array([2**53 + 1])),
    (float, np.array([2**64 - 1], dtype=np.uint64)),
    (float, np.array([-(2**63), 2**63 - 1])),
    (float, pa.array([2**53 + 1])),
    (float, [1]),
    (float, [1.0, True]),
    (float, np.array([0.1], dtype=np.longdouble) + np.longdouble(1e-19)),
    (float, pa.array([1.0, None])),
    (bool, [1]),
    (bool, np.array([1])),
    (bool, pa.array([1])),
    (str, ["\ud800"]),
    (str, [b"a"]),
    (str, "ab"),
    (str, {"a": 1}),
    (str, pa.array([b"\xff"])),
    (str, pa.StringArray.from_buffers(1, *pa.array([b"\xff"]).buffers()[1:])),
    (bytes, pa.array(["a"])),
    (bytes, ["a"]),
    (bytes, bytearray(b"ab")),
    (int | None, [True, None]),
    (int | None, pa.array([1.5, None])),
    (float | None, np.array([1, 2**53 + 1])),
]


@pytest.mark.parametrize(("kind", "column"), BAD)
def test_what_is_not_right_is_not_read(kind: Any, column: Any) -> None:
    assert read_block(spec_of(a=kind), {"a": column}) is None


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"a": [1]},
        {"a": [1], "b": [1], "c": [1]},
        {"a": [1], "b": [1, 2]},
        {"a": [1], 1: [1]},
        {"a": [1], b"b": [1]},
        {"a": [1], None: [1]},
        {"a": [], "b": [1]},
        pa.table([[1], [1]], names=["a", "a"]),
        pa.table([[1], [1], [1]], names=["a", "b", "b"]),
        pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64()), ("b", pa.int64())]), []),
        pd.DataFrame({"a": [1], "b": [1]}),
        [{"a": 1, "b": 1}],
        [(1, 1)],
        None,
        "ab",
        1,
    ],
)
def test_batches_with_other_columns_are_not_read(data: Any) -> None:
    assert read_block(spec_of(a=int, b=int), data) is None


def test_an_entry_without_parameters_is_not_read() -> None:
    assert read_block(spec_of(), {}) is None
    assert read_block(spec_of(), pa.table({"a": [1]}).select([])) is None


def test_what_stands_for_more_than_one_word_is_not_read() -> None:
    for kind in (list[int], tuple[int, str], dict[str, int], Plain | None):
        assert read_block(spec_of(a=kind, b=int), {"a": [], "b": []}) is None


def test_a_numpy_array_may_change_afterwards() -> None:
    column = np.array([1, 2])
    block = read_block(spec_of(a=int), {"a": column})
    column[:] = 9
    assert block is not None and list(block) == [(1,), (2,)]


# -- records ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plain:
    a: int
    b: str | None


class Named(NamedTuple):
    a: int
    b: str | None = "default"


@dataclass(frozen=True)
class Picky:
    a: int
    b: str | None

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("below zero")


class Wrapped(NamedTuple):
    record: int


TABLE = pa.table({"b": ["x", None], "a": [1, 2]})


@pytest.mark.parametrize("kind", [Plain, Named])
def test_the_fields_of_a_single_record_are_columns(kind: Any) -> None:
    assert check(spec_of(record=kind), TABLE)
    assert check(spec_of(record=kind), {"a": [1, 2], "b": pa.array(["x", "y"])})
    assert read_block(spec_of(record=kind), {"record": [kind(1, "x")]}) is None
    assert read_block(spec_of(record=kind), {"a": [1]}) is None
    assert read_block(spec_of(record=kind, more=int), {"record": [], "more": []}) is None


def test_a_record_with_code_of_its_own_is_not_read() -> None:
    assert read_block(spec_of(record=Picky), TABLE) is None


def test_a_field_with_the_name_of_the_parameter() -> None:
    assert check(spec_of(record=Wrapped), {"record": [1, 2]})


# -- lists of numbers -------------------------------------------------------------------------------------------------

LISTS = [
    (list[int], pa.int64(), [[1, 2], [], [3], [2**62, -5, 7]]),
    (list[float], pa.float64(), [[1.5], [], [float("nan"), -0.0], [2.0, 3.0]]),
    (ab.DenseVector, pa.float64(), [[1.5, 2.0], [0.0, float("inf")], [-0.0, 3.0], [4.0, 5.0]]),
]


@pytest.mark.parametrize(("kind", "item", "rows"), LISTS)
def test_lists_of_numbers_are_read_where_they_are(kind: Any, item: Any, rows: list[list[Any]]) -> None:
    spec = spec_of(a=kind, b=int)
    whole = pa.array(rows, pa.list_(item))
    for column in (whole, whole[1:3], whole[:0], whole.cast(pa.large_list(item)), pa.chunked_array([whole, whole])):
        assert check(spec, {"a": column, "b": pa.array(range(len(column)), pa.int64())})
    block = read_block(spec, {"a": whole, "b": pa.array([1, 2, 3, 4])})
    assert block is not None and int(block.columns[0][0]) == whole.values.buffers()[1].address


def test_vectors_of_one_length() -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 2)
    for part in (column, column[1:], column[1:2]):
        assert check(spec_of(a=ab.DenseVector), {"a": part})


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (list[int], pa.array([[1], None])),
        (list[int], pa.array([[1], [None]])),
        (list[int], pa.array([[1.0]])),
        (list[float], pa.array([[1]])),
        (list[float], pa.array([[1.5]], pa.list_(pa.float32()))),
        (ab.DenseVector, pa.array([[1.5, None]])),
        (ab.DenseVector, pa.array([1.5])),
        (list[list[int]], pa.array([[[1]]])),
        (list[str], pa.array([["a"]])),
        (list[int] | None, pa.array([[1], None])),
    ],
)
def test_lists_that_are_not_plainly_right(kind: Any, column: Any) -> None:
    assert read_block(spec_of(a=kind), {"a": column}) is None


def test_nulls_that_no_list_has_do_not_matter() -> None:
    items = pa.array([1, None, 3], pa.int64())
    column = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), items)
    assert check(spec_of(a=list[int]), {"a": column[:1]})
    assert read_block(spec_of(a=list[int]), {"a": column}) is None
