"""A clock that is set by hand: what is due is done when `advance` comes back, and never before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch import testing
from anabranch.drivers.clock import Clock, SystemClock
from anabranch.testing import SetClock, clock
from tests.testing.programs import Shop

Seen = list[tuple[float, float]]


@pytest.fixture
def end() -> Iterator[threading.Event]:
    """Of the threads of a test."""
    found = threading.Event()
    yield found
    found.set()


def every(time: Clock, seconds: float, seen: Seen, end: threading.Event) -> None:
    def work() -> None:
        while not time.wait(end, seconds):
            seen.append((time.now(), seconds))

    time.start(work, f"every {seconds} s")


def test_what_is_due_is_done_in_its_order(end: threading.Event) -> None:
    time, seen = SetClock(), Seen()
    every(time, 2.0, seen, end)
    every(time, 3.0, seen, end)
    time.advance(1.9)
    assert seen == []
    time.advance(0.1)
    assert seen == [(2.0, 2.0)]
    time.advance(3.9)
    assert seen == [(2.0, 2.0), (3.0, 3.0), (4.0, 2.0)]
    time.advance(0.1)
    assert sorted(seen[3:]) == [(6.0, 2.0), (6.0, 3.0)]
    assert time.now() == pytest.approx(6.0)


def test_sums_of_floats_miss_nothing(end: threading.Event) -> None:
    time, seen = SetClock(), Seen()
    every(time, 0.1, seen, end)
    for _ in range(100):
        time.advance(0.1)
    assert len(seen) == 100


def test_a_thread_that_has_ended_is_not_waited_for(end: threading.Event) -> None:
    time, seen = SetClock(), Seen()
    every(time, 1.0, seen, end)
    time.advance(1.0)
    end.set()
    time.advance(5.0)
    assert len(seen) == 1


def test_a_thread_that_is_not_done_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "PATIENCE", 0.05)
    time, go = SetClock(), threading.Event()

    def work() -> None:
        go.wait(60.0)

    time.start(work, "slow")
    with pytest.raises(TimeoutError, match=r"slow: not done after 0\.05 s"):
        time.advance(1.0)
    go.set()


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        SetClock().advance(-1.0)


@pytest.mark.parametrize("time", [SystemClock(), SetClock()], ids=["system", "set"])
def test_an_event_ends_the_waiting(time: Clock) -> None:
    event, found = threading.Event(), list[bool]()
    thread = time.start(lambda: found.append(time.wait(event, 1e6)), "waits")
    event.set()
    thread.join(60.0)
    assert found == [True]


@pytest.mark.parametrize("hosts", ["threads", "processes"])
def test_snapshots_go_by_it(hosts: str, tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"

    def snapshots() -> int:
        return len(list(manifests.iterdir())) if manifests.exists() else 0

    with testing.app(Shop(), hosts=hosts, checkpoint=tmp_path, snapshot_every=600.0) as kit:
        before = snapshots()
        kit.deliver("tea", 5)
        kit.clock.advance(599.0)
        assert snapshots() == before
        kit.clock.advance(1.0)
        assert snapshots() == before + 1
        kit.clock.advance(3600.0)  # nothing has changed
        assert snapshots() == before + 1
