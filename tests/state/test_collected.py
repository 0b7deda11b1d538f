"""What runs on collected copies gives, raises and leaves what it would at the owners, and asks for little."""

from __future__ import annotations

import copy
import datetime as dt
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels.native.parts import make_part
from anabranch.kernels.native.shapes import shapes
from anabranch.kernels.native.stores import Arena
from anabranch.lang.frozen import FrozenDict, FrozenList, FrozenSet
from anabranch.lang.journal import Journal
from anabranch.lang.marks import bind, copy_state, freeze_state, same_state
from anabranch.lang.values import same_value
from anabranch.state.collected import Collected, NotHere, Want, apply, content, look_up, part_of
from anabranch.state.parts import entry_keys
from tests.kernels.native.flat import assert_alike, outcome


class Point(NamedTuple):
    x: int
    tags: list[str]


class Tally:
    """An own type that holds a bit of everything."""

    kind = "tally"  # of the class, until an instance has its own

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.seen = ab.Table(default=0)
        self.last: list[Any] = []

    @ab.writes
    def add(self, key: int, by: int) -> int:
        self.counts[key] = self.counts.get(key, 0) + by
        self.seen["all"] += by
        if by > 3:
            self.last.append((key, [by]))
            raise ValueError(f"{by} is too much for {key}")
        return self.counts[key]

    @ab.writes
    def rename(self, key: int) -> None:
        self.kind = f"tally of {key}"

    @ab.reads
    def total(self) -> tuple[str, int, list[Any]]:
        return self.kind, sum(self.counts.values()) + self.seen["all"], self.last

    def __len__(self) -> int:
        return len(self.counts)


class Everything(ab.Program):
    words: ab.Partitioned[ab.Table[str, int]]
    lists: ab.Partial[ab.Table[int, list[int]]]
    points: ab.Partial[ab.Table[int, Point]]
    pairs: ab.Partial[ab.Table[tuple[int, str], int]]
    triples: ab.Partial[ab.Table[tuple[int, str, bool], int]]
    deep: ab.Partial[ab.Table[tuple[int, tuple[str, bool]], int]]
    vector: ab.Partial[ab.Vector]
    matrix: ab.Partial[ab.Matrix]
    dense: ab.Partial[ab.DenseVector]
    grid: ab.Partial[ab.DenseMatrix]
    value: ab.Partial[ab.Value[list[int]]]
    tally: ab.Partial[Tally]

    def __init__(self) -> None:
        self.words = ab.Table({"start": 1})
        self.lists = ab.Table(default=[7])
        self.dense = ab.DenseVector([1.0, 2.0, 3.0])
        self.grid = ab.DenseMatrix.zeros(3, 2)
        self.value = ab.Value([1])

    def use(self, w: str) -> None:
        self.words[w] = 1


GRAPH, PROGRAM = ab.compile(Everything), Everything()
small = st.integers(-2, 3)
short = st.sampled_from(["", "a", "é"])
floats = st.sampled_from([0.0, -0.0, 1.5, -2.25, 3.0, float("nan"), float("inf")])
WRONG = st.sampled_from([None, 1.5, "text", b"bytes", (1,), (1, 2, 3), 2**63, True, [1], {}, np.int64(1), "\ud800", 99])
KEYS: dict[str, Any] = {
    "words": short,
    "lists": small,
    "points": small,
    "pairs": st.tuples(small, short),
    "triples": st.tuples(small, short, st.booleans()),
    "deep": st.tuples(small, st.tuples(short, st.booleans())),
    "vector": small,
    "matrix": st.tuples(small, small),
    "dense": st.integers(-1, 3),
    "grid": st.tuples(st.integers(-1, 3), st.integers(0, 2)),
    "value": st.none(),
    "tally": small,
}
VALUES: dict[str, Any] = {
    **dict.fromkeys(["words", "pairs", "triples", "deep"], small),
    **dict.fromkeys(["vector", "matrix", "dense", "grid"], floats),
    **dict.fromkeys(["lists", "value"], st.lists(small, max_size=2)),
    "points": st.builds(Point, small, st.lists(short, max_size=2)),
    "tally": st.integers(0, 5),
}
vectors = st.dictionaries(small, floats, max_size=4).map(ab.Vector)


