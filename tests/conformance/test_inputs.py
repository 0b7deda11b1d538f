"""Every kind of batch comes in, and its results go out in kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anabranch.testing.outcomes import canonical
from tests.conformance.accepting import RICH, Accepting, Event, Rich, Total, rich_table
from tests.conformance.engines import Engine, Twins
from tests.conformance.kinds import KINDS, Columns

each_kind = pytest.mark.parametrize("kind", KINDS)
SCHEMA = pa.schema([("word", pa.string()), ("by", pa.int64())])


@pytest.fixture(scope="module")
def twins(engine: Engine) -> Iterator[Twins]:
    started = Twins.start(engine, Accepting)
    yield started
    started.run.stop()


@pytest.fixture
def app(twins: Twins) -> Iterator[Any]:
    """The app under test; every test leaves its totals empty."""
    yield twins.run
    twins.run.forget.many([(word,) for word in "abc"])
    assert twins.run.contents("totals")["totals"][1:] == ()


def make(kind: str, **columns: list[Any]) -> Any:
    table = pa.table({name: pa.array(x, SCHEMA.field(name).type) for name, x in columns.items()})
    return KINDS[kind].make(columns, table)


def read(kind: str, result: Any) -> Columns:
    assert KINDS[kind].is_result(result), type(result)
    return KINDS[kind].read(result)


@each_kind
def test_results_come_in_kind(app: Any, kind: str) -> None:
    assert read(kind, app.add.many(make(kind, word=["a", "b", "a", "a"], by=[1, 2, 3, 2**60]))) == {
        "result": [1, 2, 4, 2**60 + 4]
    }
    assert app.look("a") == Total("a", 2**60 + 4)
    by_default = make(kind, word=["b", "c", "b"])
    assert read(kind, app.add.many(by_default)) == {"result": [3, 1, 4]}


@each_kind
def test_a_record_as_result_gives_its_fields_and_none_gives_none(app: Any, kind: str) -> None:
    app.add("a", 5)
    assert read(kind, app.look.many(make(kind, word=["b", "a"]))) == {"word": ["b", "a"], "total": [0, 5]}
    assert app.forget.many(make(kind, word=["a", "b"])) is None
    assert app.forget.many(iter([make(kind, word=["a"])])) is None
    assert app.look("a").total == 0


@each_kind
def test_the_fields_of_a_single_record_are_columns(app: Any, kind: str) -> None:
    given = make(kind, word=["a", "b", "a"], by=[1, 2, 3])
    assert read(kind, app.see.many(given)) == {"word": ["a", "b", "a"], "total": [1, 2, 4]}
    assert read(kind, app.see.many(make(kind, word=["a"]))) == {"word": ["a"], "total": [5]}


@each_kind
def test_empty_batches(app: Any, kind: str) -> None:
    """No rows are a batch as well; tables keep names and types of the columns."""
    empty = make(kind, word=[], by=[])
    result = app.add.many(empty)
    assert read(kind, result) == {"result": []}
    if isinstance(result, pa.Table):
        assert result.schema == pa.schema([pa.field("result", pa.int64(), nullable=False)])
    fields = app.look.many(make(kind, word=[]))
    if not isinstance(fields, list):
        assert list(read(kind, fields)) == ["word", "total"]
    assert app.forget.many(make(kind, word=[])) is None


@each_kind
def test_iterators_of_batches(app: Any, kind: str) -> None:
    batches = [(["a", "b"], [1, 2]), ([], []), (["a"], [3])]
    results = app.add.many(make(kind, word=words, by=by) for words, by in batches)
    assert [read(kind, result)["result"] for result in results] == [[1, 2], [], [4]]


def test_an_iterator_may_mix_kinds(app: Any) -> None:
    kinds = [kind for kind in KINDS if kind not in ("pandas", "polars", "duckdb")]
    results = app.add.many(iter([make(kind, word=["a"], by=[1]) for kind in kinds]))
    assert [read(kind, result) for kind, result in zip(kinds, results, strict=True)] == [
        {"result": [i + 1]} for i in range(len(kinds))
    ]
    assert app.add.many(iter([])) == []
    assert app.forget.many(iter([])) is None


def test_an_iterator_is_read_batch_by_batch(app: Any) -> None:
    """Each batch has taken effect before the next is asked for."""

    def batches() -> Iterator[Any]:
        for i in range(3):
            assert app.look("a").total == i
            yield [("a",)]

    assert app.add.many(batches()) == [[1], [2], [3]]


def test_rows_of_many_kinds_in_one_list(app: Any) -> None:
    assert app.add.many([("a",), ("a", 2), {"word": "a"}, {"by": 4, "word": "a"}]) == [1, 3, 4, 8]
    assert app.see.many([Event("b"), ("b", 2), {"word": "b"}, {"event": Event("b", 4)}]) == [
        Total("b", total) for total in (1, 3, 4, 8)
    ]


def test_a_column_of_records(app: Any) -> None:
    events = [Event("a", 2), Event("b")]
    assert app.see.many({"event": events}) == {"word": ["a", "b"], "total": [2, 1]}
    structs = pa.array([{"word": e.word, "by": e.by} for e in events])
    assert app.see.many(pa.table({"event": structs})).to_pydict() == {"word": ["a", "b"], "total": [4, 2]}
    assert app.see.many({"event": structs}) == {"word": ["a", "b"], "total": [6, 3]}


def test_entries_without_parameters(app: Any) -> None:
    assert app.tick.many([(), {}, ()]) == [1, 2, 3]
    assert app.tick.many({}) == {"result": []}
    app.forget("tick")


@pytest.mark.parametrize(
    "words",
    [
        pa.array(["a", "b"], pa.large_string()),
        pa.array(["a", "b"], pa.string_view()),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.chunked_array([["a"], [], ["b"]]),
        pa.array(["x", "a", "b", "x"]).slice(1, 2),
        np.array(["a", "b"], dtype=np.dtypes.StringDType()),
        np.array(["x", "a", "x", "b"])[1::2],
    ],
    ids=["large", "view", "dictionary", "chunks", "slice", "numpy strings", "numpy slice"],
)
def test_layouts_of_columns(app: Any, words: Any) -> None:
    for i, type in enumerate([pa.int8(), pa.uint64(), pa.int64()]):
        by = pa.array([1, 2], type)
        assert app.add.many({"word": words, "by": by}) == {"result": [3 * i + 1, 6 * i + 2]}
        assert app.add.many({"word": words, "by": by.to_numpy()}) == {"result": [3 * i + 2, 6 * i + 4]}
        column = words.tolist() if isinstance(words, np.ndarray) else words
        result = app.add.many(pa.table({"by": by, "word": column}))
        assert result.to_pydict() == {"result": [3 * i + 3, 6 * i + 6]}


def test_values_of_every_type_go_through_python(app: Any) -> None:
    columns = {name: [getattr(r, name) for r in RICH] for name in Rich._fields}
    assert canonical(app.keep.many(columns)) == canonical(columns)
    assert canonical(app.keep.many(RICH)) == canonical(RICH)
    assert canonical([app.keep(r) for r in RICH]) == canonical(RICH)


# numpy has no arrays of most types, duckdb no durations; what pandas makes of them is in test_frames.py
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("dict of arrays", "duckdb", "pandas")])
def test_values_of_every_type_go_through_arrow(app: Any, kind: str) -> None:
    table, columns = rich_table(), {name: [getattr(r, name) for r in RICH] for name in Rich._fields}
    result = app.keep.many(KINDS[kind].make(columns, table))
    if isinstance(result, pa.Table):
        assert result.schema == table.schema
        assert canonical(result.to_pylist()) == canonical(table.to_pylist())
    elif kind == "polars":
        assert canonical(result.to_dicts()) == canonical(KINDS[kind].make(columns, table).to_dicts())
    else:
        assert canonical(read(kind, result)) == canonical(columns)


def test_values_that_may_be_missing(app: Any) -> None:
    given = [2**53 + 2, None, 3]
    halves = [2**52 + 1, None, 1]
    assert app.halve.many({"n": given}) == {"result": halves}
    result = app.halve.many(pa.table({"n": given}))
    assert result.to_pydict() == {"result": halves}
    assert result.schema.field("result") == pa.field("result", pa.int64(), nullable=True)
    assert app.halve.many([(n,) for n in given]) == halves
