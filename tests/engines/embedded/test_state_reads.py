"""`app.state.NAME` answers as the plain state does, whatever the type, the distribution and the number of workers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import anabranch as ab
from anabranch.lang.frozen import FrozenDict, FrozenList
from anabranch.lang.marks import same_state
from anabranch.lang.values import same_value
from tests.engines.embedded import zoo
from tests.engines.embedded.reads import PARTITIONED, REPLICATED, SUMS, Read

WORKERS = (1, 2, 3)


def fill(target: Any) -> None:
    """By single calls and by a batch that goes to the workers."""
    for name in ("fill", "fill_counts", "fill_pairs", "fill_cells", "fill_items", "fill_column"):
        if name in target.entries:
            target.entries[name].many({"k": [k % 40 for k in range(35)] * 3})
            for k in range(35, 40):
                target.entries[name](k)
    if "fill_lists" in target.entries:
        for k in range(9):
            target.entries["fill_lists"](b"abc"[k % 3 : k % 3 + 1], k)


class Pair:
    def __init__(self, program: type[ab.Program], workers: int) -> None:
        self.plain = program()
        self.app = ab.run(program(), workers=workers)
        fill(self.plain)
        fill(self.app)


@pytest.fixture(scope="module", params=WORKERS)
def pairs(request: pytest.FixtureRequest) -> Iterator[dict[type, Pair]]:
    found = {cls: Pair(cls, request.param) for cls in (zoo.Partitioned, zoo.Replicated, zoo.Partial)}
    yield found
    for pair in found.values():
        pair.app.stop()


def outcome(read: Read, state: Any) -> tuple[Any, ...]:
    try:
        return ("gives", read(state))
    except Exception as error:
        if isinstance(error, AttributeError):
            return ("has no such attribute",)
        return (type(error), re.sub("got the key .*", "got some key", str(error)))  # the first in no order


def ordered(value: Any) -> Any:
    """What promises no order, in one."""
    return sorted(value, key=repr) if isinstance(value, list) else value


def same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    if a[0] != b[0] or len(a) == 1 or a[0] != "gives":
        return a == b
    x, y = ordered(a[1]), ordered(b[1])
    if hasattr(y, "_cells"):
        return same_state(x, y)
    return type(x) is type(y) and same_value(x, y)


def differing(reads: list[Read], view: Any, plain: Any) -> list[str]:
    found = []
    for i, read in enumerate(reads):
        here, there = outcome(read, view), outcome(read, plain)
        if not same(here, there):
            found.append(f"read {i}: {here} is not {there}")
    return found


@pytest.mark.parametrize("name", PARTITIONED)
def test_partitioned(pairs: dict[type, Pair], name: str) -> None:
    pair = pairs[zoo.Partitioned]
    assert differing(PARTITIONED[name], pair.app.state[name], getattr(pair.plain, name)) == []


@pytest.mark.parametrize("name", REPLICATED)
def test_replicated(pairs: dict[type, Pair], name: str) -> None:
    pair = pairs[zoo.Replicated]
    assert differing(REPLICATED[name], pair.app.state[name], getattr(pair.plain, name)) == []
    first, *others = pair.app.state[name].instances()
    assert all(same_state(first, other) for other in others)


@pytest.mark.parametrize("name", SUMS)
def test_partial_sums(pairs: dict[type, Pair], name: str) -> None:
    pair = pairs[zoo.Partial]
    assert differing(SUMS[name], pair.app.state[name], getattr(pair.plain, name)) == []


@pytest.mark.parametrize(
    ("name", "merge"),
    [
        ("words", ab.add),
        ("average", ab.mean),
        ("greatest", ab.largest),
        ("least", ab.smallest),
        ("widest", zoo.widest),
        ("vector", ab.add),
        ("number", ab.add),
    ],
)
def test_partial_state_shows_the_merge_of_its_instances(pairs: dict[type, Pair], name: str, merge: Any) -> None:
    view = pairs[zoo.Partial].app.state[name]
    instances = view.instances()
    assert len(instances) == len(pairs[zoo.Partial].app.state.place.instances())
    merged = merge(instances) if len(instances) > 1 else instances[0]
    assert same_state(view.copy(), merged)
    reads = {"average": [list, len], "greatest": [list, len, lambda s: s[1], lambda s: s.get(9, 4)]}
    assert differing(reads.get(name, []), view, merged) == []


@pytest.mark.parametrize("name", ["bare", "own"])
def test_instances_without_a_merge_are_shown_one_by_one(pairs: dict[type, Pair], name: str) -> None:
    view = pairs[zoo.Partial].app.state[name]
    instances = view.instances()
    if name == "bare":
        assert sorted(k for part in instances for k in part.keys()) == list(range(40))  # noqa: SIM118
    else:
        assert sum(part.total() for part in instances) == 110
    if len(instances) == 1:
        assert same_state(view.copy(), instances[0])
        return
    reads: list[Read] = [lambda s: s.copy(), lambda s: s[1], len, list, lambda s: 1 in s, lambda s: list(s.scan())]
    for read in [*reads[:1], *(reads[1:] if name == "bare" else [lambda s: s.total(), lambda s: s.visitors(1)])]:
        with pytest.raises(TypeError, match=rf"{name} names no merge: look at instances\(\), or give it one with ab"):
            read(view)


def test_own_types_without_a_key_are_shown_one_by_one(pairs: dict[type, Pair]) -> None:
    view = pairs[zoo.Partitioned].app.state.own
    instances = view.instances()
    assert sum(part.total() for part in instances) == 110
    if len(instances) > 1:
        with pytest.raises(TypeError, match=r"the parts of own, a Visits, cannot be put together: look at instances"):
            view.copy()
    for read in (lambda s: s.scan(), lambda s: s.to_arrow(), lambda s: s.load([])):
        with pytest.raises(TypeError, match="own"):
            read(view)


def test_instances_of_partitioned_state_have_the_entries_of_their_keys(pairs: dict[type, Pair]) -> None:
    pair = pairs[zoo.Partitioned]
    for name in ("table", "pairs", "items", "vector", "by_row", "by_column"):
        parts = [dict(part._cells()) for part in pair.app.state[name].instances()]
        assert sum(map(len, parts)) == len(getattr(pair.plain, name)), name
        assert {k for part in parts for k in part} == set(dict(getattr(pair.plain, name)._cells())), name
    rows = [set(part.rows()) for part in pair.app.state.by_row.instances()]
    assert sum(map(len, rows)) == len(set().union(*rows))
    columns = [{j for _, j in part} for part in pair.app.state.by_column.instances()]
    assert sum(map(len, columns)) == len(set().union(*columns))


@pytest.mark.parametrize("cls", [zoo.Partitioned, zoo.Replicated, zoo.Partial])
def test_scan_and_iteration_and_arrow_show_the_same_entries(pairs: dict[type, Pair], cls: type) -> None:
    for name in pairs[cls].app.state:
        view = pairs[cls].app.state[name]
        if name in ("own", "bare"):
            continue
        whole = view.copy()
        assert same_value(dict(view.scan()), dict(whole._cells())), name
        assert view == whole and whole == view.copy() and view == view, name
        assert view.to_arrow().num_rows == len(list(view.scan())), name
        assert view.nbytes > 0
        if isinstance(whole, ab.Table | ab.Vector | ab.Matrix):
            assert set(view) == set(dict(view.scan())), name


def test_what_is_read_is_frozen(pairs: dict[type, Pair]) -> None:
    state = pairs[zoo.Partitioned].app.state
    assert type(state.lists[b"a"]) is FrozenList
    assert type(state.items["k1"].tags) is FrozenList
    assert type(state.pairs.row(1)) is FrozenDict
    assert type(state.own.visitors(1)) is FrozenList
    for change in (
        lambda: state.lists[b"a"].append(1),
        lambda: state.lists.get(b"a").clear(),
        lambda: state.lists.values()[0].append(1),
        lambda: next(state.lists.scan())[1].append(1),
        lambda: state.pairs.row(1).update(a=1),
        lambda: state.by_row.row(1).clear(),
        lambda: state.by_column.column(1).assign({}),
        lambda: state.grid.row(1).assign([0.0] * 4),
        lambda: state.table.copy().clear(),
        lambda: state.vector.copy().clear(),
        lambda: state.dense.copy().assign([0.0] * 40),
        lambda: state.grid.copy().set_row(0, ab.DenseVector.zeros(4)),
        lambda: state.by_row.copy().clear(),
        lambda: state.table.instances()[0].clear(),
        lambda: state.own.instances()[0].visit(1, 1),
        lambda: pairs[zoo.Replicated].app.state.number.copy().assign(3),
        lambda: pairs[zoo.Partial].app.state.vector.instances()[-1].clear(),
        lambda: pairs[zoo.Partial].app.state.words.copy().clear(),
    ):
        with pytest.raises(ab.lang.errors.FrozenError, match="belongs to state: build a new value and store it"):
            change()


def test_what_was_read_does_not_change() -> None:
    with ab.run(zoo.Partitioned(), workers=2) as app:
        fill(app)
        state = app.state
        kept = [
            *[state[name].copy() for name in state if name != "own"],
            *[state[name].instances() for name in state if name != "own"],
            *[state[name].to_arrow() for name in state if name != "own"],
            *[state.by_row.row(1), state.by_column.column(1), state.grid.row(1), state.pairs.row(1)],
            *[state.own.visitors(1), state.lists[b"a"], state.table.items(), state.dense.to_numpy()],
            [vars(part)["by_place"] for part in state.own.instances()],
        ]
        before = [str(x) for x in kept]
        scanned, seen = state.table.scan(), iter(state.table)
        for name in ("fill", "fill_pairs", "fill_column", "fill_counts", "fill_items", "fill_cells"):
            app.entries[name].many({"k": list(range(39, -1, -1))})
        app.fill_lists(b"a", 100)
        state.table.load({"key": [1, 77], "value": [-1, -1]})
        state.vector.load({"index": [1], "value": [0.0]})
        state.dense.load({"index": [1], "value": [9.0]})
        state.by_column.load({"row": [1], "column": [1], "value": [0.0]})
        assert [str(x) for x in kept] == before
        assert (len(list(scanned)), len(list(seen)), len(state.table), state.table[77]) == (40, 40, 41, -1)