@dataclass(frozen=True)
class Arguments:
    key: Any
    line: Any
    x: Any
    entries: dict[Any, Any]
    vector: ab.Vector


Operation = Callable[[Any, Arguments], Any]
TABLE: dict[str, Operation] = {
    "[]": lambda t, a: t[a.key],
    "get": lambda t, a: (t.get(a.key), t.get(a.key, a.x), t.get(key=a.key, default=None)),
    "get nothing": lambda t, a: t.get(),
    "in": lambda t, a: a.key in t,
    "frozen": lambda t, a: t[a.key].append(1),
    "len": lambda t, a: len(t),
    "walk": lambda t, a: [sorted(xs, key=repr) for xs in (t.items(), t.keys(), t.values(), t, t._cells())],
    "top": lambda t, a: t.top(2),
    "==": lambda t, a: (t == t._copy(), t._copy() == t, t == 1),
    "repr": lambda t, a: sorted(repr(t)),
    "row": lambda t, a: (t.row(a.line), t.row(first=a.line)),
    "[]=": lambda t, a: t.__setitem__(a.key, a.x),
    "+=": lambda t, a: t.__setitem__(a.key, t[a.key] + a.x),
    "del": lambda t, a: t.__delitem__(a.key),
    "pop": lambda t, a: t.pop(a.key),
    "pop or": lambda t, a: (t.pop(a.key, a.x), t.pop(a.key, None)),
    "setdefault": lambda t, a: t.setdefault(a.key, a.x),
    "assign": lambda t, a: t.assign(a.entries),
    "clear": lambda t, a: t.clear(),
}
VECTOR: dict[str, Operation] = {
    "[]": lambda v, a: v[a.key],
    "get": lambda v, a: (v.get(a.key), v.get(a.key, a.x)),
    "in": lambda v, a: a.key in v,
    "all": lambda v, a: (len(v), list(v), v.items(), v.keys(), v.values(), v.top(2), repr(v)),
    "sums": lambda v, a: (v.dot(a.vector), a.vector.dot(v), v.dot(v), v.sum(), v.norm()),
    "+": lambda v, a: (v + a.vector, a.vector + v, v - a.vector, a.vector - v, -v, sum([v, v]), v == a.vector),
    "*": lambda v, a: (v * a.x, a.x * v, v / a.x),
    "copy": lambda v, a: (v.copy(), copy_state(v), v._as_frozen(), ab.Vector(v), ab.add([v, a.vector])),
    "float": lambda v, a: a.vector.__setitem__(0, v),  # the message names the type
    "[]=": lambda v, a: v.__setitem__(a.key, a.x),
    "clear": lambda v, a: v.clear(),
    "assign": lambda v, a: v.assign(a.vector),
    "assign itself": lambda v, a: v.assign(v),
}
MATRIX: dict[str, Operation] = {
    "[]": lambda m, a: m[a.key],
    "in": lambda m, a: a.key in m,
    "row": lambda m, a: m.row(a.line),
    "column": lambda m, a: m.column(a.line),
    "column by name": lambda m, a: m.column(j=a.line),
    "frozen": lambda m, a: m.row(a.line).clear(),
    "all": lambda m, a: (len(m), list(m), m.items(), m.rows(), repr(m)),
    "dot": lambda m, a: m.dot(a.vector),
    "+": lambda m, a: [n.items() for n in (m + m, m - ab.Matrix(), ab.Matrix() - m, 0 + m, -m, m * 2.0, ab.Matrix(m))],
    "/": lambda m, a: (m / a.x).items(),
    "==": lambda m, a: (m == m.copy(), ab.Matrix() == m),
    "[]=": lambda m, a: m.__setitem__(a.key, a.x),
    "set_row": lambda m, a: m.set_row(a.line, a.vector),
    "set_row wrong": lambda m, a: m.set_row(a.line, a.x),
    "clear": lambda m, a: m.clear(),
    "assign": lambda m, a: m.assign(ab.Matrix({(1, k): x for k, x in a.vector.items()})),
}
DENSE: dict[str, Operation] = {
    "[]": lambda v, a: v[a.key],
    "len": lambda v, a: len(v),
    "all": lambda v, a: (list(v), v.tolist(), v.sum(), v.norm(), v.dot(v), repr(v)),
    "numpy": lambda v, a: v.to_numpy(),
    "+": lambda v, a: (v + v, v - 1.0, 1.0 - v, a.x * v, -v, v / a.x, v == v.copy(), copy_state(v)),
    "other length": lambda v, a: ab.DenseVector([1.0]) - v,
    "[]=": lambda v, a: v.__setitem__(a.key, a.x),
    "assign": lambda v, a: v.assign([a.x] * len(v)),
    "assign wrong": lambda v, a: v.assign([a.x]),
}
GRID: dict[str, Operation] = {
    "[]": lambda m, a: m[a.key],
    "shape": lambda m, a: (m.shape, len(m), m.rows()),
    "row": lambda m, a: m.row(a.line),
    "frozen": lambda m, a: m.row(a.line).assign([1.0, 1.0]),
    "all": lambda m, a: (m.tolist(), repr(m), m.to_numpy(), m.dot(ab.DenseVector([a.x, 1.0]))),
    "+": lambda m, a: [n.tolist() for n in (m + m, 0 + m, m * 2.0, -m, m.copy(), ab.DenseMatrix(m), ab.mean([m, m]))],
    "other shape": lambda m, a: ab.DenseMatrix.zeros(1, 1) - m,
    "[]=": lambda m, a: m.__setitem__(a.key, a.x),
    "set_row": lambda m, a: m.set_row(a.line, ab.DenseVector([a.x, 2.0])),
    "set_row wrong": lambda m, a: m.set_row(a.line, ab.DenseVector([a.x])),
    "assign": lambda m, a: m.assign([[a.x, 1.0]] * 3),
}
VALUE: dict[str, Operation] = {
    "value": lambda v, a: (v.value, repr(v), v == v._copy(), list(v._cells())),
    "frozen": lambda v, a: v.value.append(1),
    "value=": lambda v, a: setattr(v, "value", a.x),
    "assign": lambda v, a: v.assign(v.value + [1]),
}
OWN: dict[str, Operation] = {
    "add": lambda t, a: t.add(a.key, a.x),
    "add by name": lambda t, a: t.add(key=a.key, by=1),
    "rename": lambda t, a: t.rename(a.key),
    "total": lambda t, a: t.total(),
    "len": lambda t, a: len(t),
    "vars": lambda t, a: sorted(vars(copy_state(t))),
}
OPERATIONS = dict.fromkeys(["pairs", "triples", "deep"], TABLE)
WITHOUT_LINES = {name: call for name, call in TABLE.items() if name != "row"}
OPERATIONS |= dict.fromkeys(["words", "lists", "points"], WITHOUT_LINES)
OPERATIONS |= {"vector": VECTOR, "matrix": MATRIX, "dense": DENSE, "grid": GRID, "value": VALUE, "tally": OWN}


