"""What is written can be saved as rows, and rows give it back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.drivers.durable.owns import Owns
from anabranch.lang.journal import Journal
from anabranch.lang.marks import bind, copy_state, same_state
from anabranch.state.changes import apply_rows, rows_of, schema_of, slices, written
from tests.state.operations import GRAPH, OPERATIONS, PROGRAM, Request, answers, contents, requests

OWN = Owns(GRAPH)


def run(part: Any, journal: Journal, asked: list[Request]) -> None:
    for request in asked:
        mark = journal.mark()
        answers(part, request)
        if request.refused:
            journal.rollback(mark)


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data())
def test_what_was_before_and_the_changes_are_what_is_after(name: str, data: st.DataObject) -> None:
    state, part = GRAPH.state(name), data.draw(contents(name))
    before, journal = copy_state(part), Journal()
    journal.active = True
    bind(part, journal)
    run(part, journal, data.draw(requests(name)))
    touched = written(journal, {name: part})
    if name not in touched:
        assert same_state(before, part)
        return
    keys = touched[name]
    rows = rows_of(state, part, keys, OWN)
    assert rows.schema == schema_of(state)
    for _ in range(2):
        apply_rows(state, before, rows, keys is None, OWN)
        bind(part, None)
        assert same_state(before, part)


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data(), size=st.integers(1, 4))
def test_slices_of_a_part_that_changes_and_its_changes_are_what_is_after(
    name: str, data: st.DataObject, size: int
) -> None:
    state, part = GRAPH.state(name), data.draw(contents(name))
    journal, restored = Journal(), copy_state(PROGRAM.__anabranch_states__[name])
    if isinstance(restored, ab.Table | ab.Vector | ab.Matrix):
        restored.clear()
    journal.active = True
    bind(part, journal)
    for rows in slices(state, part, OWN, size):
        apply_rows(state, restored, rows, False, OWN)
        run(part, journal, data.draw(requests(name)))
    for state_name, keys in written(journal, {name: part}).items():
        assert state_name == name
        apply_rows(state, restored, rows_of(state, part, keys, OWN), keys is None, OWN)
    bind(part, None)
    assert same_state(restored, part)


def test_only_what_is_written_is_saved() -> None:
    state, table = GRAPH.state("words"), ab.Table({str(i): i for i in range(1000)})
    journal = Journal()
    journal.active = True
    bind(table, journal)
    table["7"] = 8
    del table["9"]
    rows = rows_of(state, table, written(journal, {"words": table})["words"], OWN)
    assert rows.to_pylist() == [
        {"key": "7", "value": 8, "present": True},
        {"key": "9", "value": None, "present": False},
    ]
