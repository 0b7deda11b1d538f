"""What an epoch has changed in flat memory, and all of it piece by piece, as rows that give the state again."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.graph.nodes import State
from anabranch.graph.span import Span
from anabranch.kernels.native import saving, stores
from anabranch.kernels.native.blocks import block_of
from anabranch.kernels.native.parts import make_part
from anabranch.kernels.native.restoring import fill
from anabranch.kernels.native.saving import Slices, changed, sliced
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.stores import Arena
from anabranch.lang.annotations import parse
from anabranch.lang.arrow import from_arrow
from anabranch.lang.distribution import Distribution
from anabranch.lang.types import FLOAT, INT, NONE, Type
from anabranch.state.changes import schema_of
from anabranch.state.tables import load_columns, put, put_nothing, stored_in
from tests.kernels.native.flat import KEYS, VALUES, Point, assert_alike, floats, ints, outcome, table
from tests.kernels.native.spaces import Space, routing_of

MORE: dict[Any, st.SearchStrategy[Any]] = {
    dt.date: st.dates(),
    dt.datetime: st.datetimes(),
    dt.timedelta: st.sampled_from([dt.timedelta(0), dt.timedelta(-3, 5, 7), dt.timedelta(days=100_000_000)]),
    dt.date | None: st.none() | st.dates(),
    bool | None: st.none() | st.booleans(),
    list[dt.date | None]: st.lists(st.none() | st.dates(), max_size=3),
    list[tuple[int, str | None]]: st.lists(st.tuples(ints, st.none() | st.text(max_size=3)), max_size=3),
    Point | None: st.none() | st.builds(Point, ints, st.text(max_size=12)),
    ab.DenseVector: st.lists(floats, max_size=4).map(ab.DenseVector),
    list[list[list[str]]]: st.lists(st.lists(st.lists(st.text(max_size=3), max_size=2), max_size=2), max_size=2),
}
ALL = VALUES | MORE
indices = st.integers(0, 12) | st.sampled_from([-(2**63), 2**63 - 1, 10**6])


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Little memory at first, so that the log has many parts and stores are made compact often."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in {"FIRST_ENTRIES": 2, "FIRST_HEAP": 32, "FIRST_LOG": 8, "MANY": 2, "LARGE": 256}.items():
            patch.setattr(stores, name, size)
        yield


def state_of(cls: type, key: Type | None = None, value: Type | None = None, axis: str | None = None) -> State:
    return State("state", Distribution.PARTITIONED, "", cls, key, value, axis, Span("", 1, 0, 1, 0))


class Saved:
    """A part, which logs, and how it is saved."""

    def __init__(self, plain: Any, state: State, axis: str | None = None) -> None:
        self.state, cls = state, state.cls
        key = {ab.Table: state.key, ab.Vector: INT, ab.Matrix: INT}.get(cls, NONE)
        value = parse(tuple[int, int, int]) if cls in (ab.DenseVector, ab.DenseMatrix) else state.value or FLOAT
        assert key is not None
        self.shape = Shape("state", 1, cls, key, value, axis, None, "")
        self.part, self.arena = self.make(plain)
        self.arena.logging = True

    def make(self, plain: Any) -> tuple[Any, Arena]:
        arena = Arena({"other": self.shape, "state": self.shape})
        part = make_part(plain, self.shape, arena)
        arena.clear()
        return part, arena

    def rows(self) -> pa.RecordBatch | None:
        """What was changed; sound in itself."""
        found = changed(self.arena, {"state": self.part})
        rows = found.pop("state", None)
        assert not found
        if rows is not None:
            self.check(rows)
            assert len(rows)
        return rows

    def check(self, rows: pa.RecordBatch) -> None:
        rows.validate(full=True)
        assert rows.schema == schema_of(self.state)
        assert rows.schema.field("present").nullable is False
        keys = keys_of(self.state, rows)
        assert not [k for k, n in Counter(map(repr, keys)).items() if n > 1]
        there, values = rows.column("present").to_pylist(), rows.column("value").to_pylist()
        assert all(p or x is None for p, x in zip(there, values, strict=True))


def keys_of(state: State, rows: pa.RecordBatch) -> list[Any]:
    return [key for key, _, _ in read(state, rows)]


def read(state: State, rows: pa.RecordBatch) -> list[tuple[Any, Any, bool]]:
    """Key and value of each row as Python values, and whether it is present."""
    found = []
    for row in rows.to_pylist():
        values = tuple(from_arrow(t, row[name]) for name, t in load_columns(state))
        found.append((*stored_in(state, values), row["present"]))
    return found


def apply(plain: Any, state: State, rows: pa.RecordBatch) -> None:
    """Row by row through the methods of a plain state."""
    for key, value, present in read(state, rows):
        if present:
            put(plain, key, value)
        else:
            put_nothing(plain, key, None)


def contents(state: Any) -> Any:
    if isinstance(state, ab.Value):
        return state.value
    return dict(sorted(state._cells(), key=lambda item: repr(item[0])))


def assert_same(found: Any, expected: Any) -> None:
    assert_alike(contents(found), contents(expected))


Write = Callable[[Any], Any]


def run_epochs(data: st.DataObject, saved: Saved, plain: Any, writes: Callable[[], Write]) -> None:
    """Epochs of random writes to both; what each has changed makes of what was before what is there after."""
    copy, _ = saved.make(plain._copy() if hasattr(plain, "_copy") else ab.Value(plain.value))
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            patch.setattr(saving, "FEW", 0)
            patch.setattr(saving, "MARKED", data.draw(st.sampled_from([0, 32, 1 << 30])))
        for _ in range(data.draw(st.integers(1, 3))):
            before = copied(saved.part)
            marks: list[tuple[Any, Any]] = []
            for _ in range(data.draw(st.integers(0, 12))):
                what = data.draw(st.integers(0, 5))
                if what == 0:
                    marks.append((saved.arena.mark(), copied(saved.part)))
                elif what == 1 and marks:
                    mark, then = marks.pop()
                    saved.arena.roll_back(mark)
                    assert_same(saved.part, then)
                else:
                    write = writes()
                    outcome(lambda write=write: write(saved.part))
            rows = saved.rows()
            if rows is not None:
                rows = shaken(data, rows)
                fill(copy, rows)
                apply(before, saved.state, rows)
            assert_same(copy, saved.part)
            assert_same(before, saved.part)
            if rows is not None:
                fill(copy, rows)
                assert_same(copy, saved.part)
            saved.arena.clear()
            if data.draw(st.booleans()):
                saved.part.store.compact()


def copied(part: Any) -> Any:
    if not isinstance(part, ab.Value):
        return part._copy()
    new = ab.Value(part.value)
    new._coerce = part._coerce
    return new


def shaken(data: st.DataObject, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows as they come from a file, or a part of a longer batch."""
    if data.draw(st.booleans()):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(rows)
        return pa.ipc.open_stream(sink.getvalue()).read_next_batch()
    if data.draw(st.booleans()):
        both = pa.Table.from_batches([rows, rows, rows]).combine_chunks().to_batches()[0]
        return both.slice(len(rows), len(rows))
    return rows