@st.composite
def contents(draw: st.DrawFn, name: str) -> Any:
    """A state with some content, as a program has it."""
    part = copy_state(PROGRAM.__anabranch_states__[name])
    given = draw(st.dictionaries(KEYS[name], VALUES[name], max_size=8))
    if name == "value":
        part.assign(draw(VALUES[name]))
    for key, x in given.items():
        if name == "tally":
            outcome(lambda key=key, x=x: part.add(key, x))
        elif name != "value":
            outcome(lambda key=key, x=x: part.__setitem__(key, x))
    return part


@st.composite
def calls(draw: st.DrawFn, name: str, *among: str, keys: Any = None) -> tuple[Operation, Arguments]:
    key, x = KEYS[name] if keys is None else keys, VALUES[name]
    operation = OPERATIONS[name][draw(st.sampled_from(among or list(OPERATIONS[name])))]
    of_key = draw(key)
    line = of_key[0] if isinstance(of_key, tuple) else of_key
    wrong = 9 if among else draw(st.integers(0, 7))
    arguments = Arguments(
        draw(WRONG) if wrong == 0 else of_key,
        draw(WRONG) if wrong == 1 else line,
        draw(WRONG) if wrong == 2 else draw(x),
        draw(st.dictionaries(key, x, max_size=2)),
        draw(vectors),
    )
    return operation, arguments


