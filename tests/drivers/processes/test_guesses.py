"""Rows that run on a state that lacks what rows before them write: they end, and nobody believes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import anabranch as ab
from tests.drivers.processes.tools import Call, all_end, start


class Step:
    """A state type of a user whose method loops until a write of an earlier row has been seen."""

    def __init__(self) -> None:
        self.step: dict[str, int] = {}

    @ab.writes
    def put(self, key: str, step: int) -> None:
        self.step[key] = step

    @ab.reads
    def turns(self, key: str, far: int) -> int:
        turns = 0
        while far > 0:
            far -= self.step.get(key, 0)
            turns += 1
        return turns


@ab.pure
def turns(far: int, step: int) -> int:
    found = 0
    while far > 0:
        far -= step
        found += 1
    return found


class Walks(ab.Program):
    """`set` comes before what needs it: then every loop ends."""

    step: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    paid: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    steps: ab.Partitioned[Step]

    def loop(self, a: str, b: str, step: int, far: int) -> int:
        self._set(a, step)
        self.paid[b] += far
        found = 0
        while far > 0:
            far -= self.step[a]
            found += 1
        return found

    def helper(self, a: str, b: str, step: int, far: int) -> int:
        self._set(a, step)
        self.paid[b] += far
        return self._turns(far, self.step[a])

    def foreign(self, a: str, b: str, step: int, far: int) -> int:
        self._set(a, step)
        self.paid[b] += far
        return turns(far, self.step[a])

    def own(self, a: str, b: str, step: int, far: int) -> int:
        if step > 0:
            self.steps.put(a, step)
        self.paid[b] += far
        return self.steps.turns(a, far)

    def large(self, a: str, b: str, step: int, far: int) -> int:
        """Without the step before, a list for which no memory suffices."""
        self._set(a, step)
        self.paid[b] += far
        return len([0] * (far if self.step[a] else 10**11))

    def follow(self, a: str, b: str, step: int, far: int) -> int:
        """Each row needs what the one before has written."""
        self._set(a, step)
        found = 0
        while far > 0:
            far -= self.step[a]
            found += 1
        self.step[b] = self.step[a]
        return found

    def _set(self, a: str, step: int) -> None:
        if step > 0:
            self.step[a] = step

    def _turns(self, far: int, step: int) -> int:
        found = 0
        while far > 0:
            far -= step
            found += 1
        return found


ENTRIES = ("loop", "helper", "foreign", "own", "large")


@pytest.fixture(scope="module")
def app() -> Iterator[Any]:
    app = start(Walks())
    with all_end(app):
        yield app


def rows(name: str, number: int) -> list[tuple[str, str, int, int]]:
    """An account whose step is set by the first row alone, and banks at all workers."""
    return [(name, f"bank {i}", 7 if i == 0 else 0, 20 + i) for i in range(number)]


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("number", [2, 9, 65])
def test_a_loop_that_ends_thanks_to_an_earlier_row_ends(app: Any, entry: str, number: int) -> None:
    given = rows(f"{entry} {number}", number)
    assert Call(lambda: app.entries[entry].many(given)).done() == Walks().entries[entry].many(given)


def test_where_each_row_needs_the_one_before_they_run_one_after_the_other(app: Any) -> None:
    given = [(f"chain {i}", f"chain {i + 1}", 3 if i == 0 else 0, 10) for i in range(400)]
    assert Call(lambda: app.follow.many(given)).done() == Walks().follow.many(given)


def test_a_row_that_fails_behind_guesses_fails_as_in_a_plain_run(app: Any) -> None:
    given = [("failing", "bank", 2**61, 2**62)] * 2
    with pytest.raises(OverflowError):
        Walks().loop.many(given)
    with pytest.raises(OverflowError):
        Call(lambda: app.loop.many(given)).done()
    assert app.state.step["failing"] == 0
    assert Call(lambda: app.loop.many(rows("failing", 5))).done() == Walks().loop.many(rows("failing", 5))


def test_requests_of_one_epoch_need_each_other(app: Any) -> None:
    """The step is set by a call, and those that need it come at the same time or later."""
    calls = [Call(lambda: app.loop("together", "bank", 5, 20)) for _ in range(8)]
    assert {call.done() for call in calls} == {4}
    assert Call(lambda: app.loop.many(rows("together", 40)[1:])).done() == [
        -(-far // 5) for _, _, _, far in rows("together", 40)[1:]
    ]