TABLE_WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "[]=": lambda t, k, x: t.__setitem__(k, x),
    "[]= again": lambda t, k, x: t.__setitem__(k, x),
    "del": lambda t, k, x: t.__delitem__(k),
    "pop or None": lambda t, k, x: t.pop(k, None),
    "setdefault": lambda t, k, x: t.setdefault(k, x),
    "assign": lambda t, k, x: t.assign({k: x}),
    "clear": lambda t, k, x: t.clear(),
}


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_changes_of_tables(data: st.DataObject) -> None:
    key, value = data.draw(st.sampled_from(list(KEYS))), data.draw(st.sampled_from(list(ALL)))
    keys = data.draw(st.lists(KEYS[key], min_size=1, max_size=6))
    plain = table(key, value, data.draw(st.dictionaries(st.sampled_from(keys), ALL[value], max_size=4)))

    def writes() -> Write:
        name = data.draw(st.sampled_from(list(TABLE_WRITES)))
        k, x = data.draw(st.sampled_from(keys)), data.draw(ALL[value])
        return lambda t: TABLE_WRITES[name](t, k, x)

    run_epochs(data, Saved(plain, state_of(ab.Table, parse(key), parse(value))), plain, writes)


def vector_writes(data: st.DataObject) -> Write:
    name = data.draw(st.sampled_from(["[]=", "[]=", "+=", "assign", "clear"]))
    i, x = data.draw(indices), data.draw(floats)
    if name == "[]=":
        return lambda v: v.__setitem__(i, x)
    if name == "+=":
        return lambda v: v.__setitem__(i, v[i] + 1.0)
    return (lambda v: v.clear()) if name == "clear" else lambda v: v.assign(ab.Vector({i: 2.0, 3: 1.0}))