class Request(NamedTuple):
    calls: list[tuple[Operation, Arguments]]
    refused: bool  # all it did is taken back


def requests(name: str) -> st.SearchStrategy[list[Request]]:
    return st.lists(st.builds(Request, st.lists(calls(name), max_size=5), st.booleans()), min_size=1, max_size=4)


def answers(part: Any, request: Request) -> list[Any]:
    return [outcome(lambda c=call, a=arguments: c(part, copy.deepcopy(a))) for call, arguments in request.calls]


def directly(part: Any, asked: list[Request]) -> list[Any]:
    journal, results = Journal(), []
    journal.active = True
    bind(part, journal)
    for request in asked:
        mark = journal.mark()
        results.append(answers(part, request))
        if request.refused:
            journal.rollback(mark)
    bind(part, None)
    return results


class Collector:
    """The loop of whoever collects, over one part of a state."""

    def __init__(self, name: str, owned: Any) -> None:
        self.state, self.owned = GRAPH.state(name), owned
        self.collected = Collected(GRAPH, PROGRAM, 2, lambda key: 1)
        self.part = self.collected.parts[name][1]
        self.asked: list[Want] = []

    def fetch(self, want: Want) -> None:
        assert want not in self.asked, "asked twice"
        assert (want.state, want.instance) == (self.state.name, 1)
        self.asked.append(want)
        self.collected.fill(want, sent(look_up(self.state, self.owned, want)))

    def from_the_start(self, asked: list[Request]) -> list[Any]:
        """Take back all, and run again."""
        start = self.collected.mark()
        while True:
            try:
                return [self._once(request) for request in asked]
            except NotHere as error:
                self.collected.rollback(start)
                self.fetch(error.want)

    def one_by_one(self, asked: list[Request]) -> list[Any]:
        """Take back the request that lacks something: what others have written stays while it is filled in."""
        results = []
        for request in asked:
            while True:
                before = self.collected.mark()
                try:
                    results.append(self._once(request))
                    break
                except NotHere as error:
                    self.collected.rollback(before)
                    self.fetch(error.want)
        return results

    def _once(self, request: Request) -> list[Any]:
        before = self.collected.mark()
        results = answers(self.part, request)
        if request.refused:
            self.collected.rollback(before)
        return results

    def fetched(self, effect: Any) -> bool:
        _, unit, key, found = effect
        if unit == "line" and isinstance(found, ab.DenseVector):  # which is here when all its entries are
            return all(self._asked("entry", (key, j)) for j in range(len(found)))
        return self._asked(unit, key)

    def _asked(self, unit: str, key: Any) -> bool:
        wants = [("all", None, "row"), (unit, key, "row")]
        if unit == "entry" and isinstance(key, tuple):
            wants += [("line", key[0], "row"), ("line", key[1], "column")]
        return any((w.unit, w.key, w.axis) in wants for w in self.asked)


ATOMS = (type(None), bool, int, float, str, bytes, dt.date, dt.datetime, dt.timedelta)


def sent(found: Any) -> Any:
    """What arrives elsewhere: frozen containers do not stay frozen. It has to be made of values."""
    assert_values(found)
    return copy.deepcopy(found)


def assert_values(x: Any) -> None:
    match x:
        case dict():
            assert type(x) in (dict, FrozenDict)
            assert_values([*x, *x.values()])
        case list() | set():
            assert type(x) in (list, set, FrozenList, FrozenSet)
            for item in x:
                assert_values(item)
        case tuple():
            assert type(x) in (tuple, Point)
            assert_values(list(x))
        case np.ndarray():
            assert not x.dtype.hasobject
        case _:
            assert type(x) in (*ATOMS, ab.Vector, ab.DenseVector), type(x)


