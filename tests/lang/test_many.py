"""`many` in all forms, and values as Arrow."""

import datetime as dt
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.engines.sequential import SequentialApp
from anabranch.lang.annotations import parse
from anabranch.lang.columns import arrow_array, arrow_type, from_arrow
from anabranch.lang.values import coerce, same_value


class Seen(NamedTuple):
    key: str
    n: int


@dataclass(frozen=True)
class Event:
    key: str
    weight: int = 1

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise ValueError("a weight cannot be negative")


class Count(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]]

    def __init__(self) -> None:
        self.counts = ab.Table(default=0)

    def see(self, key: str, by: int = 1) -> int:
        if key == "bad":
            raise KeyError(key)
        self.counts[key] += by
        return self.counts[key]

    def record(self, key: str) -> Seen:
        return Seen(key, self.counts[key])

    def forget(self, key: str) -> None:
        self.counts.pop(key, None)

    def event(self, event: Event) -> int:
        return self.see(event.key, event.weight)

    def vector(self, v: ab.Vector, when: ab.UTCDateTime, tags: set[str]) -> ab.Vector:
        return v * len(tags)

    def nothing(self) -> int:
        return 1


@pytest.fixture
def count() -> Any:
    return Count()


def test_dict_of_columns(count: Any) -> None:
    assert count.see.many({"key": ["a", "b", "a"]}) == {"result": [1, 1, 2]}
    assert count.see.many({"key": np.array(["a"]), "by": np.array([5], dtype=np.int32)}) == {"result": [7]}
    assert count.record.many({"key": ["a", "c"]}) == {"key": ["a", "c"], "n": [7, 0]}
    assert count.forget.many({"key": ["a"]}) is None
    assert count.see.many({"key": []}) == {"result": []}
    assert count.see.many({"key": pa.array(["z"]), "by": [3]}) == {"result": [3]}


def test_arrow(count: Any) -> None:
    table = pa.table({"key": ["a", "b", "a"]})
    got = count.see.many(table)
    assert isinstance(got, pa.Table) and got.schema == pa.schema([pa.field("result", pa.int64(), nullable=False)])
    assert got.to_pydict() == {"result": [1, 1, 2]}
    assert count.record.many(table.to_batches()[0]).to_pydict() == {"key": ["a", "b", "a"], "n": [2, 1, 2]}
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert count.see.many(reader).to_pydict() == {"result": [3, 2, 4]}
    assert count.forget.many(table) is None


def test_rows(count: Any) -> None:
    assert count.see.many([("a",), ("a", 4), {"key": "b"}, {"by": 2, "key": "b"}]) == [1, 5, 1, 3]
    assert count.record.many([("a",)]) == [Seen("a", 5)]
    assert count.forget.many([("a",)]) is None
    assert count.nothing.many([(), {}]) == [1, 1]


def test_iterators_are_one_request_each(count: Any) -> None:
    assert count.see.many(iter([{"key": ["a"]}, [("a",)]])) == [{"result": [1]}, [2]]
    assert count.forget.many(x for x in [[("a",)]]) is None
    with pytest.raises(KeyError):
        count.see.many(iter([[("x",)], [("y",), ("bad",)]]))
    assert count.counts.items() == [("x", 1)]


def test_a_single_record_takes_its_fields_as_columns(count: Any) -> None:
    assert count.event.many({"key": ["a", "b"]}) == {"result": [1, 1]}
    assert count.event.many({"event": [Event("a", 3)]}) == {"result": [4]}
    assert count.event.many([Event("a"), {"key": "a"}, ("a", 2), {"event": Event("a")}]) == [5, 6, 8, 9]
    assert count.event.many(pa.table({"key": ["a"], "weight": [1]})).to_pydict() == {"result": [10]}
    with pytest.raises(ab.BadInput, match=r"event: row 1, column 'event': Event refused .*a weight cannot be negative"):
        count.event.many({"key": ["a", "a"], "weight": [1, -1]})
    with pytest.raises(ab.BadInput, match="event: row 0, column 'weight': expected int, got 'x'"):
        count.event.many({"key": ["a"], "weight": ["x"]})


def test_all_rows_or_none(count: Any) -> None:
    with pytest.raises(KeyError) as caught:
        count.see.many({"key": ["a", "b", "bad", "c"]})
    [note] = caught.value.__notes__
    assert note.startswith("in entry 'see', row 2, at test_many.py:") and note.endswith(": raise KeyError(key)")
    assert len(count.counts) == 0


def test_inputs_are_checked_before_any_row_runs(count: Any) -> None:
    with pytest.raises(ab.BadInput) as caught:
        count.see.many({"key": ["bad", "a"], "by": [1, None]})
    assert (caught.value.row, caught.value.column, caught.value.value) == (1, "by", None)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"kye": ["a"]}, "see: column 'kye': no such column; see takes key, by; did you mean `key`?"),
        ({"by": [1]}, "see: column 'key': missing; expected str, got only by"),
        ({"key": ["a"], "by": [1, 2]}, "see: columns differ in length: {'key': 1, 'by': 2}"),
        ({"key": "a"}, "see: column 'key': expected a column of values, got 'a' (str); write ['a']"),
        (["a"], "see: row 0: expected a dict or a tuple, got 'a' (str)"),
        ([("a", 1, 2)], "see: row 0: expected 2 values (key, by), got 3; leave out the last"),
        ([("a",), {"by": 1}], "see: row 1, column 'key': missing"),
        ([("a", 2**63)], "see: row 0, column 'by': expected int, got 9223372036854775808 (int)"),
        (3, "see: expected a batch, got 3 (int); give a dict of columns"),
        (pa.table({"key": ["a", None]}), "see: row 1, column 'key': expected str, got None"),
        (pa.array([1]), "see: expected a table"),
    ],
)
def test_bad_batches(count: Any, data: Any, text: str) -> None:
    with pytest.raises(ab.BadInput) as caught:
        count.see.many(data)
    assert str(caught.value).startswith(text)


