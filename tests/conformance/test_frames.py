"""What pandas, polars and duckdb mean by their columns, missing values and types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.testing.outcomes import canonical
from tests.conformance.accepting import RICH, Accepting, Event, Total, rich_table
from tests.conformance.engines import Engine, Running
from tests.conformance.kinds import duckdb_relation, pandas_frame, polars_frame
from tests.conformance.typed import NOON, UTC_NOON, Typed

INEXACT = 2**53 + 1


@pytest.fixture
def pd() -> Any:
    return pytest.importorskip("pandas", reason="pandas is not installed: no data frames of it to read")


@pytest.fixture
def pl() -> Any:
    return pytest.importorskip("polars", reason="polars is not installed: no data frames of it to read")


@pytest.fixture
def db() -> Any:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: no relations of it to read")
    return duckdb.connect()


@pytest.fixture(scope="module")
def app(engine: Engine) -> Iterator[Running]:
    running = engine(Accepting())
    yield running
    running.stop()


@pytest.fixture(scope="module")
def typed(engine: Engine) -> Iterator[Running]:
    running = engine(Typed())
    yield running
    running.stop()


def refused(entry: Any, data: Any) -> tuple[Any, ...]:
    with pytest.raises(ab.BadInput) as caught:
        entry.many(data)
    error = caught.value
    assert " got " in str(error)
    return type(error), error.row, error.column, error.value


# -- pandas ---------------------------------------------------------------------------------------------------------


def test_pandas_rows_count_and_not_the_index(app: Any, pd: Any) -> None:
    frame = pd.DataFrame({"n": [10, 20, 30, 40]}, index=[5, 5, 7, 9])
    assert app.halve.many(frame[frame.n > 10])["result"].tolist() == [10, 15, 20]
    assert app.halve.many(frame[frame.n > 99]).to_dict("list") == {"result": []}
    assert app.halve.many({"n": frame.n}) == {"result": [5, 10, 15, 20]}


def test_pandas_missing_values_are_none(app: Any, typed: Any, pd: Any) -> None:
    for missing in (None, float("nan"), pd.NA):
        frame = pd.DataFrame({"n": pd.Series([4, missing], dtype="Int64")})
        assert canonical(app.halve.many(frame)["result"].tolist()) == canonical([2, None])
    frame = pd.DataFrame({"key": [1, 2], "x": [1.5, float("nan")]})
    assert refused(typed.put_float, frame) == (ab.BadInput, 1, "x", None)
    for column in (pd.Series(["a", None]), pd.Series(["a", None], dtype=object)):
        assert refused(typed.put_str, pd.DataFrame({"key": [1, 2], "x": column})) == (ab.BadInput, 1, "x", None)
    frame = pd.DataFrame({"key": [1, 2], "x": pd.to_datetime([NOON, pd.NaT])})
    assert refused(typed.put_datetime, frame) == (ab.BadInput, 1, "x", None)


def test_pandas_results_keep_all_digits(app: Any, pd: Any) -> None:
    result = app.halve.many(pd.DataFrame({"n": pd.Series([2 * INEXACT, None], dtype="Int64")}))
    assert result["result"].tolist() == [INEXACT, None]


def test_pandas_objects_are_read_one_by_one(app: Any, typed: Any, pd: Any) -> None:
    """Where a column has no Arrow type, its values still have types, and bad ones a place."""
    frame = pd.DataFrame({"key": [1, 2], "x": [(1, "a"), (2, "b")]})
    before = typed.contents("seen", "tuples")
    assert refused(typed.put_tuple, frame.assign(x=[(1, "a"), (2, 7)])) == (ab.BadInput, 1, "x", (2, 7))
    assert typed.contents("seen", "tuples") == before
    assert len(typed.put_tuple.many(frame)) == 2
    stored = zip(frame.key, frame.x, strict=True)
    assert typed.contents("tuples")["tuples"] == ("Table", *((canonical(i), canonical(x)) for i, x in stored))
    for values, kind in (
        ([7, "a", 7], ab.BadInput),
        ([7, 2**63, 7], ab.InputOverflow),
        ([7, 2**70, 7], ab.InputOverflow),
    ):
        frame = pd.DataFrame({"key": [1, 2, 3], "x": values})
        assert refused(typed.put_int, frame) == (kind, 1, "x", values[1])
    typed.put_dict.many(pd.DataFrame({"key": [1, 2], "x": [{1: 0.5}, {2: 0.5}]}))
    assert [x for _, x in typed.contents("dicts")["dicts"][1:]] == [canonical({1: 0.5}), canonical({2: 0.5})]
    assert app.see.many(pd.DataFrame({"event": [Event("p", 2)]})).to_dict("list") == {"word": ["p"], "total": [2]}
    assert len(typed.put_set.many(pd.DataFrame({"key": [1], "x": [{1, 2}]}))) == 1


def test_pandas_dtypes(typed: Any, pd: Any) -> None:
    columns: dict[str, Any] = {
        "put_int": pd.Series([7], dtype="uint8"),
        "put_float": pd.Series([0.5], dtype="float32"),
        "put_bool": pd.Series([True], dtype="boolean"),
        "put_str": pd.Series(["a"], dtype="category"),
        "put_bytes": pd.Series([b"a"], dtype=pd.ArrowDtype(pa.binary())),
        "put_datetime": pd.Series([NOON], dtype="datetime64[ns]"),
        "put_utc": pd.Series([UTC_NOON]).dt.tz_convert("Europe/Berlin"),
        "put_date": pd.Series([NOON.date()]),
        "put_timedelta": pd.Series([dt.timedelta(1)], dtype="timedelta64[s]"),
        "put_list": pd.Series([[1, 2]]),
        "put_dict": pd.Series([[(1, 0.5)]], dtype=pd.ArrowDtype(pa.map_(pa.int64(), pa.float64()))),
    }
    for entry, column in columns.items():
        assert len(getattr(typed, entry).many(pd.DataFrame({"key": [1], "x": column}))) == 1, entry
        assert len(getattr(typed, entry).many({"key": [1], "x": column})["result"]) == 1, entry
    frame = pd.DataFrame({"key": [1, 2], "x": pd.to_datetime([0, 1], unit="ns")})
    with pytest.raises(ab.BadInput, match=r"put_datetime: row 1, column 'x': .* of timestamp\[ns\]: .* lose data"):
        typed.put_datetime.many(frame)


def test_pandas_takes_back_what_it_was_given(app: Any) -> None:
    table = rich_table().take([0, 2])  # the row between has NaN, which pandas calls missing
    result = app.keep.many(pandas_frame(table))
    again = app.keep.many(result)
    assert list(again.columns) == list(RICH[0]._fields)
    assert repr(again.to_dict("list")) == repr(result.to_dict("list"))
    assert again["maybe"].tolist() == [INEXACT, None]
    assert [again[name].dtype for name in ("n", "x", "yes")] == ["int64", "float64", "bool"]


def test_pandas_columns_of_one_name(app: Any, pd: Any) -> None:
    with pytest.raises(ab.BadInput, match=r"^halve: two columns have one name in \['n', 'n'\]; rename one$"):
        app.halve.many(pd.DataFrame([[1, 2]], columns=["n", "n"]))


# -- polars ---------------------------------------------------------------------------------------------------------


def test_polars_types(typed: Any, pl: Any) -> None:
    columns: dict[str, Any] = {
        "put_int": pl.Series([7], dtype=pl.UInt8),
        "put_float": pl.Series([float("nan")]),
        "put_str": pl.Series(["a"], dtype=pl.Categorical),
        "put_datetime": pl.Series([NOON], dtype=pl.Datetime("ms")),
        "put_utc": pl.Series([NOON], dtype=pl.Datetime("us", "UTC")),
        "put_date": pl.Series([NOON.date()]),
        "put_timedelta": pl.Series([dt.timedelta(1)], dtype=pl.Duration("ns")),
        "put_tuple": pl.Series([{"0": 1, "1": "a"}]),
        "put_pair": pl.Series([{"name": "a", "n": 1}]),
        "put_list": pl.Series([[1, 2]]),
        "put_dict": pl.Series([[{"key": 1, "value": 0.5}]]),
        "put_set": pl.Series([[1, 2]]),
        "put_vector": pl.Series([[{"index": 1, "value": 0.5}]]),
        "put_dense": pl.Series([[0.5]]),
    }
    for entry, column in columns.items():
        assert len(getattr(typed, entry).many(pl.DataFrame({"key": [1], "x": column}))) == 1, entry
        assert len(getattr(typed, entry).many({"key": [1], "x": column})["result"]) == 1, entry


def test_polars_nulls_are_none(app: Any, typed: Any, pl: Any) -> None:
    result = app.halve.many(pl.DataFrame({"n": [2 * INEXACT, None]}))
    assert result["result"].to_list() == [INEXACT, None]
    assert refused(typed.put_float, pl.DataFrame({"key": [1, 2], "x": [0.5, None]})) == (ab.BadInput, 1, "x", None)
    frame = pl.DataFrame({"key": [1, 2, 3], "x": pl.Series([1, 2, 2**63], dtype=pl.UInt64)})
    assert refused(typed.put_int, frame) == (ab.InputOverflow, 2, "x", 2**63)


def test_polars_results_have_types_without_rows(app: Any, pl: Any) -> None:
    empty = polars_frame(rich_table().slice(0, 0))
    assert app.keep.many(empty).schema == app.keep.many(polars_frame(rich_table())).schema


# -- duckdb ---------------------------------------------------------------------------------------------------------


def test_duckdb_relations(app: Any, typed: Any, db: Any) -> None:
    sql = db.sql("select i::bigint as n from range(2, 8, 2) r(i) union all select null order by n")
    assert app.halve.many(sql).to_pydict() == {"result": [1, 2, 3, None]}
    columns = {
        "put_dict": "map {1::bigint: 0.5::double}",
        "put_tuple": "{'0': 1::bigint, '1': 'a'}",
        "put_list": "[1::bigint, 2]",
        "put_utc": "timestamptz '2026-03-01 12:00:00+00'",
        "put_date": "date '2026-03-01'",
    }
    for entry, expression in columns.items():
        assert len(getattr(typed, entry).many(db.sql(f"select 1::bigint as key, {expression} as x"))) == 1, entry


def test_duckdb_values_of_every_type(app: Any) -> None:
    relation = duckdb_relation(rich_table())
    with pytest.raises(ab.BadInput, match=r"^keep: row 0, column 'span': expected timedelta, got MonthDayNano"):
        app.keep.many(relation)  # an interval of months, days and nanoseconds is no duration
    names = [name for name in RICH[0]._fields if name != "span"]
    table = duckdb_relation(rich_table().select(names)).arrow()
    spans = pa.array([rich.span for rich in RICH])
    result = app.keep.many(pa.table(table).append_column("span", spans))
    assert canonical(result.to_pylist()) == canonical(rich_table().to_pylist())


def test_duckdb_readers_in_a_stream(app: Any, db: Any) -> None:
    batches = (db.sql(f"select 'duck' as word, {i}::bigint as by") for i in range(1, 4))
    assert [table["result"].to_pylist() for table in app.add.many(batches)] == [[1], [3], [6]]
    assert app.look("duck") == Total("duck", 6)