def laid_out(name: str, part: Any) -> tuple[Any, Arena]:
    """The part in flat memory, which logs."""
    shape = shapes(GRAPH, PROGRAM.__anabranch_templates__)
    arena = Arena(shape)
    for other in GRAPH.states:
        if other.name != name and shape[other.name].fits:
            make_part(copy_state(PROGRAM.__anabranch_states__[other.name]), shape[other.name], arena)
        elif other.name == name:
            new = make_part(copy_state(part), shape[name], arena)
    arena.clear()
    arena.logging = True
    return new, arena


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data())
def test_collected_code_is_as_at_the_owner(name: str, data: st.DataObject) -> None:
    collector = Collector(name, data.draw(contents(name)))
    run = data.draw(st.sampled_from([collector.from_the_start, collector.one_by_one]))
    assert_as_at_the_owner(collector, run, data.draw(requests(name)))


WIDE = ("row", "column", "walk", "all", "set_row", "numpy", "copy")


@pytest.mark.parametrize("name", [n for n in OPERATIONS if n not in ("value", "tally")])
@given(data=st.data())
def test_what_is_fetched_later_does_not_overwrite(name: str, data: st.DataObject) -> None:
    """Entries are written first; the lines around them, and all, are fetched afterwards."""
    owned = data.draw(contents(name))
    keys = st.sampled_from([*entry_keys(owned), *data.draw(st.lists(KEYS[name], min_size=1, max_size=2))])
    narrow = [n for n in ("[]=", "[]=", "del", "pop or") if n in OPERATIONS[name]]
    wide = [n for n in WIDE if n in OPERATIONS[name]]
    first = st.lists(calls(name, *narrow, keys=keys), min_size=1, max_size=3)
    second = st.lists(calls(name, *wide, keys=keys), min_size=1, max_size=2)
    third = st.lists(calls(name, *narrow, *wide, keys=keys), max_size=2)
    asked = [Request(data.draw(first), False), Request(data.draw(second), data.draw(st.booleans()))]
    collector = Collector(name, owned)
    assert_as_at_the_owner(collector, collector.one_by_one, [*asked, Request(data.draw(third), False)])


def assert_as_at_the_owner(collector: Collector, run: Callable[[list[Request]], Any], asked: list[Request]) -> None:
    owned = collector.owned
    before, direct = copy_state(owned), copy_state(owned)
    expected = directly(direct, asked)
    assert_alike(run(asked), expected)
    assert same_state(owned, before), "to look up changes nothing"
    nothing, effects = collector.collected.effects()
    assert nothing == []
    assert all(map(collector.fetched, effects)), (effects, collector.asked)
    journal = Journal()
    journal.active = True
    bind(owned, journal)
    for effect in effects:
        apply(collector.state, owned, sent(effect))
    bind(owned, None)
    assert same_state(owned, direct), (effects, collector.asked)
    journal.rollback()
    assert same_state(owned, before), "the journal takes back what was applied"


@pytest.mark.parametrize("name", [n for n in OPERATIONS if n != "tally"])
@settings(max_examples=20)
@given(data=st.data())
def test_owners_in_flat_memory_are_as_plain_ones(name: str, data: st.DataObject) -> None:
    plain, asked = data.draw(contents(name)), data.draw(requests(name))
    direct = copy_state(plain)
    expected = directly(direct, asked)
    owned, arena = laid_out(name, plain)
    collector = Collector(name, owned)
    assert_alike(collector.from_the_start(asked), expected)
    assert same_state(copy_state(owned), plain)
    for effect in collector.collected.effects()[1]:
        apply(collector.state, owned, sent(effect))
    assert same_state(copy_state(owned), direct)
    assert same_state(part_of(collector.state, PROGRAM, sent(content(collector.state, owned))), direct)
    arena.roll_back((0, 0))
    assert same_state(copy_state(owned), plain)


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data())
def test_a_part_of_its_content_is_the_same(name: str, data: st.DataObject) -> None:
    part = data.draw(contents(name))
    state = GRAPH.state(name)
    found = content(state, part)
    again = part_of(state, PROGRAM, sent(found))
    assert same_state(again, part)
    assert same_value(look_up(state, part, Want(name, 0, "all")), found)
    operation, arguments = data.draw(calls(name))
    before = copy_state(part)
    request = [Request([(operation, arguments)], False)]
    assert_alike(directly(again, request), directly(copy_state(part), request))
    assert same_state(part, before), "they share nothing"