def test_rich_values_come_through_arrow(count: Any) -> None:
    noon = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    columns = {
        "v": arrow_array(parse(ab.Vector), [ab.Vector({1: 2.0})]),
        "when": pa.array([noon], type=pa.timestamp("ns", tz="Europe/Berlin")),
        "tags": pa.array([["a", "b"]]),
    }
    got = count.vector.many(pa.table(columns))
    assert from_arrow(parse(ab.Vector), got["result"][0].as_py()) == ab.Vector({1: 4.0})


ANNOTATIONS: list[Any] = [
    int, float, bool, str, bytes, dt.date, dt.datetime, ab.UTCDateTime, dt.timedelta, tuple[int, str], Seen, list[int],
    list[int | None], set[int], dict[int, float], dict[int, float | None], ab.Vector, ab.DenseVector, list[list[float]],
    tuple[ab.Vector, set[str]], dict[str, Seen], list[float],
]  # fmt: skip


def test_arrow_types_are_one_to_one() -> None:
    arrow = [arrow_type(parse(a)) for a in ANNOTATIONS]
    for i, a in enumerate(arrow):
        # Names and nullability of inner fields are part of the type.
        assert [j for j, b in enumerate(arrow) if a.equals(b, check_metadata=True) and _names(a) == _names(b)] == [i]


def _names(t: pa.DataType) -> list[Any]:
    return [(t.field(i).name, t.field(i).nullable, _names(t.field(i).type)) for i in range(t.num_fields)]


STRATEGIES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**63 - 1),
    str: st.text(st.characters(codec="utf-8"), max_size=5),
    float: st.floats(),
}
VALUES = st.one_of(
    st.tuples(st.just(tuple[int, str]), st.tuples(STRATEGIES[int], STRATEGIES[str])),
    st.tuples(st.just(Seen), st.builds(Seen, STRATEGIES[str], STRATEGIES[int])),
    st.tuples(st.just(Seen | None), st.none() | st.builds(Seen, STRATEGIES[str], STRATEGIES[int])),
    st.tuples(st.just(set[str]), st.sets(STRATEGIES[str], max_size=3)),
    st.tuples(
        st.just(dict[str, list[float]]), st.dictionaries(STRATEGIES[str], st.lists(STRATEGIES[float]), max_size=3)
    ),
    st.tuples(st.just(ab.Vector), st.dictionaries(STRATEGIES[int], STRATEGIES[float]).map(ab.Vector)),
    st.tuples(st.just(ab.DenseVector), st.lists(STRATEGIES[float]).map(ab.DenseVector)),
    st.tuples(st.just(dt.datetime), st.datetimes()),
    st.tuples(st.just(dt.date), st.dates()),
    st.tuples(st.just(ab.UTCDateTime), st.datetimes(timezones=st.just(dt.UTC))),
    st.tuples(st.just(dt.timedelta), st.timedeltas(dt.timedelta(-(10**8)), dt.timedelta(10**8 // 2))),
    st.tuples(st.just(bytes), st.binary()),
)


@given(VALUES)
def test_there_and_back(typed: tuple[Any, Any]) -> None:
    annotation, value = typed
    t = parse(annotation)
    value = coerce(t, value)
    [back] = arrow_array(t, [value]).to_pylist()
    assert same_value(coerce(t, from_arrow(t, back)), value)


def test_what_is_reserved_on_entries_says_not_yet() -> None:
    class Counts(ab.Program):
        counts: ab.Partitioned[ab.Table[str, int]]

        def see(self, word: str) -> None:
            self.counts[word] = 1

    counts = Counts()
    see = counts.entries["see"]
    for name in ("submit", "aio"):
        with pytest.raises(AttributeError, match=f"see.{name} is reserved: not yet available"):
            getattr(see, name)
    with pytest.raises(NotImplementedError, match="on_error='reject' is reserved: not yet available"):
        see.many([("a",)], on_error="reject")
    with pytest.raises(AttributeError, match="no attribute 'batch'"):
        _ = see.batch


class Halves(ab.Program):
    seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def half(self, n: int) -> int:
        if n % 2:
            raise ValueError("odd", n)
        self.seen[n] += 1
        return n // 2


def test_an_iterator_that_is_cut_short_says_how_many_batches_took_effect() -> None:
    with ab.run(Halves(), workers=2) as app:
        for target in (Halves(), app, SequentialApp(Halves())):
            with pytest.raises(ValueError, match="odd") as caught:
                target.half.many(iter([[(2,)], [(4,)], [(6,), (7,)], [(8,)]]))
            assert caught.value.__notes__[0].startswith("in entry 'half', row 1")
            assert caught.value.__notes__[1] == "in batch 2 of an iterator: 2 before it took effect"
            assert target.half(8) == 4
        assert dict(app.state.seen.scan()) == {2: 1, 4: 1, 8: 1}


def test_a_pandas_result_belongs_to_the_rows_that_were_given() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"n": [1, 2, 4, 6]})
    even = frame[frame.n % 2 == 0].copy()
    even["half"] = Halves().half.many(even)["result"]
    assert even["half"].to_dict() == {1: 1, 2: 2, 3: 3}
