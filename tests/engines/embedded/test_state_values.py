"""Keys and values of every type go into a state, through Arrow, and into another state unchanged."""

from __future__ import annotations

import datetime as dt
import math
import threading
from typing import Any, NamedTuple

import pytest

import anabranch as ab
from anabranch.lang.marks import same_state
from anabranch.lang.values import same_value
from tests.engines.embedded.doors import TIMEOUT

DAY = dt.date(2024, 2, 29)
MOMENT = dt.datetime(1969, 12, 31, 23, 59, 59, 999999)


class Point(NamedTuple):
    x: float
    tags: set[str]


class Typed(ab.Program):
    floats: ab.Partitioned[ab.Table[int, float]]
    texts: ab.Partitioned[ab.Table[str, str | None]]
    raw: ab.Partitioned[ab.Table[bytes, bytes]]
    flags: ab.Partitioned[ab.Table[bool, bool]]
    days: ab.Partitioned[ab.Table[tuple[str, bytes, bool], dt.date]]
    moments: ab.Partitioned[ab.Table[tuple[tuple[int, str], int], dt.datetime]]
    utc: ab.Partitioned[ab.Table[int, ab.UTCDateTime]]
    spans: ab.Partitioned[ab.Table[int, dt.timedelta]]
    lists: ab.Partitioned[ab.Table[int, list[int | None]]]
    dicts: ab.Partitioned[ab.Table[int, dict[str, list[float]]]]
    tuples: ab.Partitioned[ab.Table[int, tuple[int, str | None]]]
    points: ab.Partitioned[ab.Table[int, Point | None]]
    sparse: ab.Partitioned[ab.Table[int, ab.Vector]]
    dense: ab.Partitioned[ab.Table[int, ab.DenseVector]]
    point: ab.Replicated[ab.Value[Point]] = ab.Value(Point(0.5, {"a"}))
    maybe: ab.Replicated[ab.Value[Point | None]] = ab.Value(None)

    def see(self, k: int) -> float | None:
        return self.floats.get(k)

    def put_list(self, k: int, xs: list[int | None]) -> None:
        self.lists[k] = xs


CONTENTS: dict[str, dict[Any, Any]] = {
    "floats": {-(2**63): -0.0, 2**63 - 1: math.inf, 0: math.nan, 1: 5e-324, 2: 1e308, -1: 0.1},
    "texts": {"": "", "a\0b": None, "é": "\U0001f600", "e\u0301": "x" * 1000, " ": "\n"},
    "raw": {b"": b"", b"\0": b"\xff" * 3, b"\xff\xfe": b"a"},
    "flags": {True: False, False: True},
    "days": {("", b"", True): DAY, ("a", b"\0", False): dt.date.min, ("a", b"\0", True): dt.date.max},
    "moments": {((1, "a"), 2): MOMENT, ((1, "b"), 2): dt.datetime.min, ((2, "a"), 2): dt.datetime.max},
    "utc": {1: MOMENT.replace(tzinfo=dt.UTC), 2: dt.datetime.max.replace(tzinfo=dt.UTC)},
    "spans": {1: dt.timedelta(0), 2: dt.timedelta(microseconds=-1), 3: dt.timedelta(days=99999999, microseconds=1)},
    "lists": {1: [], 2: [None], 3: [1, None, -(2**63)]},
    "dicts": {1: {}, 2: {"": []}, 3: {"b": [0.5], "a": [math.inf, -0.0]}},
    "tuples": {1: (1, None), 2: (-(2**63), "")},
    "points": {1: None, 2: Point(math.nan, set()), 3: Point(-0.0, {"é", ""})},
    "sparse": {1: ab.Vector(), 2: ab.Vector({-5: 0.5, 3: math.inf})},
    "dense": {1: ab.DenseVector([]), 2: ab.DenseVector([math.nan, -0.0, 1.0])},
}


@pytest.mark.parametrize("name", CONTENTS)
def test_there_and_back(name: str) -> None:
    content = CONTENTS[name]
    with ab.run(Typed(), workers=3) as app, ab.run(Typed(), workers=2) as other:
        view = app.state[name]
        view.load({"key": list(content), "value": list(content.values())})
        assert same_value(dict(view.scan()), content)
        for key, value in content.items():
            assert same_value(view[key], value) and key in view
        table = view.to_arrow()
        other.state[name].load(table)
        assert same_state(other.state[name].copy(), view.copy())
        assert other.state[name].to_arrow().schema == table.schema
        one_by_one = ab.run(Typed(), workers=1)
        one_by_one.state[name].load(list(content.items()))
        assert same_state(one_by_one.state[name].copy(), view.copy())
        one_by_one.stop()


def test_an_empty_state_has_a_typed_table() -> None:
    with ab.run(Typed(), workers=2) as app:
        for name in CONTENTS:
            table = app.state[name].to_arrow()
            assert table.num_rows == 0 and table.column_names == ["key", "value"]
            app.state[name].load(table)
            assert not app.state[name]


def test_a_single_record_is_a_row_of_its_fields() -> None:
    with ab.run(Typed(), workers=2) as app:
        assert app.state.point.to_arrow().to_pylist() == [{"x": 0.5, "tags": ["a"]}]
        app.state.point.load({"x": [1], "tags": [{"b"}]})
        assert app.state.point.value == Point(1.0, {"b"})
        assert app.state.maybe.to_arrow().to_pylist() == [{"value": None}]
        app.state.maybe.load([(Point(2.0, set()),)])
        app.state.maybe.load(app.state.maybe.to_arrow())
        assert app.state.maybe.value == Point(2.0, set())


def test_what_is_loaded_is_a_copy() -> None:
    given: list[int | None] = [1]
    with ab.run(Typed(), workers=2) as app:
        app.state.lists.load({"key": [1, 2], "value": [given, given]})
        given.append(2)
        assert app.state.lists[1] == app.state.lists[2] == [1]


def test_a_merge_does_not_hold_up_the_app() -> None:
    """It may be the user's code, and take its time."""
    begun, go_on = threading.Event(), threading.Event()

    def slowly(states: list[ab.Value[int]]) -> ab.Value[int]:
        begun.set()
        assert go_on.wait(2 * TIMEOUT)
        return ab.add(states)

    class Slow(ab.Program):
        seen: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=slowly)

        def see(self, n: int) -> None:
            self.seen.value += n

    with ab.run(Slow(), workers=2) as app:
        app.see(1)
        found: list[int] = []
        reader = threading.Thread(target=lambda: found.append(app.state.seen.value), daemon=True)
        reader.start()
        assert begun.wait(TIMEOUT)
        caller = threading.Thread(target=lambda: app.see(10), daemon=True)
        caller.start()
        caller.join(TIMEOUT)
        assert not caller.is_alive()
        go_on.set()
        reader.join(TIMEOUT)
        assert found == [1]


def test_a_merge_that_fails_leaves_the_app_alone() -> None:
    def fails(states: list[ab.Value[int]]) -> ab.Value[int]:
        raise ZeroDivisionError("merge")

    class Failing(ab.Program):
        seen: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=fails)

        def see(self, n: int) -> int:
            self.seen.value += n
            return n

    with ab.run(Failing(), workers=2) as app:
        app.see(1)
        version = app.version
        for read in (lambda: app.state.seen.value, lambda: app.state.seen.load([(1,)])):
            with pytest.raises(ZeroDivisionError, match="merge"):
                read()
        assert (app.version, app.see(2)) == (version, 2)
        assert sum(part.value for part in app.state.seen.instances()) == 3