LARGE: dict[str, tuple[Any, Any, Operation, Want]] = {
    "a table": (
        "pairs",
        ab.Table({(i % 100, str(i)): i for i in range(10_000)}),
        lambda t, _: t.__setitem__((7, "7"), t[7, "7"] + 1),
        Want("pairs", 1, "entry", (7, "7")),
    ),
    "a line of a table": (
        "pairs",
        ab.Table({(i % 100, str(i)): i for i in range(10_000)}),
        lambda t, _: t.__setitem__((7, "7"), sum(t.row(7).values())),
        Want("pairs", 1, "line", 7),
    ),
    "a matrix": (
        "matrix",
        ab.Matrix({(i % 100, i): 1.0 for i in range(10_000)}),
        lambda m, _: m.__setitem__((7, 107), m[7, 107] + 1.0),
        Want("matrix", 1, "entry", (7, 107)),
    ),
    "a row of a matrix": (
        "matrix",
        ab.Matrix({(i % 100, i): 1.0 for i in range(10_000)}),
        lambda m, _: m.__setitem__((7, 3), m.row(7).sum()),
        Want("matrix", 1, "line", 7),
    ),
    "a column of a matrix": (
        "matrix",
        ab.Matrix({(i, i % 100): 1.0 for i in range(10_000)}),
        lambda m, _: m.__setitem__((3, 7), m.column(7).sum()),
        Want("matrix", 1, "line", 7, "column"),
    ),
}


@pytest.mark.parametrize("what", LARGE)
def test_only_what_is_touched_is_fetched_and_written(what: str) -> None:
    name, owned, operation, want = LARGE[what]
    collector = Collector(name, owned)
    arguments = Arguments(None, None, None, {}, ab.Vector())
    collector.from_the_start([Request([(operation, arguments)] * 3, False)])
    assert collector.asked == [want]
    (effect,) = collector.collected.effects()[1]
    assert effect[1] == "entry"
    if want.unit == "line":
        assert len(look_up(collector.state, owned, want)) == 100


def test_a_row_of_a_table_without_lines_is_refused_alike() -> None:
    owned = ab.Table({"b": 1, "a": 2})
    collector = Collector("words", owned)
    row = Request([(lambda t, _: t.row("a"), Arguments(None, None, None, {}, ab.Vector()))], False)
    ((expected,),) = directly(copy_state(owned), [row])
    assert expected == (TypeError, ("row(a) needs keys that are tuples of two or more, got the key 'b'",))
    assert collector.from_the_start([row]) == [[expected]]


def test_shapes_are_known_and_places_outside_are_not_asked_for() -> None:
    collected = Collected(GRAPH, PROGRAM, 1, lambda key: 0)
    dense, grid = collected.parts["dense"][0], collected.parts["grid"][0]
    assert (len(dense), len(grid), grid.shape, grid.rows()) == (3, 3, (3, 2), [0, 1, 2])
    with pytest.raises(IndexError, match=r"index 3 is outside 0\.\.2"):
        dense[3]
    with pytest.raises(IndexError, match=r"index 2 is outside 0\.\.1"):
        grid[0, 2] = 1.0
    assert collected.wanted == {}


