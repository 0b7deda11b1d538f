"""Nobody waits for ever: not for a stop that ran out of patience, not for an engine that broke."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from anabranch.drivers.callers import Stopped
from anabranch.engines.embedded import App
from tests.engines.embedded.shop import Shop

TIMEOUT = 10.0


class Calls:
    """Calls in threads of their own, the first of which runs before the others begin, and how each ended."""

    def __init__(self, app: App, *functions: Callable[[], Any]) -> None:
        self.outcomes: list[Any] = []
        self.threads = [threading.Thread(target=self._call, args=(f,), daemon=True) for f in functions]
        self.threads[0].start()
        end = time.monotonic() + TIMEOUT
        while not app._coordinator.running:
            assert time.monotonic() < end, "the first call does not begin"
            time.sleep(0.001)
        for thread in self.threads[1:]:
            thread.start()
        while len(app._driver._waiters) < len(functions) and app._coordinator.running:
            assert time.monotonic() < end, "a call does not arrive"
            time.sleep(0.001)

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


def rows(n: int, seconds: float) -> dict[str, list[Any]]:
    return {"user": list(range(n)), "seconds": [seconds] * n}


def test_stop_waits_for_what_runs() -> None:
    app = App(Shop(), 2)
    calls = Calls(app, lambda: app.slow.many(rows(100, 0.005)), lambda: app.pay_in(1, 1))
    app.stop()
    assert not any(isinstance(outcome, BaseException) for outcome in calls.all())


@pytest.mark.parametrize("size", [100, 1000])
def test_a_stop_without_patience_tells_those_who_wait(size: int) -> None:
    """100 rows are one slice for each worker, 1000 are several: a worker leaves between two."""
    app = App(Shop(), 2)
    calls = Calls(app, lambda: app.slow.many(rows(size, 0.01)), lambda: app.pay_in.many([(1, 1)] * 100))
    start = time.monotonic()
    with contextlib.suppress(Stopped):
        app._driver.stop(patience=0.2)
    assert time.monotonic() - start < 5
    outcomes = calls.all()
    assert all(isinstance(outcome, Stopped) for outcome in outcomes), outcomes


def test_a_stop_during_an_endless_row_says_where() -> None:
    app = App(Shop(), 2)
    calls = Calls(app, lambda: app.slow.many(rows(100, 1.0)))
    with pytest.raises(Stopped, match=r"anabranch-worker-\d is still in user code at .*shop.py:\d+ after 0.1 s"):
        app._driver.stop(patience=0.1)
    assert [type(outcome) for outcome in calls.all()] == [Stopped]
    with pytest.raises(Stopped, match="the app has been stopped"):
        app.pay_in(1, 1)


@pytest.mark.parametrize("where", ["worker", "coordinator", "commit"])
def test_an_engine_that_breaks_tells_everybody(where: str, caplog: pytest.LogCaptureFixture) -> None:
    class Mistake(Exception):
        pass

    def fail(*args: Any) -> Any:
        raise Mistake("ours")

    app = App(Shop(), 2)
    slow = Calls(app, lambda: app.slow.many(rows(1000, 0.001)), *[lambda: app.pay_in.many([(1, 1)] * 100)] * 3)
    match where:
        case "worker":
            app._driver._workers[1].handle = fail
        case "coordinator":
            app._coordinator._finished = fail
        case "commit":
            app._driver._committed = fail
    with caplog.at_level(logging.CRITICAL):
        outcomes = slow.all()
    assert outcomes and all(isinstance(outcome, Stopped | Mistake | dict) for outcome in outcomes), outcomes
    broken = [o for o in outcomes if isinstance(o, Stopped)]
    assert broken and all(isinstance(o.__cause__, Mistake) for o in broken)
    assert "the engine has broken" in caplog.text
    with pytest.raises(Stopped, match="the engine has broken and takes no more requests; see the cause"):
        app.pay_in(1, 1)
    with pytest.raises(Stopped, match="the engine has broken"):
        app.state.wallet[1]
    app.stop()
    assert not any(t.is_alive() for t in app._driver._threads)


def test_an_engine_that_breaks_on_the_callers_thread(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*args: Any) -> Any:
        raise AssertionError("ours")

    app = App(Shop(), 2)
    app.pay_in(1, 1)
    app._driver._committed = fail
    with caplog.at_level(logging.CRITICAL), pytest.raises(AssertionError, match="ours"):
        app.pay_in(1, 1)
    with pytest.raises(Stopped, match="the engine has broken"):
        app.pay_in(1, 1)
    app.stop()
    assert not any(t.is_alive() for t in app._driver._threads)
