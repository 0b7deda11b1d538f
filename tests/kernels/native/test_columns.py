"""Values as words and back, one at a time and as columns; results in the form in which a batch came."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.kernels.native.blocks import Results, block_of
from anabranch.kernels.native.codec import Codec, Pad
from anabranch.kernels.native.columns import address_of, decode, encode
from anabranch.kernels.native.layout import NotInKernels, kinds
from anabranch.kernels.native.outputs import result_arrow, result_dict
from anabranch.lang.annotations import parse
from anabranch.lang.columns import in_kind, result_columns, result_table
from anabranch.lang.spec import EntrySpec
from anabranch.lang.types import NONE
from tests.kernels.native.flat import PASSED, VALUES, assert_alike

ALL = VALUES | PASSED
on_every_type = pytest.mark.parametrize("kind", list(ALL), ids=str)
few = settings(max_examples=settings().max_examples // 5)


@on_every_type
@few
@given(data=st.data())
def test_columns_and_back(kind: Any, data: st.DataObject) -> None:
    t, values = parse(kind), data.draw(st.lists(ALL[kind], max_size=6))
    found = encode(t, values)
    assert len(found.columns) == len(kinds(t)) and {len(c) for c in found.columns} <= {len(values)}
    assert [c.dtype for c in found.columns] == [np.float64 if k == "f" else np.int64 for k in kinds(t)]
    assert_alike(decode(t, found.columns, len(values)), values)


@on_every_type
@few
@given(data=st.data())
def test_single_words_and_back(kind: Any, data: st.DataObject) -> None:
    pad, values = Pad(), data.draw(st.lists(ALL[kind], min_size=1, max_size=4))
    codec, width = Codec(parse(kind), pad.keep), 8 * len(kinds(parse(kind)))
    memory = bytearray(8 + width * len(values))
    for i, value in enumerate(values):
        codec.pack_into(value, memory, 8 + width * i)
        assert codec.pack(value) == codec.address
        assert_alike(codec.unpack(ctypes.string_at(codec.address, width), 0), value)
    assert_alike([codec.unpack(memory, 8 + width * i) for i, _ in enumerate(values)], values)


def test_integers_of_more_than_64_bits_are_refused() -> None:
    for value in (2**63, -(2**63) - 1, 2**64):
        for kind, x in ((int, value), (list[int], [value]), (int | None, value)):
            with pytest.raises(NotInKernels, match="64 bits"):
                encode(parse(kind), [x])


@given(st.binary(max_size=20))
def test_the_address_of_bytes(data: bytes) -> None:
    assert ctypes.string_at(address_of(data), len(data) + 1) == data + b"\0"
    assert address_of(data) == ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value


# -- blocks -----------------------------------------------------------------------------------------------------------


@given(st.data(), st.lists(st.sampled_from(list(ALL)), max_size=3))
def test_a_block_is_the_sequence_of_its_rows(data: st.DataObject, types: list[Any]) -> None:
    rows = data.draw(st.lists(st.tuples(*(ALL[t] for t in types)), max_size=6))
    block = block_of([parse(t) for t in types], rows)
    assert len(block) == len(rows)
    assert_alike(list(block), rows)
    for i in range(-len(rows), len(rows)):
        assert_alike(block[i], rows[i])
    for i in (len(rows), -len(rows) - 1):
        with pytest.raises(IndexError):
            block[i]
    bound = st.none() | st.integers(-7, 7)
    part = slice(data.draw(bound), data.draw(bound), data.draw(st.none() | st.sampled_from([1, 2, -1, -3])))
    assert_alike(list(block[part]), rows[part])


def test_a_long_block() -> None:
    rows = [(i, str(i)) for i in range(10_000)]
    block = block_of([parse(int), parse(str)], rows)
    assert list(block) == rows and block[4095:4098] == tuple(rows[4095:4098])


# -- results ----------------------------------------------------------------------------------------------------------


def filled(kind: Any, values: list[Any]) -> Results:
    results = Results(parse(kind), len(values))
    for i, value in enumerate(values):
        results.put(i, value)
    return results


@on_every_type
@few
@given(data=st.data())
def test_results_in_kind(kind: Any, data: st.DataObject) -> None:
    values = data.draw(st.lists(ALL[kind], max_size=5))
    spec = EntrySpec("entry", (), parse(kind), filled)
    results = filled(kind, values)
    assert len(results) == len(values)
    assert_alike(list(results), values)
    assert_alike(results[1:], values[1:])
    for i in range(-len(values), len(values)):
        assert_alike(results[i], values[i])
    with pytest.raises(IndexError):
        results[len(values)]
    assert_alike(result_dict(spec, results), result_columns(spec, values))
    found, expected = result_arrow(spec, results), result_table(spec, values)
    assert found is not None and expected is not None and found.schema.equals(expected.schema, check_metadata=True)
    assert_alike(found.to_pylist(), expected.to_pylist())
    found.validate(full=True)


@pytest.mark.parametrize("kind", [int, float, bool, str, int | None, list[int]], ids=str)
def test_results_for_data_frames(kind: Any) -> None:
    values: list[Any] = {int: [1, 2], float: [1.5, float("nan")], bool: [True, False], str: ["a", "é"]}.get(kind, [])
    values = values or ([None, 2**62 + 1] if kind == int | None else [[1], []])
    spec = EntrySpec("entry", (), parse(kind), filled)
    fast, slow = result_arrow(spec, filled(kind, values)), result_table(spec, values)
    frame = pd.DataFrame({"a": [1, 2]}, index=[7, 9])
    pd.testing.assert_frame_equal(in_kind(frame, fast), in_kind(frame, slow))
    polars = pl.DataFrame({"a": [1, 2]})
    assert in_kind(polars, fast).equals(in_kind(polars, slow))
    assert in_kind(pa.table({"a": [1, 2]}), fast) is fast


def test_no_results() -> None:
    spec = EntrySpec("entry", (), NONE, filled)
    results = Results(NONE, 3)
    results.put(1, None)
    assert list(results) == [None, None, None]
    assert result_dict(spec, results) is None and result_columns(spec, [None]) is None
    assert result_arrow(spec, results) is None and result_table(spec, [None]) is None


@given(st.data(), st.sampled_from(list(ALL)))
def test_results_live_as_long_as_what_is_made_of_them(data: st.DataObject, kind: Any) -> None:
    values = data.draw(st.lists(ALL[kind], min_size=1, max_size=4))
    spec = EntrySpec("entry", (), parse(kind), filled)
    table = result_arrow(spec, filled(kind, values))
    filled(kind, values[::-1])
    expected = result_table(spec, values)
    assert table is not None and expected is not None
    assert_alike(table.to_pylist(), expected.to_pylist())
