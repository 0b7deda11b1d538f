"""Spread a state over instances and put it together again: nothing is lost, nothing is there twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.lang.marks import same_state
from anabranch.runtime.routing import spread_evenly
from anabranch.state.parts import entry_keys, place_of, spread, together


class Everything(ab.Program):
    words: ab.Partitioned[ab.Table[str, int]]
    pairs: ab.Partitioned[ab.Table[tuple[int, str], int]]
    rows: ab.Partitioned[ab.Matrix]
    columns: ab.Partitioned[ab.Matrix]
    vector: ab.Partitioned[ab.Vector]
    rules: ab.Replicated[ab.Table[int, int]]
    sums: ab.Partial[ab.Vector]

    def use(self, i: int, w: str) -> None:
        self.words[w] = 1
        self.vector[i] = 1.0

    def use_rows(self, i: int, w: str) -> int:
        return len(self.rows.row(i)) + len(self.pairs.row(i))

    def use_columns(self, i: int) -> int:
        return len(self.columns.column(i))


GRAPH = ab.compile(Everything)
small = st.integers(-3, 5)
CONTENTS = {
    "words": st.dictionaries(st.text(max_size=3), small).map(ab.Table),
    "pairs": st.dictionaries(st.tuples(small, st.text(max_size=2)), small).map(ab.Table),
    "rows": st.dictionaries(st.tuples(small, small), st.floats(1, 9)).map(ab.Matrix),
    "columns": st.dictionaries(st.tuples(small, small), st.floats(1, 9)).map(ab.Matrix),
    "vector": st.dictionaries(small, st.floats(1, 9)).map(ab.Vector),
    "rules": st.dictionaries(small, small).map(ab.Table),
    "sums": st.dictionaries(small, st.floats(1, 9)).map(ab.Vector),
}


@given(st.data(), st.sampled_from([n for n in CONTENTS if n != "sums"]), st.integers(1, 5))
def test_spread_and_together_are_inverse(data: st.DataObject, name: str, instances: int) -> None:
    state, owner = GRAPH.state(name), spread_evenly(instances).owner
    start = data.draw(CONTENTS[name])
    parts = spread(state, start, type(start)(), None, instances, owner)
    assert len(parts) == instances
    assert same_state(together(state, parts, owner, None), start)
    if state.distribution.value == "Partitioned":
        for i, part in enumerate(parts):
            assert all(owner(place_of(state, key)) == i for key in entry_keys(part))
        assert sum(len(part) for part in parts) == len(start)


@given(CONTENTS["sums"], CONTENTS["sums"], st.integers(1, 5))
def test_an_instance_of_partial_state_starts_from_the_template(
    start: ab.Vector, template: ab.Vector, instances: int
) -> None:
    state, owner = GRAPH.state("sums"), spread_evenly(instances).owner
    parts = spread(state, start, template, ab.add, instances, owner)
    assert same_state(parts[0], start) and all(same_state(part, template) for part in parts[1:])
    parts = spread(state, start, template, ab.mean, instances, owner)
    assert all(same_state(part, start) for part in parts)
    parts[0][99] = 1.0
    assert all(99 not in part for part in parts[1:]) and 99 not in start, "they share nothing"
    assert together(state, parts, owner, ab.add)[99] == 1.0


class Tally:
    def __init__(self, start: dict[int, int] | None = None) -> None:
        self.data = dict(start or {})

    @ab.writes
    def add(self, key: int, by: int) -> None:
        self.data[key] = self.data.get(key, 0) + by

    @ab.reads
    def total(self) -> int:
        return sum(self.data.values())


class Tallies(ab.Program):
    tally: ab.Partitioned[Tally]

    def __init__(self, start: dict[int, int]) -> None:
        self.tally = Tally(start)

    def add(self, key: int, by: int) -> None:
        self.tally.add(key, by)

    def total(self) -> int:
        return sum(ab.gather(ab.everywhere(self.tally).total()))


def test_entries_that_only_an_own_type_knows_are_not_spread() -> None:
    with ab.run(Tallies({}), workers=3) as app:
        app.add.many([(1, 2), (2, 3), (3, 4)])
        assert app.total() == 9
    with ab.run(Tallies({1: 5}), workers=1) as app:
        assert app.total() == 5
    with pytest.raises(ab.ProgramError, match=r"tally is partitioned and starts as .*fill it by an entry"):
        ab.run(Tallies({1: 5}), workers=2)
