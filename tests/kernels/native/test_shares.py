"""Each worker gets the rows that start at it, and all of them together do what one does with the whole batch."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels import PythonCode
from anabranch.kernels.native.blocks import block_of
from anabranch.kernels.native.layout import NotInKernels, fits
from anabranch.kernels.native.shares import shares
from anabranch.lang.entry import bind_call
from anabranch.lang.marks import same_state
from anabranch.lang.spec import describe
from anabranch.runtime.plan import make_plan
from anabranch.runtime.rows import Start
from anabranch.testing.outcomes import canonical
from tests.kernels.harness import PythonApp
from tests.kernels.native.flat import KEYS, VALUES, assert_alike
from tests.kernels.native.spaces import Space, routing_of
from tests.programs.load import good, load, program_of

few = settings(max_examples=settings().max_examples // 5)


class Card(NamedTuple):
    owner: tuple[str, int]
    number: bytes
    valid: bool


@lru_cache
def keyed(key: Any) -> type[ab.Program]:
    class Keyed(ab.Program):
        count: ab.Partitioned[ab.Table[key, int]] = ab.Table(default=0)  # type: ignore[valid-type]

        def see(self, before: list[str], key: key, after: str | None) -> int:  # type: ignore[valid-type]
            self.count[key] += 1
            return self.count[key]

    return Keyed


class Odd(ab.Program):
    """Keys of other forms."""

    count: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    names: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    both: ab.Partitioned[ab.Table[tuple[str, int], int]] = ab.Table(default=0)
    cards: ab.Partitioned[ab.Table[tuple[bytes, bool, tuple[str, int]], int]] = ab.Table(default=0)
    total: ab.Partial[ab.Value[int]] = ab.Value(0)
    rules: ab.Replicated[ab.Table[str, int]]

    def __init__(self, place: str = "here") -> None:
        self.place = place

    def constant(self, x: int) -> None:
        self.count[3] += x

    def config(self, x: int) -> None:
        self.names[self.place] += x

    def mixed(self, x: int) -> None:
        self.both[self.place, x] += 1

    def field(self, x: int, card: Card) -> None:
        self.cards[card.number, card.valid, card.owner] += 1

    def item(self, pair: tuple[int, tuple[str, int]]) -> None:
        self.both[pair[1]] += pair[0]

    def inner(self, card: Card) -> None:
        self.names[card.owner[0]] += 1

    def here(self, x: int) -> None:
        self.total.value += x

    def set_rule(self, name: str, x: int) -> None:
        ab.everywhere(self.rules)[name] = x


ODD: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "constant": st.tuples(VALUES[int]),
    "config": st.tuples(VALUES[int]),
    "mixed": st.tuples(VALUES[int]),
    "field": st.tuples(VALUES[int], st.builds(Card, st.tuples(VALUES[str], VALUES[int]), VALUES[bytes], st.booleans())),
    "item": st.tuples(st.tuples(VALUES[int], st.tuples(VALUES[str], VALUES[int]))),
    "inner": st.tuples(st.builds(Card, st.tuples(VALUES[str], VALUES[int]), VALUES[bytes], st.booleans())),
    "here": st.tuples(VALUES[int]),
}
ROUTINGS = [(0,), (0, 0, 0), (0, 1), (1, 0, 1, 1, 0), (0, 1, 2), (0, 1, 2, 2, 0, 1, 1)]
some_routing = st.sampled_from(ROUTINGS)


graph_of = lru_cache(ab.compile)


def assert_dealt(program: ab.Program, entry: str, rows: list[Any], sequence: int, where: tuple[int, ...]) -> None:
    """The shares are what `Start` says, row by row."""
    graph, routing = graph_of(type(program)), routing_of(*where)
    node = graph.entry(entry)
    start = Start(graph, node, PythonCode(graph, program), routing)
    block = block_of([p.type for p in node.parameters], rows)
    dealt = shares(graph, entry, program, block, sequence, routing)
    wanted: list[list[Any]] = [[] for _ in range(routing.workers)]
    for i, row in enumerate(rows):
        for worker in {routing.worker_of(r.instance) for r in start.rows(sequence + i, row)}:
            wanted[worker].append((sequence + i, row))
    assert len(dealt) == routing.workers
    for share, expected in zip(dealt, wanted, strict=True):
        assert share.sequences.tolist() == [s for s, _ in expected] and share.sequences.dtype == np.int64
        assert_alike(list(share), [row for _, row in expected])


@pytest.mark.parametrize("key", list(KEYS), ids=str)
@few
@given(data=st.data())
def test_keys_of_every_type(key: Any, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(VALUES[list[str]], KEYS[key], VALUES[str | None]), max_size=12))
    assert_dealt(keyed(key)(), "see", rows, data.draw(st.integers(0, 2**40)), data.draw(some_routing))


@pytest.mark.parametrize("entry", list(ODD))
@few
@given(data=st.data())
def test_keys_of_every_form(entry: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(ODD[entry], max_size=12)) * data.draw(st.sampled_from([1, 20]))
    place = data.draw(VALUES[str])
    assert_dealt(Odd(place), entry, rows, data.draw(st.integers(0, 2**40)), data.draw(some_routing))


def test_an_entry_that_starts_everywhere() -> None:
    assert_dealt(Odd(), "set_rule", [("a", 1), ("b", 2)], 9, (0, 1, 2, 2))


def test_keys_that_are_computed_are_asked_for() -> None:
    program = Odd()
    graph, routing = ab.compile(Odd), routing_of(0, 1, 2)
    block = block_of([p.type for p in graph.entry("config").parameters], [(i,) for i in range(9)])
    del program.__dict__["place"]
    with pytest.raises(NotInKernels, match="place was never set"):
        shares(graph, "config", program, block, 60, routing)
    start = Start(graph, graph.entry("config"), PythonCode(graph, program), routing)
    dealt = shares(graph, "config", program, block, 60, routing, start.instance)
    for worker, share in enumerate(dealt):
        found = [(60 + i, (i,)) for i in range(9) if routing.worker_of(routing.home(60 + i)) == worker]
        assert list(zip(share.sequences.tolist(), share, strict=True)) == found


# -- running ----------------------------------------------------------------------------------------------------------

PROGRAMS = (
    "ab_counters bank_statement config_rules fraud friend_feed inverted_index promo reservation wordcount".split()
)


def staged(program: ab.Program, instances: int) -> list[str]:
    """The entries that have kernels for their stages."""
    from anabranch.kernels.native.code import Fallback, NativeCode

    graph = ab.compile(type(program))
    code = NativeCode(graph, program, instances, lambda entry: make_plan(graph, [entry]))
    return [
        e.name
        for e in graph.entries
        if all(fits(p.type) for p in e.parameters) and not isinstance(code.written_stages(e.name), Fallback)
    ]


@pytest.mark.parametrize("where", [(0, 0, 0), (0, 1), (1, 0, 1, 1, 0), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("path", [p for p in good() if p.stem in PROGRAMS], ids=lambda p: p.stem)
def test_shares_do_what_the_whole_batch_does(path: Path, where: tuple[int, ...]) -> None:
    module, routing = load(path), routing_of(*where)
    cls = program_of(module)
    entries, specs = staged(cls(), len(where)), describe(cls).entries
    python = PythonApp(cls(), len(where), assignment=lambda bucket: routing.instance_of_bucket[bucket])
    whole, dealt = Space(cls(), routing, entries), Space(cls(), routing, entries)
    for entry in dict.fromkeys(name for name, _ in module.CALLS if name in entries):
        calls = [args for name, args in module.CALLS if name == entry] * 60
        sequence, rows, wanted = python.sequence, [], []
        for args in calls[:200]:
            try:
                wanted.append(getattr(python, entry)(*args))
            except Exception:  # of the program: such a row is no part of the batch
                continue
            rows.append(bind_call(specs[entry], args, {}))
        block = block_of([p.type for p in whole.graph.entry(entry).parameters], rows)
        one = whole.run(entry, [block] * routing.workers, sequence, len(rows), False)
        all_of_them = dealt.run(entry, dealt.shares(entry, block, sequence), sequence, len(rows), True)
        assert canonical(one) == canonical(all_of_them) == canonical(wanted), entry
    for one_of, other in zip(whole.content(), dealt.content(), strict=True):
        for name, state in one_of.items():
            assert same_state(state, other[name]), name


class Homes(ab.Program):
    """Each instance counts the rows it got; one in ten is left to the Python tier."""

    rows: ab.Partial[ab.Value[int]] = ab.Value(0)
    last: ab.Partial[ab.Value[int]] = ab.Value(0)

    def see(self, x: int) -> int:
        self.rows.value += 1
        self.last.value = (x * x) % 1009
        return self.rows.value


@pytest.mark.parametrize("where", [(0, 0, 0), (0, 1), (1, 0, 1, 1, 0)], ids=str)
def test_rows_without_a_key_stay_at_their_homes(where: tuple[int, ...]) -> None:
    routing = routing_of(*where)
    whole, dealt = Space(Homes(), routing, ["see"]), Space(Homes(), routing, ["see"])
    block = block_of(
        [p.type for p in whole.graph.entry("see").parameters], [(2**40 if i % 10 == 0 else i,) for i in range(1000)]
    )
    one = whole.run("see", [block] * routing.workers, 37, 1000, False)
    assert one == dealt.run("see", dealt.shares("see", block, 37), 37, 1000, True)
    found = [content["rows"].value for content in dealt.content()]
    assert found == [sum(routing.home(37 + i) == instance for i in range(1000)) for instance in range(len(where))]