@given(st.data(), st.dictionaries(indices, floats, max_size=5))
def test_changes_of_vectors(data: st.DataObject, content: dict[int, float]) -> None:
    plain = ab.Vector(content)
    run_epochs(data, Saved(plain, state_of(ab.Vector)), plain, lambda: vector_writes(data))


def matrix_writes(data: st.DataObject) -> Write:
    name = data.draw(st.sampled_from(["[]=", "[]=", "[]=", "+=", "set_row", "row", "assign", "clear"]))
    i, j, x = data.draw(indices), data.draw(indices), data.draw(floats)
    match name:
        case "[]=":
            return lambda m: m.__setitem__((i, j), x)
        case "+=":
            return lambda m: m.__setitem__((i, j), m[i, j] + 1.5)
        case "set_row":
            return lambda m: m.set_row(i, ab.Vector({j: x, 4: 1.0}))
        case "row":
            return lambda m: m.set_row(i, ab.Vector(dict.fromkeys(range(data.draw(st.integers(0, 30))), 1.0)))
        case "assign":
            return lambda m: m.assign(ab.Matrix({(i, j): x, (2, 2): 1.0}))
    return lambda m: m.clear()


@pytest.mark.parametrize("axis", ["row", "column"])
@given(st.data(), st.dictionaries(st.tuples(indices, indices), floats, max_size=8))
def test_changes_of_matrices(axis: str, data: st.DataObject, content: dict[Any, float]) -> None:
    plain = ab.Matrix(content)
    saved = Saved(plain, state_of(ab.Matrix, axis=axis), axis)
    run_epochs(data, saved, plain, lambda: matrix_writes(data))


@given(st.data())
def test_changes_of_values(data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(list(ALL)))
    plain: Any = ab.Value(data.draw(ALL[value]))
    plain._schema(None, parse(value))

    def writes() -> Write:
        x = data.draw(ALL[value])
        return lambda v: setattr(v, "value", x)

    run_epochs(data, Saved(plain, state_of(ab.Value, None, parse(value))), plain, writes)


@given(st.data(), st.lists(floats, min_size=1, max_size=9))
def test_changes_of_dense_vectors(data: st.DataObject, content: list[float]) -> None:
    plain = ab.DenseVector(content)

    def writes() -> Write:
        i, x = data.draw(st.integers(0, 9)), data.draw(floats)
        new = [x + 1.0] * len(content)
        return data.draw(st.sampled_from([lambda v: v.__setitem__(i, x), lambda v: v.assign(new)]))

    run_epochs(data, Saved(plain, state_of(ab.DenseVector)), plain, writes)


@given(st.data(), st.integers(1, 4), st.integers(1, 4))
def test_changes_of_dense_matrices(data: st.DataObject, rows: int, columns: int) -> None:
    plain = ab.DenseMatrix.zeros(rows, columns)

    def writes() -> Write:
        i, j, x = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4)), data.draw(floats)
        line = [x + 1.0] * columns
        calls: list[Write] = [lambda m: m.__setitem__((i, j), x), lambda m: m.set_row(i, ab.DenseVector(line))]
        return data.draw(st.sampled_from(calls))

    run_epochs(data, Saved(plain, state_of(ab.DenseMatrix)), plain, writes)


def test_only_what_was_written_is_changed() -> None:
    saved = Saved(table(int, str, {1: "a", 2: "b"}), state_of(ab.Table, INT, parse(str)))
    assert saved.rows() is None
    mark = saved.arena.mark()
    saved.part[1] = "c"
    saved.part[3] = "d"
    del saved.part[3]
    rows = saved.rows()
    assert rows is not None
    assert sorted(read(saved.state, rows)) == [(1, "c", True), (3, None, False)]
    assert changed(saved.arena, {}) == {}
    saved.arena.roll_back(mark)
    assert saved.rows() is None
    saved.part[2] = "e"
    rows = saved.rows()
    assert rows is not None and read(saved.state, rows) == [(2, "e", True)]
    saved.arena.clear()
    assert saved.rows() is None


