"""Rows put into flat memory leave what the plain methods leave, row by row; each is given to the one who owns it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels.native import stores
from anabranch.kernels.native.restoring import fill, owners
from anabranch.kernels.native.saving import Slices, changed
from anabranch.lang.annotations import parse
from anabranch.lang.arrow import arrow_array
from anabranch.lang.keys import BUCKETS, bucket
from anabranch.lang.types import BYTES, FLOAT, INT, STR
from anabranch.state.changes import schema_of
from anabranch.state.parts import place_of
from anabranch.state.tables import load_columns
from tests.kernels.native.flat import KEYS, allocated, floats, table
from tests.kernels.native.test_saving import ALL, Saved, apply, assert_same, copied, indices, keys_of, state_of


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, size in {"FIRST_ENTRIES": 2, "FIRST_HEAP": 32, "FIRST_LOG": 8, "MANY": 2, "LARGE": 256}.items():
            patch.setattr(stores, name, size)
        yield


def batch(state: Any, rows: list[tuple[Any, ...]], present: list[bool]) -> pa.RecordBatch:
    """Rows as pyarrow makes them of Python values; the value of one that is not present is null."""
    columns = load_columns(state)
    values = [
        [x if p or i < len(columns) - 1 else None for i, x in enumerate(row)]
        for row, p in zip(rows, present, strict=True)
    ]
    arrays = [arrow_array(t, [row[i] for row in values]) for i, (_, t) in enumerate(columns)]
    return pa.RecordBatch.from_arrays([*arrays, pa.array(present, pa.bool_())], schema=schema_of(state))


def check(data: st.DataObject, saved: Saved, plain: Any, row: st.SearchStrategy[tuple[Any, ...]]) -> None:
    """Some batches of rows, with keys that come again, into both."""
    saved.arena.logging = False
    for _ in range(data.draw(st.integers(1, 3))):
        given_rows = data.draw(st.lists(st.tuples(row, st.booleans()), max_size=20))
        rows = batch(saved.state, [r for r, _ in given_rows], [p for _, p in given_rows])
        first = data.draw(st.integers(0, len(rows)))
        rows = rows.slice(first, data.draw(st.integers(0, len(rows) - first)))
        whole = data.draw(st.booleans())
        if whole and not isinstance(plain, ab.Value):
            for key in [k for k, _ in plain._cells()]:
                if isinstance(plain, ab.Table):
                    del plain[key]
                else:
                    plain[key] = 0.0
        fill(saved.part, rows, whole=whole)
        apply(plain, saved.state, rows)
        assert_same(saved.part, plain)
        if saved.shape.cls not in (ab.DenseVector, ab.DenseMatrix):
            assert saved.part.store.nbytes == allocated(saved.part.store)
            live = saved.part.store.words[: saved.part.store.used]
            lined = saved.shape.axis is not None
            assert saved.part.store.live == int((live[:, 3] != 0).sum() if lined else (live[:, 0] < 0).sum())
    assert changed(saved.arena, {"state": saved.part}) == {}
    # What was filled goes on as it would have.
    saved.arena.logging = True
    mark, before = saved.arena.mark(), copied(saved.part)
    for key in [k for k, _ in saved.part._cells()][:5] if not isinstance(plain, ab.Value) else []:
        if isinstance(saved.part, ab.Table):
            del saved.part[key]
        else:
            saved.part[key] = 3.5
    saved.arena.roll_back(mark)
    assert_same(saved.part, before)


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_tables(data: st.DataObject) -> None:
    key, value = data.draw(st.sampled_from(list(KEYS))), data.draw(st.sampled_from(list(ALL)))
    keys = data.draw(st.lists(KEYS[key], min_size=1, max_size=8))
    plain = table(key, value, data.draw(st.dictionaries(st.sampled_from(keys), ALL[value], max_size=4)))
    saved = Saved(plain._copy(), state_of(ab.Table, parse(key), parse(value)))
    check(data, saved, plain, st.tuples(st.sampled_from(keys), ALL[value]))


@given(st.data(), st.dictionaries(indices, floats, max_size=5))
def test_vectors(data: st.DataObject, content: dict[int, float]) -> None:
    check(data, Saved(ab.Vector(content), state_of(ab.Vector)), ab.Vector(content), st.tuples(indices, floats))


@pytest.mark.parametrize("axis", ["row", "column"])
@given(st.data(), st.dictionaries(st.tuples(indices, indices), floats, max_size=8))
def test_matrices(axis: str, data: st.DataObject, content: dict[Any, float]) -> None:
    saved = Saved(ab.Matrix(content), state_of(ab.Matrix, axis=axis), axis)
    check(data, saved, ab.Matrix(content), st.tuples(indices, indices, floats))


@given(st.data())
def test_values(data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(list(ALL)))
    plain: Any = ab.Value(data.draw(ALL[value]))
    plain._schema(None, parse(value))
    saved = Saved(plain, state_of(ab.Value, None, parse(value)))
    saved.arena.logging = False
    rows = [(data.draw(ALL[value]),) for _ in range(data.draw(st.integers(0, 3)))]
    given_rows = batch(saved.state, rows, [True] * len(rows))
    fill(saved.part, given_rows, whole=data.draw(st.booleans()))
    apply(plain, saved.state, given_rows)
    assert_same(saved.part, plain)


@given(st.data(), st.integers(1, 4), st.integers(1, 4))
def test_dense_matrices(data: st.DataObject, rows: int, columns: int) -> None:
    plain = ab.DenseMatrix([[1.5] * columns] * rows)
    saved = Saved(plain, state_of(ab.DenseMatrix))
    check(data, saved, plain.copy(), st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1), floats))


@given(st.data(), st.integers(1, 9))
def test_dense_vectors(data: st.DataObject, size: int) -> None:
    saved = Saved(ab.DenseVector([1.5] * size), state_of(ab.DenseVector))
    check(data, saved, ab.DenseVector([1.5] * size), st.tuples(st.integers(0, size - 1), floats))


@given(st.data(), st.booleans(), st.booleans())
def test_what_was_saved_is_the_same_again(data: st.DataObject, whole: bool, distinct: bool) -> None:
    key, value = data.draw(st.sampled_from(list(KEYS))), data.draw(st.sampled_from(list(ALL)))
    plain = table(key, value, data.draw(st.dictionaries(KEYS[key], ALL[value], max_size=12)))
    saved = Saved(plain, state_of(ab.Table, parse(key), parse(value)))
    for k in plain.keys()[: data.draw(st.integers(0, 6))]:
        del saved.part[k]
    other = data.draw(st.dictionaries(KEYS[key], ALL[value], max_size=3)) if whole else {}
    copy, arena = saved.make(table(key, value, other))
    walk, step, first = Slices(saved.part), data.draw(st.integers(1, 5)), whole
    if whole and not len(saved.part):
        copy.clear()
    while (rows := walk.take(step)) is not None:
        fill(copy, rows, whole=first, distinct=distinct)
        first = False
    assert_same(copy, saved.part)
    arena.clear()
    arena.logging = True
    for k in plain:
        assert (k in copy) == (k in saved.part)
        copy[k] = plain[k]
    assert_same(copy, plain)
    arena.roll_back((0, 0))
    assert_same(copy, saved.part)


@pytest.mark.parametrize("key", [INT, STR, BYTES, parse(tuple[int, str])])
@pytest.mark.parametrize("distinct", [False, True])
def test_many_rows_in_many_pieces(key: Any, distinct: bool) -> None:
    made = {
        INT: lambda i: i * 7919,
        STR: lambda i: f"key {i}",
        BYTES: lambda i: str(i).encode(),
    }.get(key, lambda i: (i % 3, f"{i}"))
    content = {made(i): "v" * (i % 13) for i in range(30_000)}
    state = state_of(ab.Table, key, STR)
    rows = batch(state, list(content.items()), [True] * len(content))
    plain: ab.Table[Any, str] = ab.Table()
    plain._schema(key, STR)
    saved = Saved(plain, state)
    saved.arena.logging = False
    for i in range(0, len(rows), 4096):
        fill(saved.part, rows.slice(i, 4096), distinct=distinct)
    assert len(saved.part) == len(content)
    assert dict(saved.part.items()) == content
    assert all(saved.part[k] == content[k] for k in list(content)[::997])
    half = rows.slice(0, 20_000)
    gone = pa.RecordBatch.from_arrays(
        [half.column(0), pa.nulls(20_000, pa.string()), pa.array([False] * 20_000)], schema=half.schema
    )
    fill(saved.part, gone)
    assert len(saved.part) == 10_000
    assert saved.part.store.used < 30_000, "what is absent is taken out"
    fill(saved.part, half)
    assert dict(saved.part.items()) == content


def test_long_lines() -> None:
    rng = np.random.default_rng(1)
    cells = [(int(i), int(j), float(x)) for i, j, x in zip(*rng.integers(0, 200, (3, 5000)), strict=True)]
    state = state_of(ab.Matrix)
    rows = batch(state, cells, rng.integers(0, 4, 5000).astype(bool).tolist())
    saved, plain = Saved(ab.Matrix(), state, "row"), ab.Matrix()
    saved.arena.logging = False
    fill(saved.part, rows)
    apply(plain, state, rows)
    assert_same(saved.part, plain)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_rows_that_are_not_of_the_state_are_refused() -> None:
    saved = Saved(table(int, int, {1: 1}), state_of(ab.Table, INT, INT))
    saved.arena.logging = False
    other = batch(state_of(ab.Table, INT, FLOAT), [(1, 2.0)], [True])
    with pytest.raises(TypeError, match="rows of state have the columns"):
        fill(saved.part, other)
    rows = batch(saved.state, [(1, 2)], [True])
    nothing = pa.nulls(1, pa.int64())
    with pytest.raises(ValueError, match="expected int, got a null"):
        fill(saved.part, pa.RecordBatch.from_arrays([nothing, *rows.columns[1:]], schema=rows.schema))
    with pytest.raises(ValueError, match="expected int, got a null"):
        fill(saved.part, pa.RecordBatch.from_arrays([rows.column(0), nothing, rows.column(2)], schema=rows.schema))
    assert dict(saved.part.items()) == {1: 1}
    dense = Saved(ab.DenseVector([0.0, 1.0]), state_of(ab.DenseVector))
    dense.arena.logging = False
    for i in (-1, 2):
        with pytest.raises(IndexError, match="outside"):
            fill(dense.part, batch(dense.state, [(0, 5.0), (i, 2.0)], [True, True]))
    assert dense.part.tolist() == [0.0, 1.0]


def test_while_it_logs_nothing_is_filled() -> None:
    saved = Saved(table(int, int, {1: 1}), state_of(ab.Table, INT, INT))
    saved.part[1] = 2
    with pytest.raises(AssertionError, match="logs"):
        fill(saved.part, batch(saved.state, [(1, 3)], [True]))


# -- owners -----------------------------------------------------------------------------------------------------------

INSTANCES = [b * 7 % 5 for b in range(BUCKETS)]


def expected(state: Any, rows: pa.RecordBatch) -> list[int]:
    return [INSTANCES[bucket(place_of(state, key))] for key in keys_of(state, rows)]


@given(st.data(), st.sampled_from(list(KEYS)))
def test_owners_of_tables(data: st.DataObject, key: Any) -> None:
    axis = data.draw(st.sampled_from([None, "key", "row"]))
    state = state_of(ab.Table, parse(key), INT, axis)
    keys = data.draw(st.lists(KEYS[key], max_size=20))
    rows = batch(
        state, [(k, 1) for k in keys], data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))
    )
    rows = rows.slice(data.draw(st.integers(0, len(rows))))
    found = owners(state, rows, INSTANCES)
    assert found.dtype == np.int64 and found.tolist() == expected(state, rows)


@given(st.lists(st.tuples(indices, indices), max_size=20), st.sampled_from([None, "row", "column"]))
def test_owners_of_matrices(keys: list[tuple[int, int]], axis: str | None) -> None:
    state = state_of(ab.Matrix, axis=axis)
    rows = batch(state, [(*k, 1.0) for k in keys], [True] * len(keys))
    assert owners(state, rows, INSTANCES).tolist() == expected(state, rows)


@given(st.lists(indices, max_size=20))
def test_owners_of_vectors(keys: list[int]) -> None:
    state = state_of(ab.Vector, axis="key")
    rows = batch(state, [(k, 1.0) for k in keys], [True] * len(keys))
    assert owners(state, rows, INSTANCES).tolist() == expected(state, rows)


def test_nobody_owns_a_value() -> None:
    state = state_of(ab.Value, None, INT)
    with pytest.raises(TypeError, match="nobody owns"):
        owners(state, batch(state, [(1,)], [True]), INSTANCES)
