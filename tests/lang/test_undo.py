"""Law: whatever was written since a mark, a rollback to it brings back what was."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.lang.journal import Journal
from anabranch.lang.marks import bind, copy_state, is_state_type, same_state

SMALL = st.integers(0, 3)
NUMBER = st.sampled_from([0.0, -0.0, 1.0, 2.5])


class Bag:
    """An own state type."""

    def __init__(self) -> None:
        self.held: dict[int, list[float]] = {}

    @ab.reads
    def of(self, key: int) -> list[float]:
        return self.held.get(key, [])

    @ab.writes
    def put(self, key: int, x: float) -> int:
        self.held.setdefault(key, []).append(x)
        return len(self.held[key])

    @ab.writes
    def drop(self, key: int) -> None:
        self.held.pop(key, None)
        self.gone = key


def start() -> dict[str, Any]:
    bag = Bag()
    bag.put(1, 1.0)
    return {
        "vector": ab.Vector({1: 1.0}),
        "matrix": ab.Matrix({(1, 1): 1.0, (2, 1): 3.0}),
        "dense": ab.DenseVector([1.0, 2.0, 3.0, 4.0]),
        "grid": ab.DenseMatrix([[1.0] * 4] * 4),
        "table": ab.Table({(1, 1): [1.0]}),
        "value": ab.Value([1.0]),
        "bag": bag,
    }


def steps(i: int, j: int, x: float) -> dict[str, list[Any]]:
    return {
        "vector": [lambda s: s.__setitem__(i, x), lambda s: s.clear(), lambda s: s.assign({i: x}), lambda s: s.items()],
        "matrix": [
            lambda s: s.__setitem__((i, j), x),
            lambda s: s.set_row(i, ab.Vector({j: x})),
            lambda s: s.clear(),
            lambda s: s.assign(ab.Matrix({(i, j): x})),
            lambda s: s.column(j),
        ],
        "dense": [lambda s: s.__setitem__(i, x), lambda s: s.assign([x] * 4)],
        "grid": [
            lambda s: s.__setitem__((i, j), x),
            lambda s: s.set_row(i, ab.DenseVector([x] * 4)),
            lambda s: s.assign([[x] * 4] * 4),
        ],
        "table": [
            lambda s: s.__setitem__((i, j), [x]),
            lambda s: s.pop((i, j), None),
            lambda s: s.setdefault((i, j), [x]),
            lambda s: s.clear(),
            lambda s: s.assign({(i, j): [x]}),
            lambda s: s.row(i),
        ],
        "value": [lambda s: setattr(s, "value", [x]), lambda s: s.assign([x, x])],
        "bag": [lambda s: s.put(i, x), lambda s: s.drop(i), lambda s: s.of(i)],
    }


WRITES = st.lists(st.tuples(SMALL, SMALL, NUMBER, st.integers(0, 5)), max_size=8)


def write(states: dict[str, Any], writes: list[tuple[int, int, float, int]]) -> None:
    for i, j, x, which in writes:
        for name, choices in steps(i, j, x).items():
            choices[which % len(choices)](states[name])


def check(states: dict[str, Any], kept: dict[str, Any]) -> None:
    for name, state in states.items():
        assert same_state(state, kept[name]), name
    for k in range(4):
        assert states["matrix"].column(k) == kept["matrix"].column(k)
        assert states["matrix"].row(k) == kept["matrix"].row(k)
        assert states["table"].row(k) == kept["table"].row(k)


@given(WRITES, WRITES, WRITES)
def test_rollback_to_any_mark(
    first: list[tuple[int, int, float, int]],
    second: list[tuple[int, int, float, int]],
    third: list[tuple[int, int, float, int]],
) -> None:
    states, journal = start(), Journal()
    for state in states.values():
        bind(state, journal)
    journal.active = True
    outer, before = journal.mark(), {n: copy_state(s) for n, s in states.items()}
    write(states, first)
    inner, between = journal.mark(), {n: copy_state(s) for n, s in states.items()}
    write(states, second)
    journal.rollback(inner)
    check(states, between)
    write(states, third)
    journal.rollback(outer)
    check(states, before)
    assert len(journal) == 0


def test_inactive_journals_record_nothing() -> None:
    vector, journal = ab.Vector(), Journal()
    bind(vector, journal)
    vector[1] = 1.0
    assert len(journal) == 0
    journal.rollback()
    assert vector[1] == 1.0


def test_own_types_hand_out_frozen_values() -> None:
    bag = Bag()
    assert is_state_type(Bag) and not is_state_type(int) and not is_state_type(dict)
    assert bag.put(1, 2.0) == 1
    with pytest.raises(ab.FrozenError):
        bag.of(1).append(3.0)
    assert bag.held == {1: [2.0]}
    twin = copy_state(bag)
    twin.put(1, 3.0)
    assert bag.of(1) == [2.0] and not same_state(bag, twin)