def test_a_matrix_gives_cells_and_not_lines() -> None:
    saved = Saved(ab.Matrix({(1, j): 1.0 for j in range(500)}), state_of(ab.Matrix), "row")
    saved.part[1, 7] = 2.0
    saved.part[1, 7] = 3.0
    saved.part[1, 8] = 0.0
    rows = saved.rows()
    assert rows is not None
    assert sorted(read(saved.state, rows)) == [((1, 7), 3.0, True), ((1, 8), None, False)]


@pytest.mark.parametrize("entries", [100, 5000])
@pytest.mark.parametrize("writes", [1, 40, 200, 3000])
def test_logs_of_all_lengths(entries: int, writes: int) -> None:
    saved = Saved(table(int, float, dict.fromkeys(range(entries), 0.0)), state_of(ab.Table, INT, FLOAT))
    chosen = np.random.default_rng(writes).integers(0, entries, writes).tolist()
    for i in chosen:
        saved.part[i] = i + 0.5
    rows = saved.rows()
    assert rows is not None and rows.column("value").null_count == 0
    assert sorted(read(saved.state, rows)) == [(i, i + 0.5, True) for i in sorted(set(chosen))]


def test_several_states_in_one_log() -> None:
    states = {
        "t": (table(str, int, {}), Shape("t", 0, ab.Table, parse(str), INT, None, None, "")),
        "v": (ab.Vector(), Shape("v", 1, ab.Vector, INT, FLOAT, None, None, "")),
        "m": (ab.Matrix(), Shape("m", 2, ab.Matrix, INT, FLOAT, "column", None, "")),
        "d": (
            ab.DenseVector([0.0] * 5),
            Shape("d", 3, ab.DenseVector, NONE, parse(tuple[int, int, int]), None, None, ""),
        ),
        "x": (table(str, int, {}), Shape("x", 4, ab.Table, parse(str), INT, None, None, "")),
    }
    arena = Arena({name: shape for name, (_, shape) in states.items()})
    parts = {name: make_part(plain, shape, arena) for name, (plain, shape) in states.items()}
    arena.logging = True
    for count in (1, 5, 50):
        for i in range(count):
            parts["t"][f"k{i}"] = i
            parts["v"][i] = 1.0 + i
            parts["m"][i, 3] = 2.0
            parts["d"][i % 5] = i + 1.0
        found = changed(arena, {name: parts[name] for name in ("m", "d", "v", "t")})
        assert {name: len(rows) for name, rows in found.items()} == {
            "m": count,
            "d": min(count, 5),
            "v": count,
            "t": count,
        }
        assert sorted(found["t"].column("key").to_pylist()) == sorted(f"k{i}" for i in range(count))
        assert sorted(found["m"].column("row").to_pylist()) == list(range(count))
        assert set(found["m"].column("column").to_pylist()) == {3}
        arena.clear()


# -- piece by piece ---------------------------------------------------------------------------------------------------


def walk_while_it_changes(data: st.DataObject, saved: Saved, writes: Callable[[], Write]) -> None:
    """What the pieces of a walk give, and then the changes since its beginning, is what is there at the end."""
    empty = {
        ab.DenseVector: lambda: ab.DenseVector([7.0] * len(saved.part)),
        ab.DenseMatrix: lambda: ab.DenseMatrix([[7.0] * saved.part.shape[1]] * saved.part.shape[0]),
    }.get(saved.state.cls, saved.state.cls)()
    if isinstance(empty, ab.Table):
        empty._schema(saved.state.key, saved.state.value)
    copy, _ = saved.make(empty)
    step = data.draw(st.integers(1, 4))
    walk, pieces, changes = Slices(saved.part), [], []
    stays = {repr(k) for k, _ in saved.part._cells()}
    while (rows := walk.take(step)) is not None:
        pieces.append(rows)
        words = [bytes(b) for c in rows.columns for b in c.buffers() if b is not None]
        for _ in range(data.draw(st.integers(0, 6))):
            write = writes()
            outcome(lambda write=write: write(saved.part))
        stays &= {repr(k) for k, _ in saved.part._cells()}
        if (rows := saved.rows()) is not None:
            changes.append(rows)
        saved.arena.clear()
        if data.draw(st.booleans()):
            saved.part.store.compact()
        assert words == [bytes(b) for c in pieces[-1].columns for b in c.buffers() if b is not None]
    given_keys = Counter(repr(k) for rows in pieces for k in keys_of(saved.state, rows))
    assert not [k for k in stays if given_keys[k] != 1 and not k.endswith("]")]
    for rows in pieces:
        saved.check(rows)
        assert all(rows.column("present").to_pylist())
        fill(copy, rows)
    for rows in changes:
        fill(copy, rows)
    assert_same(copy, saved.part)


