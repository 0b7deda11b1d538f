"""A request that is cut off in its middle: nothing of it has happened, and it happens once."""

from __future__ import annotations

import threading

import pytest

import anabranch as ab
from anabranch import testing
from anabranch.drivers.desk import Desk
from anabranch.testing import Disturbance, Kit

ROWS = 100  # too many to run on the thread of the caller
BUSY, GO = threading.Event(), threading.Event()
SEEN: list[int] = []


@ab.pure
def hold(x: int) -> int:
    SEEN.append(x)
    BUSY.set()
    assert GO.wait(60.0)
    return x


class Slow(ab.Program):
    sums: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def add(self, key: int, x: int) -> int:
        self.sums[key] += hold(x)
        return self.sums[key]


def crash_while_it_runs(kit: Kit) -> None:
    assert BUSY.wait(60.0)
    kit.crash()


@pytest.mark.parametrize("durability", ["epoch", "snapshot"])
def test_a_request_is_cut_off_and_repeated(durability: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BUSY.clear(), GO.clear(), SEEN.clear()
    crash = Desk.crash

    def crash_and_go_on(desk: Desk, error: BaseException) -> None:
        crash(desk, error)
        GO.set()  # the thread goes on, and what it does counts no more

    monkeypatch.setattr(Desk, "crash", crash_and_go_on)
    with testing.app(Slow(), saved=True, tier="python", durability=durability) as kit:
        kit.at(0, Disturbance("crash while it runs", crash_while_it_runs, "app", beside=True))
        found = kit.add.many([(1, 1)] * ROWS)
        assert found == list(range(1, ROWS + 1))
        assert kit.recovery is not None and len(SEEN) == 2 * ROWS
        kit.crash()
        assert kit.peek("sums", 1) == (ROWS if durability == "epoch" else 0)
