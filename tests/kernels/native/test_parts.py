"""States in flat memory behave as the plain ones, whatever is called, taken back and made compact in between."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels.native import stores
from anabranch.kernels.native.parts import make_part
from anabranch.kernels.native.saving import changed
from anabranch.lang.annotations import parse
from anabranch.lang.types import FLOAT, INT, NONE
from tests.kernels.native.flat import (
    KEYS,
    VALUES,
    allocated,
    assert_alike,
    flat,
    flat_matrix,
    flat_table,
    flat_vector,
    floats,
    outcome,
    shape_of,
    table,
)

WRONG = [None, 1.5, "text", b"bytes", (1,), 2**63, True, [1], {}, np.int64(3), "\ud800"]


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Little memory at first, so that all of it grows and is made compact often."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in {"FIRST_ENTRIES": 2, "FIRST_HEAP": 32, "FIRST_LOG": 8, "MANY": 2, "LARGE": 256}.items():
            patch.setattr(stores, name, size)
        yield


class Pair:
    """A plain state and the same in flat memory; the plain one is copied at each mark."""

    def __init__(self, plain: Any, part: Any, arena: Any) -> None:
        self.plain, self.part, self.arena = plain, part, arena
        self.marks: list[tuple[Any, Any]] = []

    def both(self, call: Callable[[Any], Any]) -> None:
        expected, found = outcome(lambda: call(self.plain)), outcome(lambda: call(self.part))
        assert_alike(found, expected)

    def time(self, what: str, which: int) -> None:
        match what:
            case "mark":
                self.marks.append((self.arena.mark(), self.plain._copy()))
            case "back" if self.marks:
                at = which % len(self.marks)
                mark, plain = self.marks[at]
                self.arena.roll_back(mark)
                self.plain = plain._copy()
                del self.marks[at + 1 :]
            case "clear" | "compact":
                self.arena.clear()
                self.marks.clear()
                if what == "compact":
                    self.part.store.compact()
                    assert self.part.store.used == self.part.store.live

    def check(self) -> None:
        assert_alike(contents(self.part), contents(self.plain))
        assert type(self.part._copy()) is type(self.plain)
        assert_alike(contents(self.part._copy()), contents(self.plain))
        assert self.part.store.nbytes == allocated(self.part.store)


def contents(state: Any) -> dict[Any, Any]:
    return dict(sorted(state._cells(), key=lambda item: repr(item[0])))


times = st.sampled_from(["mark", "mark", "back", "back", "clear", "compact"])

# -- Table ------------------------------------------------------------------------------------------------------------

READS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "[]": lambda t, k, x: t[k],
    "get": lambda t, k, x: t.get(k),
    "get or": lambda t, k, x: t.get(k, x),
    "get or None": lambda t, k, x: t.get(k, None),
    "in": lambda t, k, x: k in t,
    "len": lambda t, k, x: len(t),
    "items": lambda t, k, x: sorted(t.items(), key=repr),
    "keys": lambda t, k, x: sorted(t.keys(), key=repr),
    "values": lambda t, k, x: sorted(t.values(), key=repr),
    "iter": lambda t, k, x: sorted(t, key=repr),
    "top": lambda t, k, x: t.top(2),
    "top 0": lambda t, k, x: t.top(0),
}
WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "[]=": lambda t, k, x: t.__setitem__(k, x),
    "del": lambda t, k, x: t.__delitem__(k),
    "pop": lambda t, k, x: t.pop(k),
    "pop or": lambda t, k, x: t.pop(k, x),
    "pop or None": lambda t, k, x: t.pop(k, None),
    "setdefault": lambda t, k, x: t.setdefault(k, x),
    "assign": lambda t, k, x: t.assign({k: x}),
    "clear": lambda t, k, x: t.clear(),
}
OFTEN = ["[]=", "[]=", "[]=", "del", "pop or None", "setdefault"]


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_tables(data: st.DataObject) -> None:
    key, value = data.draw(st.sampled_from(list(KEYS))), data.draw(st.sampled_from(list(VALUES)))
    keys, values = data.draw(st.lists(KEYS[key], min_size=1, max_size=6)), VALUES[value]
    default = data.draw(st.just(()) | st.tuples(values))
    plain = table(key, value, data.draw(st.dictionaries(st.sampled_from(keys), values, max_size=3)), default)
    pair = Pair(plain, *flat_table(plain._copy(), key, value))
    methods = READS | WRITES
    for _ in range(data.draw(st.integers(1, 25))):
        if data.draw(st.integers(0, 3)) == 0:
            pair.time(data.draw(times), data.draw(st.integers(0, 9)))
        else:
            name = data.draw(st.sampled_from([*methods, *OFTEN]))
            k, x = data.draw(st.sampled_from(keys)), data.draw(values)
            pair.both(lambda t, m=methods[name], k=k, x=x: m(t, k, x))
        pair.check()


@given(st.data())
def test_rows_of_tables(data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([k for k in KEYS if getattr(k, "__origin__", None) is tuple]))
    plain = table(key, int, data.draw(st.dictionaries(KEYS[key], VALUES[int], max_size=8)))
    pair = Pair(plain, *flat_table(plain._copy(), key, int))
    for first, *_ in [*plain.keys(), *data.draw(st.lists(KEYS[key], max_size=2)), *((x,) for x in WRONG)]:
        pair.both(lambda t, first=first: t.row(first))
        pair.both(lambda t, first=first: list(t.row(first)))


@given(st.data(), st.sampled_from(list(KEYS)), st.sampled_from(list(VALUES)))
def test_what_does_not_fit_is_refused_alike(data: st.DataObject, key: Any, value: Any) -> None:
    k, x = data.draw(KEYS[key]), data.draw(VALUES[value])
    plain = table(key, value, {k: x})
    pair = Pair(plain, *flat_table(plain._copy(), key, value))
    for method, wrong in itertools.product((READS | WRITES).values(), WRONG):
        pair.both(lambda t, m=method, w=wrong: m(t, w, x))
        pair.both(lambda t, m=method, w=wrong: m(t, k, w))
        pair.both(lambda t: t.__setitem__(k, x))
    pair.check()


def test_tables_compare_copy_and_show_as_plain_ones() -> None:
    plain = table(str, list[int], {"a": [1], "b": []}, ([7],))
    part, _ = flat_table(plain, str, list[int])
    assert part == plain and plain == part and part == part._copy()
    assert repr(part) == repr(plain) == "Table({'a': [1], 'b': []}, default=[7])"
    part["c"] = [2]
    assert part != plain and plain != part
    with pytest.raises(ab.FrozenError, match="belongs to state"):
        part["c"].append(3)


# -- Value ------------------------------------------------------------------------------------------------------------


@given(st.data(), st.sampled_from(list(VALUES)))
def test_values(data: st.DataObject, kind: Any) -> None:
    plain = ab.Value(data.draw(VALUES[kind]))
    plain._schema(None, parse(kind))
    pair = Pair(plain, *flat(plain._copy(), shape_of(ab.Value, NONE, parse(kind), number=1)))
    for _ in range(data.draw(st.integers(1, 12))):
        if data.draw(st.booleans()):
            pair.time(data.draw(times), data.draw(st.integers(0, 9)))
        else:
            x = data.draw(VALUES[kind] | st.sampled_from(WRONG))
            pair.both(lambda v, x=x: setattr(v, "value", x))
            pair.both(lambda v, x=x: v.assign(x))
        pair.both(lambda v: v.value)
        pair.both(repr)
        pair.check()


# -- Vector and Matrix ------------------------------------------------------------------------------------------------

EDGES = [0, 1, -1, 2**62, -(2**62), 2**63 - 1, -(2**63), 2**63 - 9, -(2**63) + 9]
indices = st.integers(-20, 20) | st.sampled_from(EDGES) | st.integers(-5, 5).map(lambda i: 1000 * i)


@st.composite
def runs(draw: st.DrawFn) -> list[int]:
    """Indices one after the other, up or down, near or far apart, at the ends of what there is."""
    start, step = draw(st.sampled_from([*EDGES, -40, 30])), draw(st.sampled_from([1, 1, -1, 2, 3, 5, -4, 1000, 2**55]))
    return [start + step * i for i in range(draw(st.integers(1, 60))) if -(2**63) <= start + step * i < 2**63]


vectors = st.dictionaries(indices, floats, max_size=6).map(ab.Vector)
VECTOR: dict[str, Callable[[Any, int, float, Any], Any]] = {
    "[]": lambda v, i, x, w: v[i],
    "get": lambda v, i, x, w: (v.get(i), v.get(i, x)),
    "in": lambda v, i, x, w: i in v,
    "all": lambda v, i, x, w: (len(v), list(v), v.items(), v.keys(), v.values()),
    "top": lambda v, i, x, w: v.top(3),
    "dot": lambda v, i, x, w: (v.dot(w), w.dot(v), v.dot(v)),
    "sums": lambda v, i, x, w: (v.sum(), v.norm()),
    "copy": lambda v, i, x, w: (v.copy(), v._as_frozen()),
    "+": lambda v, i, x, w: (v + w, w + v, v - w, w - v, -v, sum([v, v])),
    "*": lambda v, i, x, w: (v * x, x * v),
    "/": lambda v, i, x, w: v / x,
    "repr": lambda v, i, x, w: repr(v),
    "clear": lambda v, i, x, w: v.clear(),
    "assign": lambda v, i, x, w: v.assign(w),
}


@given(st.data())
def test_vectors(data: st.DataObject) -> None:
    plain = data.draw(vectors)
    pair = Pair(plain, *flat_vector(plain.copy()))
    for _ in range(data.draw(st.integers(1, 15))):
        x = data.draw(floats)
        match data.draw(st.integers(0, 4)):
            case 0:
                pair.time(data.draw(times), data.draw(st.integers(0, 9)))
            case 1 | 2:
                for i in data.draw(runs()):
                    pair.both(lambda v, i=i, x=x: v.__setitem__(i, x))
            case _:
                method = VECTOR[data.draw(st.sampled_from(list(VECTOR)))]
                i, w = data.draw(indices), data.draw(vectors)
                pair.both(lambda v, m=method, i=i, x=x, w=w: m(v, i, x, w))
        pair.check()


matrices = st.dictionaries(st.tuples(indices, indices), floats, max_size=6).map(ab.Matrix)
MATRIX: dict[str, Callable[[Any, int, int, float, Any], Any]] = {
    "[]": lambda m, i, j, x, v: m[i, j],
    "in": lambda m, i, j, x, v: (i, j) in m,
    "all": lambda m, i, j, x, v: (len(m), list(m), m.items(), m.rows()),
    "row": lambda m, i, j, x, v: (m.row(i), m.row(j)),
    "column": lambda m, i, j, x, v: (m.column(i), m.column(j)),
    "dot": lambda m, i, j, x, v: m.dot(v),
    "frozen": lambda m, i, j, x, v: m.row(i).__setitem__(0, 1.0),
    "repr": lambda m, i, j, x, v: repr(m),
    "set_row": lambda m, i, j, x, v: m.set_row(i, v),
    "[]=": lambda m, i, j, x, v: m.__setitem__((i, j), x),
    "sum": lambda m, i, j, x, v: [a.items() for a in (m + m, m - m, -m, m * 2.0, m / 2.0, m.copy())],
    "clear": lambda m, i, j, x, v: m.clear(),
    "assign": lambda m, i, j, x, v: m.assign(ab.Matrix({(i, k): y for k, y in v.items()})),
}


@pytest.mark.parametrize("axis", ["row", "column"])
@given(data=st.data())
def test_matrices(axis: str, data: st.DataObject) -> None:
    plain = data.draw(matrices)
    pair = Pair(plain, *flat_matrix(plain.copy(), axis))
    line = data.draw(indices)
    for _ in range(data.draw(st.integers(1, 15))):
        x = data.draw(floats)
        match data.draw(st.integers(0, 4)):
            case 0:
                pair.time(data.draw(times), data.draw(st.integers(0, 9)))
            case 1 | 2:
                for k in data.draw(runs()):
                    index = (line, k) if axis == "row" else (k, line)
                    pair.both(lambda m, index=index, x=x: m.__setitem__(index, x))
            case _:
                method = MATRIX[data.draw(st.sampled_from(list(MATRIX)))]
                i, j, v = data.draw(st.sampled_from([line]) | indices), data.draw(indices), data.draw(vectors)
                pair.both(lambda m, f=method, i=i, j=j, x=x, v=v: f(m, i, j, x, v))
        pair.check()
        for axis_of in ("row", "column"):
            pair.both(lambda m, a=axis_of: getattr(m, a)(line))


@pytest.mark.parametrize("axis", ["row", "column"])
@pytest.mark.parametrize("index", [(1,), (1, 2, 3), 1, None, (1.5, 2), (True, 1), (2**63, 1), (1, "a")])
def test_what_is_no_index_is_refused_alike(axis: str, index: Any) -> None:
    pair = Pair(ab.Matrix({(1, 2): 3.0}), *flat_matrix(ab.Matrix({(1, 2): 3.0}), axis))
    pair.both(lambda m: m[index])
    pair.both(lambda m: index in m)
    pair.both(lambda m: m.__setitem__(index, 1.0))
    pair.both(lambda m: m.__setitem__((1, 1), index))
    pair.both(lambda m: m.row(index))
    pair.both(lambda m: m.column(index))
    pair.both(lambda m: m.set_row(index, ab.Vector()))


@pytest.mark.parametrize("step", [1, -1, 2, -2, 3, -3])
def test_a_line_that_grows_does_not_waste_memory(step: int) -> None:
    part, arena = flat_matrix(ab.Matrix(), "row")
    arena.logging = False
    count = 4000
    for i in range(count):
        part[7, step * i] = 1.0
    assert part.row(7).keys() == sorted(step * i for i in range(count))
    assert part.store.nbytes < 40 * 16 * count


@pytest.mark.parametrize("first", [0, 2**23 - 10, 2**23 + 5, 2**40, -10, -(2**62)])
def test_cells_whose_index_is_short_or_long_are_taken_back(first: int) -> None:
    """The log has a record of its own for cells that need few bits."""
    part, arena = flat_matrix(ab.Matrix(), "row")
    for i in range(20):
        part[7, first + i] = float(i + 1)
    assert part.store.words[0, 6], "the line is dense"
    arena.clear()
    mark = arena.mark()
    for i in range(20):
        part[7, first + i] = 100.0
    assert set(part.row(7).values()) == {100.0}
    words = sum(end - start for start, end in arena.written()) // 8
    short = sum(0 <= first + i < 2**23 for i in range(20))
    assert words == 2 * short + 3 * (20 - short)
    found = changed(arena, {part.store.shape.name: part})[part.store.shape.name]
    assert sorted(found.column(1).to_pylist()) == [first + i for i in range(20)]
    arena.roll_back(mark)
    assert part.row(7).items() == [(first + i, float(i + 1)) for i in range(20)]


# -- memory -----------------------------------------------------------------------------------------------------------


def test_removal_and_return_are_taken_back_to_what_was_first() -> None:
    part, arena = flat_table(table(int, str, {1: "old"}), int, str)
    mark = arena.mark()
    del part[1]
    part[1] = "new"
    del part[1]
    part[1] = "newer"
    arena.roll_back(mark)
    assert part.items() == [(1, "old")] and len(part) == 1


@pytest.mark.parametrize("value", [str, list[str], list[list[int]], Any])
def test_what_is_overwritten_is_given_back(value: Any) -> None:
    """Also where the Python tier writes, where writes are taken back, and of lists in lists."""
    contents = {str: "x" * 100, list[str]: ["y" * 50, "z"], list[list[int]]: [[1, 2], [3]]}
    if value is Any:
        part, arena = flat_matrix(ab.Matrix(), "row")
    else:
        part, arena = flat_table(table(int, value, {}), int, value)
    for i in range(3000):
        mark = arena.mark()
        for k in range(3):
            if value is Any:
                part[i, k] = 1.0
                part[i - 5, k] = part[i - 6, k] = 0.0
            else:
                part[k] = contents[value]
        if i % 3 == 0:
            arena.roll_back(mark)
        arena.clear()
    assert part.store.nbytes < 20_000, part.store.nbytes
    assert len(part) <= 20


def test_nbytes_is_what_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "FIRST_HEAP", 1 << 12)  # numpy hands out small pieces of memory again, untraced
    tracemalloc.start(2)  # numpy.full is Python
    try:
        part, arena = flat_table(table(str, list[str], {str(i): ["a"] for i in range(100)}), str, list[str])

        def traced() -> int:
            gc.collect()
            taken = tracemalloc.take_snapshot().filter_traces(
                [tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]
            )
            ours = taken.filter_traces([tracemalloc.Filter(True, stores.__file__, all_frames=True)])
            return sum(s.size for s in ours.statistics("filename")) - part.store.nbytes

        arena.logging = False
        rest = traced()
        for i in range(500):
            part[f"key {i % 300}"] = ["a text"] * (i % 7)
        assert traced() == rest
        for i in range(200):
            del part[f"key {i}"]
        for i in range(59):
            del part[str(i)]
        arena.logging = True  # where nothing was logged there is nothing to clear
        del part["59"]
        arena.clear()
        assert part.store.used == part.store.live == 140, "it is compact"
        assert traced() == rest
    finally:
        tracemalloc.stop()


def test_several_states_are_rolled_back_together() -> None:
    shapes = {s.name: s for s in (shape_of(ab.Vector, INT, number=0), shape_of(ab.Matrix, INT, FLOAT, "row", number=1))}
    arena = stores.Arena(shapes)
    vector = make_part(ab.Vector({1: 1.0}), shapes["state0"], arena)
    matrix = make_part(ab.Matrix({(1, 1): 1.0}), shapes["state1"], arena)
    arena.clear()
    arena.logging = True
    mark = arena.mark()
    for i in range(50):
        vector[i], matrix[i % 3, i] = float(i), 2.0
    arena.roll_back(mark)
    assert (vector.items(), matrix.items()) == ([(1, 1.0)], [((1, 1), 1.0)])
