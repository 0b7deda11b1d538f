"""`load` takes effect whole or not at all, and takes back what `to_arrow` gave, for any number of workers."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.lang.marks import same_state
from tests.engines.embedded import zoo
from tests.engines.embedded.doors import wait_until
from tests.engines.embedded.test_state_reads import WORKERS, fill

LOADABLE = [
    *[(zoo.Partitioned, n) for n in "table counts pairs cells items lists vector by_row by_column dense grid".split()],
    *[(zoo.Replicated, n) for n in "table vector matrix dense grid record number".split()],
    *[(zoo.Partial, n) for n in "vector matrix dense grid number words greatest least".split()],
]


@pytest.fixture(scope="module")
def filled() -> Any:
    """Of each program, the tables and copies of its states, from apps of one, two and three workers."""
    found: dict[Any, Any] = {}
    for cls in (zoo.Partitioned, zoo.Replicated, zoo.Partial):
        for workers in WORKERS:
            with ab.run(cls(), workers=workers) as app:
                fill(app)
                for name in app.state:
                    if (cls, name) in LOADABLE:
                        found[cls, name, workers] = app.state[name].to_arrow(), app.state[name].copy()
    return found


@pytest.mark.parametrize("to", WORKERS)
@pytest.mark.parametrize("cls", [zoo.Partitioned, zoo.Replicated, zoo.Partial])
def test_what_to_arrow_gives_load_takes_back(filled: Any, cls: type[ab.Program], to: int) -> None:
    for workers in WORKERS:
        with ab.run(cls(), workers=to) as app:
            for name in [name for c, name in LOADABLE if c is cls]:
                table, whole = filled[cls, name, workers]
                app.state[name].load(table)
                assert same_state(app.state[name].copy(), whole), (name, workers)
                again = app.state[name].to_arrow()
                assert again.schema == table.schema
                app.state[name].load(again)
                assert same_state(app.state[name].copy(), whole), (name, workers)
            assert app.version == 2 * sum(c is cls for c, _ in LOADABLE)


def test_a_mean_is_what_was_loaded_but_for_rounding() -> None:
    with ab.run(zoo.Partial(), workers=3) as app:
        app.fill.many({"k": list(range(40))})
        app.state.average.load({"index": [0, 1], "value": [0.25, 7.5]})
        assert app.state.average.tolist()[:2] == [0.25, 7.5]
        assert app.state.average.tolist()[2:] == pytest.approx([5 / 3, 5 / 3])


KINDS = {
    "columns": lambda columns: columns,
    "numpy": lambda columns: {n: np.array(c) for n, c in columns.items()},
    "tuples": lambda columns: list(zip(*columns.values(), strict=True)),
    "dicts": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    "arrow": pa.table,
    "batch": lambda columns: pa.record_batch(columns),
    "reader": lambda columns: pa.table(columns).to_reader(),
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
}


@pytest.mark.parametrize("kind", KINDS)
def test_load_takes_what_many_takes(kind: str) -> None:
    with ab.run(zoo.Partitioned(), workers=2) as app:
        assert app.state.by_column.load(KINDS[kind]({"row": [1, 2], "column": [3, 4], "value": [1.5, 2.5]})) is None
        assert dict(app.state.by_column.scan()) == {(1, 3): 1.5, (2, 4): 2.5}
        app.state.counts.load(KINDS[kind]({"key": ["a", "k3"], "value": [1, 2]}))
        app.fill_counts(3)
        assert dict(app.state.counts.items()) == {"a": 1, "k3": 5}
        app.state.counts.load(KINDS[kind]({"key": pd.Series([], dtype=str), "value": pd.Series([], dtype=int)}))
        assert len(app.state.counts) == 2


def test_entries_find_what_was_loaded_beside_what_was_there() -> None:
    for workers in WORKERS:
        with ab.run(zoo.Partitioned(), workers=workers) as app:
            app.fill_pairs(8)
            assert app.state.pairs.row(1) == {"k8": 2.0}
            app.state.pairs.load({"key": [(1, "b"), (1, "k8"), (2, "c")], "value": [1.0, 3.0, 9.0]})
            assert app.state.pairs.row(1) == {"b": 1.0, "k8": 3.0}
            assert app.fill_pairs(1) == 0.25 + 1.0 + 3.0
            app.state.by_column.load({"row": [7, 8], "column": [2, 3], "value": [1.0, 2.0]})
            assert app.fill_column(2) == 3.0 + 1.0
            assert app.state.by_column.column(2) == ab.Vector({2: 3.0, 7: 1.0})


def test_the_last_of_two_rows_with_one_key_stays() -> None:
    with ab.run(zoo.Partitioned(), workers=2) as app:
        app.state.table.load({"key": [1, 2, 1], "value": [1, 2, 3]})
        assert dict(app.state.table.items()) == {1: 3, 2: 2}


TABLE = {"key": [1, 2, 3], "value": [1, 2, 3]}
BAD: list[tuple[str, Any, int | None, str | None, str]] = [
    ("table", {"key": [1, 2]}, None, "value", "missing"),
    ("table", {"key": [1], "value": [1], "extra": [1]}, None, "extra", "no such column"),
    ("table", {"key": [1, 2], "value": [1, "x"]}, 1, "value", "expected int, got 'x'"),
    ("table", {"key": [1, None], "value": [1, 2]}, 1, "key", "expected int, got None"),
    ("table", {"key": [1, 2], "value": [1, 2**70]}, 1, "value", "does not fit 64 bits"),
    ("table", {"key": [1.5], "value": [1]}, 0, "key", "expected int"),
    ("table", {"key": [True], "value": [1]}, 0, "key", "expected int"),
    ("table", {"key": [1, 2], "value": [1]}, None, None, "columns differ in length"),
    ("table", [(1, 1), (2,)], 1, "value", "missing"),
    ("table", [(1, 1), (2, 2, 2)], 1, None, "expected 2 values"),
    ("table", [(1, 1), 5], 1, None, "expected a dict or a tuple"),
    ("table", pa.table({"key": [1, None], "value": [1, 2]}), 1, "key", "expected int, got None"),
    ("table", pa.table({"key": [1], "value": ["x"]}), 0, "value", "expected int"),
    ("table", pd.DataFrame({"key": [1, 2], "value": [1.0, None]}), 1, "value", "expected int"),
    ("table", 7, None, None, "expected a batch"),
    ("table", None, None, None, "expected a batch"),
    ("table", iter([TABLE]), None, None, "expected a batch"),
    ("counts", {"key": ["a", "\ud800"], "value": [1, 2]}, 1, "key", "lone surrogate"),
    ("pairs", {"key": [(1, "a"), (1, 2)], "value": [1.0, 1.0]}, 1, "key", "expected str"),
    ("pairs", {"key": [(1, "a"), (1,)], "value": [1.0, 1.0]}, 1, "key", "expected tuple"),
    ("items", {"key": ["a"], "value": [{"value": 1}]}, 0, "value", "expected Item"),
    ("lists", {"key": [b"a"], "value": [[1, None]]}, 0, "value", "expected int"),
    ("vector", {"index": [1, "x"], "value": [1.0, 2.0]}, 1, "index", "expected int"),
    ("by_row", {"row": [1], "column": [2], "value": [2**53 + 1]}, 0, "value", "no float is exactly that"),
]


@pytest.fixture(scope="module")
def app() -> Any:
    with ab.run(zoo.Partitioned(), workers=2) as app:
        fill(app)
        yield app


@pytest.mark.parametrize(("name", "data", "row", "column", "problem"), BAD)
def test_bad_input_says_where_and_changes_nothing(
    app: Any, name: str, data: Any, row: int | None, column: str | None, problem: str
) -> None:
    before, version = app.state[name].instances(), app.version
    with pytest.raises(ab.BadInput, match=problem) as caught:
        app.state[name].load(data)
    error = caught.value
    assert (error.entry, error.row, error.column) == (f"state.{name}.load", row, column)
    assert all(map(same_state, app.state[name].instances(), before))
    assert app.version == version


@pytest.mark.parametrize("cls", [zoo.Partitioned, zoo.Replicated, zoo.Partial])
@pytest.mark.parametrize("workers", WORKERS)
def test_an_index_outside_changes_nothing(cls: type[ab.Program], workers: int) -> None:
    with ab.run(cls(), workers=workers) as app:
        fill(app)
        outside: list[tuple[str, Any]] = [
            ("dense", {"index": [1, 2, 40], "value": [-1.0, -2.0, -3.0]}),
            ("dense", {"index": [1, 2, -1], "value": [-1.0, -2.0, -3.0]}),
            ("grid", {"row": [1, 2, 3], "column": [0, 1, 4], "value": [-1.0, -2.0, -3.0]}),
        ]
        for name, data in outside:
            before = app.state[name].instances()
            with pytest.raises(IndexError, match=r"index -?\d+ is outside 0\.\.") as caught:
                app.state[name].load(data)
            assert caught.value.__notes__ == [f"in state.{name}.load, row 2: nothing was loaded"]
            assert all(map(same_state, app.state[name].instances(), before))
        version = app.version
        app.fill(1)
        assert app.version == version + 1
        app.state.dense.load({"index": [2], "value": [6.5]})
        assert app.state.dense[2] == 6.5


def test_a_value_takes_one_row() -> None:
    with ab.run(zoo.Replicated(), workers=2) as app:
        for rows in ([], [(1,), (2,)]):
            with pytest.raises(ab.BadInput, match=f"number is a .*: expected one row, got {len(rows)}"):
                app.state.number.load(rows)
        app.state.number.load({"value": [None]})
        assert app.state.number.value is None
        app.state.record.load({"value": [4], "tags": [["t"]]})
        app.state.record.load([zoo.Item(5, ["u"])])
        assert app.state.record.value == zoo.Item(5, ["u"])
        assert app.state.record.to_arrow().to_pylist() == [{"value": 5, "tags": ["u"]}]
        assert [part.value for part in app.state.record.instances()] == [zoo.Item(5, ["u"])] * 2


def test_a_sum_is_what_was_loaded_whatever_the_instances_had() -> None:
    with ab.run(zoo.Partial(), workers=3) as app:
        app.fill.many({"k": list(range(40)) * 3})
        app.state.vector.load({"index": [1], "value": [5.0]})
        app.state.matrix.load({"row": [1], "column": [1], "value": [6.0]})
        app.state.dense.load({"index": [1], "value": [7.0]})
        app.state.number.load({"value": [8]})
        app.state.words.load({"key": ["k1"], "value": [[9]]})
        state = app.state
        found = state.vector[1], state.matrix[1, 1], state.dense[1], state.number.value, state.words["k1"]
        assert found == (5.0, 6.0, 7.0, 8, [9])
        assert (state.vector[2], len(state.words["k2"])) == (24.0, 39)
        app.fill(1)
        assert (state.vector[1], state.words["k1"]) == (6.0, [9, 1])


def test_load_refuses_what_nobody_can_spread() -> None:
    class Odd(ab.Program):
        doubled: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(1), merge=lambda states: ab.add(states))
        flag: ab.Partial[ab.Value[bool]] = ab.partial(ab.Value(True), merge=ab.add)

        def see(self) -> None:
            self.doubled.value += 1

    with ab.run(zoo.Partial(), workers=2) as app:
        for data in ([], {"key": [1], "value": [1]}):
            with pytest.raises(TypeError, match="bare names no merge, so nobody knows what its instances mean togeth"):
                app.state.bare.load(data)
        app.state.widest.load({"key": [1], "value": [5]})
        assert app.state.widest[1] == 5
    with ab.run(Odd(), workers=2) as app:
        version = app.version
        with pytest.raises(TypeError, match="the merge of doubled does not give what all its instances hold") as caught:
            app.state.doubled.load([(5,)])
        assert caught.value.__notes__ == ["in state.doubled.load: nothing was loaded"]
        with pytest.raises(TypeError, match="nobody knows what added to False"):
            app.state.flag.load([(False,)])
        assert (app.state.doubled.value, app.version) == (2, version)


def test_a_reader_sees_all_of_a_load_or_nothing() -> None:
    with ab.run(zoo.Partitioned(), workers=2) as app:
        keys = list(range(500))
        app.state.table.load({"key": keys, "value": [0] * 500})
        seen: list[set[int]] = []
        done = threading.Event()

        def look() -> None:
            while not done.is_set():
                seen.append(set(app.state.table.values()))

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        wait_until(lambda: seen, "a reader is never answered")
        for i in range(1, 8):
            app.state.table.load({"key": keys, "value": [i] * 500})
        done.set()
        thread.join()
        assert seen and all(len(values) == 1 for values in seen)
        assert app.version == 8
