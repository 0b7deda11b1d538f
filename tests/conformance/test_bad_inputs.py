"""Promise 5: bad input raises an error that names entry, row, column and value, and leaves no effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.lang.arrow import arrow_array, from_arrow, to_arrow
from anabranch.lang.spec import describe
from anabranch.lang.values import same_value
from tests.conformance.bad_shapes import BOOKINGS, Shape, shapes
from tests.conformance.bad_values import BAD, COLUMNS, PROBES, Bad
from tests.conformance.engines import Engine, Twins
from tests.conformance.typed import GOOD, STATE_OF, Booking, Typed

POSITIONS = (0, 1, 2)
PARAMETERS = {name: spec.parameters for name, spec in describe(Typed).entries.items()}


@pytest.fixture(scope="module")
def twins(engine: Engine) -> Iterator[Twins]:
    started = Twins.start(engine, Typed)
    yield started
    started.run.stop()


# -- ways in --------------------------------------------------------------------------------------------------------


def rows(bad: Bad, position: int) -> list[dict[str, Any]]:
    """Good rows but for one."""
    made = [{"key": i, "x": x} for i, x in enumerate(GOOD[bad.entry])]
    made[position][bad.column] = bad.value
    return made


def as_columns(bad: Bad, position: int) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows(bad, position)] for name in ("key", "x")}


def as_rows(bad: Bad, position: int) -> list[Any]:
    """Tuples and dicts by turns."""
    return [row if i % 2 else (row["key"], row["x"]) for i, row in enumerate(rows(bad, position))]


def as_table(bad: Bad, position: int) -> pa.Table:
    assert bad.arrow is not None
    columns = {}
    for p, good in zip(PARAMETERS[bad.entry], (0, GOOD[bad.entry][0]), strict=True):
        kind = bad.arrow.type if p.name == bad.column else None
        assert p.type is not None
        chunks = [pa.array([to_arrow(p.type, good)], kind) for _ in POSITIONS]
        if p.name == bad.column:
            chunks[position] = bad.arrow
        columns[p.name] = pa.chunked_array(chunks)
    return pa.table(columns)


def as_batch(bad: Bad, position: int) -> Any:
    return as_table(bad, position) if bad.only_arrow else as_rows(bad, position)


def give(twins: Twins, bad: Bad, way: str, position: int) -> None:
    """Make the bad request. Of a stream the batches before it stay, those after it are not run."""
    entry = getattr(twins.run, bad.entry)
    match way:
        case "call":
            entry(**rows(bad, 0)[0])
        case "columns":
            entry.many(as_columns(bad, position))
        case "rows":
            entry.many(as_rows(bad, position))
        case "table":
            entry.many(as_table(bad, position))
        case "stream":
            good = list(enumerate(GOOD[bad.entry]))
            getattr(twins.plain, bad.entry).many(good)
            entry.many(iter([good, as_batch(bad, position), good]))


def cases(bad: Bad) -> list[tuple[str, int]]:
    """All ways in that can hold the value, and the row it is in."""
    calls = [] if bad.only_arrow else [("call", 0)]
    ways = ["stream"] + ["columns", "rows"] * (not bad.only_arrow) + ["table"] * (bad.arrow is not None)
    return calls + [(way, position) for way in ways for position in POSITIONS]


def test_there_are_many_distinct_cases() -> None:
    assert len({(bad.entry, bad.kind) for bad in BAD}) == len(BAD) > 100
    assert sum(len(cases(bad)) for bad in BAD) > 1000
    assert sum(entry not in takers for entry in GOOD for _, takers in PROBES.values()) > 300
    assert sum(entry not in takers for entry in GOOD for _, takers in COLUMNS.values()) > 400
    assert sum(len({shape.kind for shape in shapes(entry)}) for entry in GOOD) > 1000


# -- what must hold afterwards --------------------------------------------------------------------------------------


def assert_refused(error: ab.BadInput, entry: str, row: int | None, column: str | None, value: Any, shown: str) -> None:
    place = [f"row {row}"] * (row is not None) + [f"column {column!r}"] * (column is not None)
    assert str(error).startswith(": ".join([entry, *([", ".join(place)] if place else [])]) + ": ")
    assert shown in str(error)
    assert (error.entry, error.row, error.column) == (entry, row, column)
    assert error.value is value or same_value(error.value, value)


def assert_unchanged(twins: Twins, entry: str) -> None:
    assert twins.same_contents(STATE_OF[entry], "seen", "calls")


def assert_works(twins: Twins, entry: str, data: Any) -> None:
    assert getattr(twins.run, entry).many(data) == getattr(twins.plain, entry).many(data)
    assert_unchanged(twins, entry)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad.entry}-{bad.kind}")
def test_bad_values(twins: Twins, bad: Bad) -> None:
    for way, position in cases(bad):
        with pytest.raises(ab.BadInput) as caught:
            give(twins, bad, way, position)
        assert type(caught.value) is (ab.InputOverflow if bad.overflow else ab.BadInput)
        assert_refused(caught.value, bad.entry, position, bad.column, bad.value, bad.shown)
        if position in (0, 2):
            assert_unchanged(twins, bad.entry)
    assert_works(twins, bad.entry, list(enumerate(GOOD[bad.entry])))


@pytest.mark.parametrize("entry", GOOD)
def test_values_of_every_other_type(twins: Twins, entry: str) -> None:
    for i, (probe, (value, takers)) in enumerate(PROBES.items()):
        bad, way = Bad(entry, probe, value, "expected "), ("call", "columns", "rows", "stream")[i % 4]
        if entry in takers:
            assert_works(twins, entry, as_rows(bad, i % 3))
            continue
        with pytest.raises(ab.BadInput) as caught:
            give(twins, bad, way, i % 3)
        assert_refused(caught.value, entry, i % 3 if way != "call" else 0, "x", value, "expected ")
        assert_unchanged(twins, entry)


@pytest.mark.parametrize("entry", GOOD)
def test_arrow_columns_of_every_other_type(twins: Twins, entry: str) -> None:
    for i, (values, takers) in enumerate(COLUMNS.values()):
        data: Any = {"key": [0, 1], "x": values}
        data = data if i % 2 else pa.table(data)
        if entry in takers:
            assert_works(twins, entry, data)
            continue
        with pytest.raises(ab.BadInput) as caught:
            getattr(twins.run, entry).many(data)
        [value, _] = values.to_pylist()
        with suppress(TypeError, ValueError):
            value = from_arrow(PARAMETERS[entry][1].type, value)
        assert_refused(caught.value, entry, 0, "x", value, "expected ")
        assert_unchanged(twins, entry)


@pytest.mark.parametrize("entry", GOOD)
def test_bad_shapes(twins: Twins, entry: str) -> None:
    for shape in shapes(entry):
        assert_shape_refused(twins, entry, shape)
    assert_unchanged(twins, entry)
    assert_works(twins, entry, list(enumerate(GOOD[entry])))


@pytest.mark.parametrize("shape", BOOKINGS, ids=lambda shape: shape.kind)
def test_a_single_record(twins: Twins, shape: Shape) -> None:
    assert_shape_refused(twins, "book", shape)
    assert_unchanged(twins, "book")
    assert_works(twins, "book", [Booking(1, "a"), (2, "b"), {"key": 3, "room": "c", "nights": 2}])


def assert_shape_refused(twins: Twins, entry: str, shape: Shape) -> None:
    with pytest.raises(ab.BadInput) as caught:
        shape.give(getattr(twins.run, entry))
    assert type(caught.value) is (ab.InputOverflow if shape.overflow else ab.BadInput), shape.kind
    assert_refused(caught.value, entry, shape.row, shape.column, shape.value, shape.shown)


@pytest.mark.parametrize("entry", GOOD)
def test_good_values_come_in_every_way(twins: Twins, entry: str) -> None:
    """The control: NaN, the ends of every range and empty containers are fine."""
    values = list(GOOD[entry])
    run, plain = getattr(twins.run, entry), getattr(twins.plain, entry)
    assert [run(i, x) for i, x in enumerate(values)] == [plain(i, x) for i, x in enumerate(values)]
    columns = {"key": list(POSITIONS), "x": values}
    assert_works(twins, entry, columns)
    assert_works(twins, entry, pa.table(columns | {"x": arrow_array(PARAMETERS[entry][1].type, values)}))
    batches = [columns, list(enumerate(values))]
    assert run.many(iter(batches)) == plain.many(iter(batches))
    assert_unchanged(twins, entry)


@pytest.mark.parametrize("kind", [dict, pa.table])
def test_the_first_bad_input_is_that_of_the_lowest_row_then_of_the_first_column(twins: Twins, kind: Any) -> None:
    fine, null = pa.array([0.5]), pa.array([None], pa.float64())
    dense = [pa.array([x.to_pylist()], pa.list_(pa.float64())) for x in (fine, null)]
    for keys, x, row, column in [
        ([0, 1, None], [0, 1, 0], 1, "x"),
        ([0, None, 2], [0, 0, 1], 1, "key"),
        ([0, None, 2], [0, 1, 1], 1, "key"),
        ([None, None, 2], [1, 1, 1], 0, "key"),
        ([0, 1, None], [1, 0, 0], 0, "x"),
    ]:
        with pytest.raises(ab.BadInput) as caught:
            twins.run.put_dense.many(kind({"x": pa.chunked_array([dense[i] for i in x]), "key": pa.array(keys)}))
        assert (caught.value.row, caught.value.column) == (row, column)
    assert_unchanged(twins, "put_dense")


def test_no_state_holds_more_than_good_requests_left(twins: Twins) -> None:
    """Stands last: all states at once, after all the requests before it."""
    assert twins.same_contents()