@pytest.mark.parametrize("name", OPERATIONS)
def test_parts_are_of_the_plain_types(name: str) -> None:
    held = PROGRAM.__anabranch_states__[name]
    collected = Collected(GRAPH, PROGRAM, 2, lambda key: 0)
    part = collected.parts[name][1]
    assert isinstance(part, type(held)) and type(part).__name__ == type(held).__name__
    assert collected.of_instance[1][name] is part and collected.parts[name][0] is not part
    assert collected.owner("any") == 0
    with pytest.raises(NotHere):
        copy_state(part)
    collected.fill(Want(name, 1, "all"), content(GRAPH.state(name), held))
    assert same_state(copy_state(part), held), "also of the same type"
    freeze_state(part)
    operation = OPERATIONS[name].get("[]=") or OPERATIONS[name].get("value=") or OWN["add"]
    key = {"matrix": (1, 1), "grid": (1, 1), "pairs": (1, "a"), "triples": (1, "a", True), "deep": (1, ("a", True))}
    arguments = Arguments("a" if name == "words" else key.get(name, 1), None, None, {}, ab.Vector())
    with pytest.raises(ab.FrozenError, match=f"this {type(held).__name__} belongs to state"):
        operation(part, arguments)


def test_what_is_cleared_is_fetched_again_and_has_no_effects() -> None:
    for name in OPERATIONS:
        held, state = PROGRAM.__anabranch_states__[name], GRAPH.state(name)
        collected = Collected(GRAPH, PROGRAM, 1, lambda key: 0)
        part = collected.parts[name][0]
        for _ in range(2):
            with pytest.raises(NotHere) as raised:
                copy_state(part)
            assert raised.value.want == Want(name, 0, "all")
            assert list(collected.wanted) == [raised.value.want]
            collected.fill(raised.value.want, sent(content(state, held)))
            assert same_state(copy_state(part), held)
            if name == "tally":
                part.rename(1)
            elif name == "value":
                part.value = [5]
            elif name in ("dense", "grid"):
                part.assign(part + part + (part if name == "grid" else 1.0))
            else:
                part.clear()
            if name != "grid":  # zeros
                assert [e[:3] for e in collected.effects()[0]] == [(name, "all", None)]
            collected.clear()
            assert collected.effects() == [[]] and collected.wanted == {}


def test_a_run_of_which_nothing_stays_has_no_effects() -> None:
    collected = Collected(GRAPH, PROGRAM, 2, lambda key: 0)
    words, tally = collected.parts["words"][1], collected.parts["tally"][0]
    collected.fill(Want("words", 1, "entry", "a"), (3,))
    collected.fill(Want("tally", 0, "all"), content(GRAPH.state("tally"), Tally()))
    start = collected.mark()
    words["a"] = 4
    later = collected.mark()
    del words["a"]
    tally.add(1, 2)
    assert [[e[:3] for e in of] for of in collected.effects()] == [[("tally", "all", None)], [("words", "entry", "a")]]
    collected.rollback(later)
    assert collected.effects() == [[], [("words", "entry", "a", (4,))]]
    collected.rollback(start)
    assert collected.effects() == [[], []]
    assert words["a"] == 3 and tally.total() == ("tally", 0, [])


def test_what_user_code_cannot_catch_it_may_swallow_but_not_hide() -> None:
    collected = Collected(GRAPH, PROGRAM, 1, lambda key: 0)
    words = collected.parts["words"][0]

    def catching() -> int:
        try:
            return int(words["a"])
        except Exception:
            return 0

    def returning() -> int:
        try:
            return int(words["a"])
        finally:
            return 0  # noqa: B012, SIM107

    with pytest.raises(NotHere):
        catching()
    collected.rollback(collected.mark())
    assert collected.wanted == {}
    assert returning() == 0
    assert list(collected.wanted) == [Want("words", 0, "entry", "a")]
    with pytest.raises(AssertionError, match=r"a run that lacked .* has no effects"):
        collected.effects()