@given(st.data())
def test_slices_of_tables(data: st.DataObject) -> None:
    key, value = data.draw(st.sampled_from(list(KEYS))), data.draw(st.sampled_from(list(ALL)))
    keys = data.draw(st.lists(KEYS[key], min_size=1, max_size=12))
    plain = table(key, value, {k: data.draw(ALL[value]) for k in keys})

    def writes() -> Write:
        name = data.draw(st.sampled_from(["[]=", "del", "del", "pop or None", "setdefault", "clear"]))
        k, x = data.draw(st.sampled_from(keys) | KEYS[key]), data.draw(ALL[value])
        return lambda t: TABLE_WRITES[name](t, k, x)

    walk_while_it_changes(data, Saved(plain, state_of(ab.Table, parse(key), parse(value))), writes)


@given(st.data(), st.dictionaries(indices, floats, max_size=12))
def test_slices_of_vectors(data: st.DataObject, content: dict[int, float]) -> None:
    walk_while_it_changes(data, Saved(ab.Vector(content), state_of(ab.Vector)), lambda: vector_writes(data))


@pytest.mark.parametrize("axis", ["row", "column"])
@given(st.data(), st.dictionaries(st.tuples(indices, indices), floats, max_size=20))
def test_slices_of_matrices(axis: str, data: st.DataObject, content: dict[Any, float]) -> None:
    saved = Saved(ab.Matrix(content), state_of(ab.Matrix, axis=axis), axis)
    walk_while_it_changes(data, saved, lambda: matrix_writes(data))


@given(st.data(), st.integers(1, 4), st.integers(1, 4))
def test_slices_of_dense_matrices(data: st.DataObject, rows: int, columns: int) -> None:
    def writes() -> Write:
        i, j, x = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4)), data.draw(floats)
        return lambda m: m.__setitem__((i, j), x)

    walk_while_it_changes(data, Saved(ab.DenseMatrix.zeros(rows, columns), state_of(ab.DenseMatrix)), writes)


def test_a_walk_takes_no_notice_of_what_comes_later() -> None:
    saved = Saved(table(int, int, {1: 1, 2: 2, 3: 3}), state_of(ab.Table, INT, INT))
    walk = Slices(saved.part)
    first = walk.take(2)
    assert first is not None and first.column("key").to_pylist() == [1, 2]
    for i in range(10, 90):
        saved.part[i] = i
    del saved.part[1]
    saved.arena.clear()
    saved.part.store.compact()
    second = walk.take(5)
    assert second is not None and second.column("key").to_pylist() == [3]
    assert walk.take(5) is None


def test_slices_say_where_to_go_on() -> None:
    saved = Saved(table(int, int, {i: i for i in range(5)}), state_of(ab.Table, INT, INT))
    at: int | None = 0
    found = []
    while at is not None:
        rows, at = sliced(saved.part, at, 2)
        assert rows is not None
        found.append(rows.column("key").to_pylist())
    assert found == [[0, 1], [2, 3], [4]]
    assert sliced(saved.part, 5, 2) == (None, None)
    assert list(Slices(Saved(ab.Vector(), state_of(ab.Vector)).part)) == []


# -- kernels ----------------------------------------------------------------------------------------------------------


class Shop(ab.Program):
    sums: ab.Partitioned[ab.Table[int, float]]
    names: ab.Partitioned[ab.Table[str, list[str]]]
    points: ab.Partitioned[ab.Table[tuple[int, str], Point]]
    pairs: ab.Partial[ab.Matrix]
    weights: ab.Partitioned[ab.Vector]
    last: ab.Partial[ab.Value[str | None]]
    model: ab.Partial[ab.DenseVector]
    grid: ab.Partial[ab.DenseMatrix]

    def __init__(self) -> None:
        self.last = ab.partial(ab.Value(None), merge=lambda states: states[0])
        self.model = ab.partial(ab.DenseVector([0.0] * 8), merge=ab.mean)
        self.grid = ab.partial(ab.DenseMatrix([[0.0] * 3] * 4), merge=ab.mean)

    def add(self, k: int, x: float) -> None:
        self.sums[k] = self.sums.get(k, 0.0) + x

    def drop(self, k: int, x: float) -> None:
        self.sums.pop(k, None)

    def note(self, k: int, x: float) -> None:
        name = str(k)
        found = self.names.get(name, []).copy()
        found.append("x" * k)
        self.names[name] = found

    def place(self, k: int, x: float) -> None:
        self.points[k, "é"] = Point(k, "at " + str(k))

    def lift(self, k: int, x: float) -> None:
        self.points.pop((k, "é"), None)

    def meet(self, k: int, x: float) -> None:
        self.pairs[k, k * k % 7] = x

    def weigh(self, k: int, x: float) -> None:
        self.weights[k] = x

    def say(self, k: int, x: float) -> None:
        self.last.value = "said " + str(k)

    def learn(self, k: int, x: float) -> None:
        self.model[k % 8] = self.model[k % 8] + x
        self.grid[k % 4, k % 3] = x


