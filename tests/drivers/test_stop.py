"""Nobody waits for ever: not for a stop that ran out of patience, not for an engine that broke."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from anabranch.drivers.callers import Stopped
from anabranch.engines.embedded import App
from anabranch.runtime.worker import Pace
from tests.engines.embedded.doors import TIMEOUT, Door, House, closed_door, wait_until
from tests.engines.embedded.shop import Shop


@pytest.fixture
def door() -> Iterator[Door]:
    with closed_door() as door:
        yield door


class Calls:
    """Calls in threads of their own, and how each ended. The first is at a door before the others begin."""

    def __init__(self, app: App, *functions: Callable[[], Any]) -> None:
        self.outcomes: list[Any] = []
        self.threads = [threading.Thread(target=self._call, args=(f,), daemon=True) for f in functions]
        self.threads[0].start()
        wait_until(lambda: app._engine.coordinator.running, "the first call does not begin")
        for thread in self.threads[1:]:
            thread.start()
        wait_until(lambda: len(app._engine.driver.desk.waiters) == len(functions), "a call does not arrive")

    def _call(self, function: Callable[[], Any]) -> None:
        try:
            self.outcomes.append(function())
        except BaseException as error:
            self.outcomes.append(error)

    def all(self) -> list[Any]:
        end = time.monotonic() + TIMEOUT
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))
        assert not any(t.is_alive() for t in self.threads), "somebody waits for ever"
        return self.outcomes


def join_workers(app: App) -> None:
    for thread in app._engine.driver.threads:
        thread.join(TIMEOUT)
    assert not any(t.is_alive() for t in app._engine.driver.threads)


def test_stop_waits_for_what_runs(door: Door) -> None:
    app = App(House(), 2, tier="python")
    calls = Calls(app, lambda: app.enter.many(door.rows(100)), lambda: app.visit(1))
    stop = threading.Thread(target=app._engine.driver.stop, args=(TIMEOUT,), daemon=True)
    stop.start()
    wait_until(lambda: app._engine.driver.closed, "the stop does not begin")
    assert not calls.outcomes
    door.open()
    assert not any(isinstance(outcome, BaseException) for outcome in calls.all())
    stop.join(TIMEOUT)
    assert not stop.is_alive()
    join_workers(app)


@pytest.mark.parametrize("size", [100, 1000])
def test_a_stop_without_patience_tells_those_who_wait(door: Door, size: int) -> None:
    """Both are several slices for each worker: it leaves after the first."""
    app = App(House(), 2, tier="python")
    calls = Calls(app, lambda: app.enter.many(door.rows(size)), lambda: app.visit.many([(1,)] * 100))
    wait_until(lambda: len(door.reached) == 2, "a worker does not begin")
    start = time.monotonic()
    with pytest.raises(Stopped, match="is still in user code"):
        app._engine.driver.stop(patience=0.2)
    assert time.monotonic() - start < TIMEOUT / 2
    outcomes = calls.all()
    assert all(isinstance(outcome, Stopped) for outcome in outcomes), outcomes
    door.open()
    join_workers(app)
    assert len(door.reached) <= 2 * Pace().slice


def test_a_stop_during_an_endless_row_says_where(door: Door) -> None:
    app = App(House(), 2, tier="python")
    calls = Calls(app, lambda: app.enter.many(door.rows(100)))
    wait_until(lambda: len(door.reached) == 2, "a worker does not begin")
    with pytest.raises(Stopped, match=r"anabranch-worker-\d is still in user code at .*doors.py:\d+ after 0.1 s"):
        app._engine.driver.stop(patience=0.1)
    assert [type(outcome) for outcome in calls.all()] == [Stopped]
    with pytest.raises(Stopped, match="the app has been stopped"):
        app.visit(1)
    door.open()
    join_workers(app)


@pytest.mark.parametrize("where", ["worker", "coordinator", "commit"])
def test_an_engine_that_breaks_tells_everybody(door: Door, where: str, caplog: pytest.LogCaptureFixture) -> None:
    class Mistake(Exception):
        pass

    def fail(*args: Any) -> Any:
        raise Mistake("ours")

    app = App(House(), 2, tier="python")
    slow = Calls(app, lambda: app.enter.many(door.rows(1000)), *[lambda: app.visit.many([(1,)] * 100)] * 3)
    wait_until(lambda: len(door.reached) == 2, "a worker does not begin")
    match where:
        case "worker":
            app._engine.driver.hosts[1].worker.handle = fail
        case "coordinator":
            app._engine.coordinator._finished = fail
        case "commit":
            app._engine.driver.desk.committed = fail
    with caplog.at_level(logging.CRITICAL):
        door.open()
        outcomes = slow.all()
    assert outcomes and all(isinstance(outcome, Stopped | Mistake | dict) for outcome in outcomes), outcomes
    broken = [o for o in outcomes if isinstance(o, Stopped)]
    assert broken and all(isinstance(o.__cause__, Mistake) for o in broken)
    assert "the engine has broken" in caplog.text
    with pytest.raises(Stopped, match="the engine has broken and takes no more requests; see the cause"):
        app.visit(1)
    with pytest.raises(Stopped, match="the engine has broken"):
        app.state.visits[1]
    app._engine.driver.stop(TIMEOUT)
    assert not any(t.is_alive() for t in app._engine.driver.threads)


def test_an_engine_that_breaks_on_the_callers_thread(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*args: Any) -> Any:
        raise AssertionError("ours")

    app = App(Shop(), 2)
    app.pay_in(1, 1)
    app._engine.driver.desk.committed = fail
    with caplog.at_level(logging.CRITICAL), pytest.raises(AssertionError, match="ours"):
        app.pay_in(1, 1)
    with pytest.raises(Stopped, match="the engine has broken"):
        app.pay_in(1, 1)
    app.stop()
    assert not any(t.is_alive() for t in app._engine.driver.threads)