def test_operands_are_asked_for_wherever_they_stand() -> None:
    pairs: dict[str, list[Operation]] = {
        "vector": [lambda v, _: ab.Vector() + v, lambda v, _: ab.Vector().dot(v), lambda v, _: ab.Vector().assign(v)],
        "matrix": [lambda m, _: ab.Matrix() + m, lambda m, _: ab.Matrix().assign(m), lambda m, _: ab.Matrix() == m],
        "dense": [lambda v, _: ab.DenseVector([1.0] * 3) * v, lambda v, _: ab.DenseVector.zeros(3).assign(v)],
        "grid": [lambda m, _: ab.DenseMatrix.zeros(3, 2) - m, lambda m, _: ab.DenseMatrix.zeros(3, 2) == m],
        "words": [lambda t, _: ab.Table() == t, lambda t, _: ab.Table().assign(t), lambda t, _: ab.Table(t)],
        "value": [lambda v, _: ab.Value(1) == v],
    }
    for name, operations in pairs.items():
        for operation in operations:
            collected = Collected(GRAPH, PROGRAM, 1, lambda key: 0)
            with pytest.raises(NotHere) as raised:
                operation(collected.parts[name][0], None)  # type: ignore[arg-type]
            assert raised.value.want == Want(name, 0, "all")


# -- own types ---------------------------------------------------------------------------------------------------------


class Color(enum.Enum):
    RED = 1


class OwnAlone(ab.Program):
    own: ab.Partial[Tally]

    def use(self, key: int) -> int:
        return self.own.add(key, 1)


OWN_STATE = ab.compile(OwnAlone).state("own")
atoms = st.none() | st.booleans() | small | floats | short | st.binary(max_size=2) | st.dates() | st.timedeltas()
hashables = st.recursive(atoms, lambda x: st.tuples(x, x) | st.frozensets(x, max_size=2), max_leaves=4)
STATES = [
    ab.Table({(1, "a"): [2]}, default=[3]),
    ab.Table({"tuple": ("tuple", 1)}),
    ab.Vector({1: 2.0}),
    ab.Matrix({(1, 2): 3.0}),
    ab.Matrix(),
    ab.DenseVector([1.0]),
    ab.DenseMatrix([[1.0, -0.0]]),
    ab.Value([1]),
    np.array([[1, 2]], dtype=np.int8),
    np.float64(2.5),
    np.datetime64("2020-01-01"),
    Point(1, ["a"]),
    dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    ("tuple", ("Table", (), {})),
    2**70,
]
anything = st.recursive(
    hashables | st.sampled_from(STATES).map(copy.deepcopy),
    lambda x: (
        st.lists(x, max_size=3)
        | st.tuples(x, x)
        | st.dictionaries(hashables, x, max_size=2)
        | st.sets(hashables, max_size=2)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "_c"]), anything))
def test_attributes_of_own_types_come_back(attributes: dict[str, Any]) -> None:
    own = Tally()
    vars(own).update(copy.deepcopy(attributes))
    program = OwnAlone()
    again = part_of(OWN_STATE, program, copy.deepcopy(content(OWN_STATE, own)))
    assert type(again) is Tally
    assert shown(vars(again)) == shown(vars(own))


def shown(x: Any) -> Any:
    """The value with its types, at every depth."""
    match x:
        case dict():
            return type(x), sorted(((shown(k), shown(v)) for k, v in x.items()), key=repr)
        case list() | tuple():
            return type(x), [shown(item) for item in x]
        case set() | frozenset():
            return type(x), sorted((shown(item) for item in x), key=repr)
        case np.ndarray():
            return type(x), str(x.dtype), x.tolist()
    return type(x), repr(x)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (Color.RED, r"Tally\.bad cannot be sent to another process or stored: got .*Color.*only its own code knows"),
        ([1, {"k": object()}], r"Tally\.bad\[1\]\['k'\] cannot be .*; how to make another object"),
        (np.array([object()]), r"Tally\.bad cannot be sent .* keep numbers, text"),
        (dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), r"write \.astimezone\(timezone\.utc\)"),
        ([[]] * 2, r"Tally\.bad\[1\] cannot .* it is the same object as Tally\.bad\[0\] and would come back as two"),
    ],
)
def test_what_cannot_be_sent_is_said(value: Any, problem: str) -> None:
    own = Tally()
    own.bad = value  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=problem):
        content(OWN_STATE, own)