ENTRIES = ["add", "drop", "note", "place", "lift", "meet", "weigh", "say", "learn"]


@pytest.mark.parametrize("seed", range(3))
def test_changes_that_kernels_make(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = Space(Shop(), routing_of(0, 1), ENTRIES)
    shapes = space.code.shapes
    copies = [
        {name: make_part(plain, shapes[name], Arena(shapes)) for name, plain in content.items()}
        for content in space.content()
    ]
    sequence, seen = 0, set()
    for epoch in range(7):
        for entry in rng.permutation(ENTRIES)[: rng.integers(1, 10)].tolist():
            count = int(rng.choice([1, 3, 30, 1000]))
            keys, numbers = rng.integers(0, 40, count).tolist(), rng.integers(0, 3, count).tolist()
            block = block_of((INT, FLOAT), [(k, float(x)) for k, x in zip(keys, numbers, strict=True)])
            space.run(entry, space.shares(entry, block, sequence), sequence, count, False)
            sequence += count
        for i, arena in enumerate(space.ground.arenas):
            parts = space.memory.of_instance[i]
            found = changed(arena, parts)
            if epoch % 3 == 2:
                arena.roll_back((0, 0))
                assert changed(arena, parts) == {}
                found = {}
            for name, rows in found.items():
                rows.validate(full=True)
                assert rows.schema == schema_of(space.graph.state(name))
                fill(copies[i][name], rows)
                seen.add(name)
            arena.clear()
            for name, copy in copies[i].items():
                assert_same(copy, parts[name])
    assert seen == set(shapes)


@pytest.mark.parametrize("workers", [1, 2])
def test_changes_of_an_app(workers: int) -> None:
    """Each epoch of an app, whatever runs it: its changes make of a copy of what was before what is there after."""
    rng, names = np.random.default_rng(workers), [s.name for s in ab.compile(Shop).states]
    with ab.run(Shop(), workers=workers, tier="compiled") as app:
        memory: Any = app._engine.memory
        copies: dict[tuple[int, str], Any] = {}
        seen: Counter[str] = Counter()
        wrong: list[Exception] = []
        settle = memory.commit

        def commit(version: Any) -> None:
            flat = [{n: memory.of_instance[i][n] for n in a.stores} if a else {} for i, a in enumerate(memory.arenas)]
            found = [changed(memory.arenas[i], parts) if parts else {} for i, parts in enumerate(flat)]
            settle(version)
            for i, parts in enumerate(flat):
                for name, part in parts.items():
                    if (i, name) not in copies:
                        shape = part.store.shape
                        copies[i, name] = make_part(copied(part), shape, Arena(dict.fromkeys(names, shape)))
                    elif name in found[i]:
                        fill(copies[i, name], found[i][name])
                        seen[name] += 1
                    try:
                        assert_same(copies[i, name], part)
                    except AssertionError as error:  # who commits is no test
                        wrong.append(error)

        memory.commit = commit
        for _ in range(3):
            for entry in rng.permutation(ENTRIES).tolist():
                for k, x in zip(rng.integers(0, 40, 4).tolist(), rng.integers(0, 3, 4).tolist(), strict=True):
                    getattr(app, entry)(k, float(x))
                keys, numbers = rng.integers(0, 40, 300), rng.integers(0, 3, 300).astype(float)
                getattr(app, entry).many({"k": keys, "x": numbers})
        memory.commit = settle
        assert all(app._engine.tiers.is_fast(entry) for entry in ENTRIES)
    assert wrong == []
    assert set(seen) == set(names)
