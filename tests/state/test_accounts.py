"""Bytes of plain states, counted from the journal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.lang.journal import Journal
from anabranch.lang.marks import bind
from anabranch.state.accounts import Account
from anabranch.state.sizes import size_of


class Bag:
    """An own type."""

    def __init__(self) -> None:
        self.items: list[str] = []

    @ab.writes
    def put(self, text: str) -> None:
        self.items = [*self.items, text]


def parts() -> dict[str, Any]:
    return {"table": ab.Table(), "vector": ab.Vector(), "matrix": ab.Matrix(), "value": ab.Value(""), "bag": Bag()}


def write(held: dict[str, Any], what: str, key: int, text: str) -> None:
    match what:
        case "table":
            held["table"][key] = text
        case "removed":
            held["table"].pop(key, None)
        case "cleared":
            held["table"].assign({})
        case "vector":
            held["vector"][key] = float(len(text) % 2)
        case "matrix":
            held["matrix"][key, key + 1] = float(len(text) % 2)
        case "value":
            held["value"].assign(text)
        case "bag":
            held["bag"].put(text)


texts = st.sampled_from(["", "x", "x" * 100, "x" * 10_000])
steps = st.tuples(
    st.sampled_from("table removed cleared vector matrix value bag count mark back".split()), st.integers(0, 9), texts
)


@settings(max_examples=100, deadline=None)
@given(st.lists(steps, max_size=40))
def test_going_back_gives_the_bytes_at_the_mark(todo: list[tuple[str, int, str]]) -> None:
    held, journal = parts(), Journal()
    for part in held.values():
        bind(part, journal)
    account = Account(held)
    journal.active = True
    marks: list[tuple[int, dict[str, int]]] = []
    for what, key, text in [*todo, ("count", 0, "")]:
        if what == "count":
            account.count(journal)
        elif what == "mark":
            account.count(journal)
            marks.append((journal.mark(), dict(account._content)))
        elif what == "back" and marks:
            mark, known = marks.pop()
            journal.rollback(mark)
            account.back(mark)
            account.count(journal)
            assert account._content == known
        else:
            write(held, what, key, text)
    journal.rollback(0)
    account.back(0)
    assert account._content == Account(held)._content and account.undo == 0


@settings(max_examples=50, deadline=None)
@given(st.lists(steps, max_size=40))
def test_what_is_counted_is_near_what_a_look_finds(todo: list[tuple[str, int, str]]) -> None:
    held, journal = parts(), Journal()
    for part in held.values():
        bind(part, journal)
    account = Account(held)
    journal.active = True
    for what, key, text in todo:
        write(held, what, key, text)
        account.count(journal)
    found, known = account.sizes, {name: size_of(part) for name, part in held.items()}
    for name in ("table", "value", "bag"):
        assert found[name] == known[name], name
    for name in ("vector", "matrix"):
        assert abs(found[name] - known[name]) < 4000, name


@pytest.mark.parametrize("state", [ab.Table(), ab.Vector(), ab.Matrix()])
def test_many_entries_are_counted_well(state: Any) -> None:
    journal = Journal()
    bind(state, journal)
    account = Account({"state": state})
    journal.active = True
    for i in range(20_000):
        state[(i // 40, i % 40) if isinstance(state, ab.Matrix) else i] = i + 0.5
    account.count(journal)
    assert 0.7 < account.total / size_of(state) < 1.4


def test_a_dict_that_was_made_to_grow_is_made_anew() -> None:
    table: ab.Table[int, int] = ab.Table({i: i for i in range(21_845)})  # one more, and its dict doubles
    journal = Journal()
    bind(table, journal)
    account = Account({"table": table})
    before = account.total
    journal.active = True
    table[-1] = 1
    assert account.count(journal) and account.total > before + 500_000
    journal.rollback(0)
    account.back(0)
    assert account.total > before
    assert not account.tidy()  # nobody was refused
    account.pressed = True
    assert not account.tidy()  # there is as much room as there was before, and no more
    assert account.total == before
