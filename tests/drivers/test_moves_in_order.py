"""What is sent in a move is placed in that order, whatever the order in which it comes."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

from anabranch.drivers.moving import Moved
from anabranch.drivers.scaling.at_worker import Moves, _Move
from anabranch.runtime.routing import BUCKETS, Routing


class Noting:
    """As a successor; says what it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def put(self, moved: Moved) -> None:
        self.given.append(moved.instance)

    def wait_for_room(self) -> None:
        """There is always some."""


def begun(*sources: int) -> tuple[_Move, Noting]:
    move, successor = _Move(7, Routing((0,) * BUCKETS, (0,), 1), sources), Noting()
    unchecked: Any = successor
    move.successor, move._ready = unchecked, True
    return move, successor


def moved(n: int) -> Moved:
    return Moved("counts", n, False, pa.record_batch({"key": [n]}))


@pytest.mark.parametrize("turns", list(permutations(range(4))))
def test_any_order(turns: tuple[int, ...]) -> None:
    move, successor = begun(1)
    move.ended(1, 4)
    for n, turn in enumerate(turns):
        assert not move._all_here, f"after {n}"
        move.came(1, turn, moved(turn))
    assert successor.given == [0, 1, 2, 3]
    assert move._all_here


def test_what_is_lost_is_missed_though_more_comes() -> None:
    move, successor = begun(1)
    for turn in (0, 2, 3):
        move.came(1, turn, moved(turn))
    move.ended(1, 4)
    assert successor.given == [0] and not move._all_here


def test_sources_do_not_wait_for_each_other() -> None:
    move, successor = begun(1, 2)
    move.came(1, 1, moved(11))
    move.came(2, 0, moved(20))
    move.came(1, 0, moved(10))
    assert successor.given == [20, 10, 11]
    move.ended(1, 2)
    assert not move._all_here
    move.ended(2, 1)
    assert move._all_here


@pytest.mark.parametrize("number", [6, 8])
def test_what_comes_of_another_move_is_dropped(number: int) -> None:
    move, successor = begun(1)
    moves = Moves.__new__(Moves)
    moves._at = move
    moves._take(number, 1, 0, moved(60))
    assert successor.given == []
    moves._take(7, 1, 0, moved(70))
    assert successor.given == [70]
