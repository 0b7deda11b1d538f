"""What runs on collected copies gives, raises and leaves what it would at the owners, and asks for little."""

from __future__ import annotations

import copy
import datetime as dt
import enum
from collections.abc import Callable
from typing import Any

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
from tests.kernels.native.flat import assert_alike
from tests.state.operations import (
    GRAPH,
    KEYS,
    OPERATIONS,
    OWN,
    PROGRAM,
    Arguments,
    Operation,
    Point,
    Request,
    Tally,
    answers,
    calls,
    contents,
    directly,
    floats,
    requests,
    short,
    small,
)


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
