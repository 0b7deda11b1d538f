"""Callers that stop, interrupt, call back, dig deep and raise what cannot be annotated: the app goes on."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import logging
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers import desk
from anabranch.drivers.callers import Gate, Stopped
from anabranch.engines.embedded import App
from anabranch.runtime.backlog import Limits
from anabranch.runtime.worker import Pace
from tests.engines.embedded.doors import TIMEOUT, Door, House, closed_door, wait_until

APP: list[App] = []


@dataclasses.dataclass(frozen=True)
class Refusal(Exception):
    code: int


@ab.pure
def refuse(k: int) -> int:
    if k < 0:
        raise Refusal(k)
    return k


@ab.pure
def call_the_app(k: int) -> int:
    return int(APP[0].get(k))


@ab.pure
def leave(k: int) -> int:
    if k > 0:
        raise (SystemExit, GeneratorExit, RecursionError, MemoryError)[k - 1](k)
    return 0


class Rough(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]]
    home: int

    def __init__(self, with_home: bool = True) -> None:
        if with_home:
            self.home = 3

    def get(self, k: int) -> int:
        return self.t.get(k, 0)

    def put(self, k: int) -> int:
        self.t[k] = refuse(k)
        return k

    def ask(self, k: int) -> int:
        self.t[k] = call_the_app(k) + 1
        return self.t[k]

    def put_home(self, x: int) -> int:
        self.t[self.home] = x
        return x

    def fan(self, ks: list[int]) -> int:
        s = 0
        for k in ks:
            n = self.t.get(k, 0) + leave(k)
            s += 10 // n
        return s


def aside(act: Callable[[], Any]) -> Any:
    """What the act gives or raises on a thread of its own; a failure if it never ends."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(act())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    assert found, "it waits for ever"
    return found[0]


@pytest.fixture
def app() -> Iterator[App]:
    with ab.run(Rough(), workers=2) as app:
        yield app


def at_the_door(app: App, door: Door, rows: int, then: Callable[[], None]) -> tuple[threading.Thread, list[Any]]:
    """A thread whose batch has both workers at the door; what the batch gives or raises, before what it then does."""

    def call() -> None:
        told.append(aside(lambda: app.enter.many(door.rows(rows))))
        then()

    told: list[Any] = []
    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    wait_until(lambda: len(door.reached) == 2, "a worker does not begin")
    return caller, told


def test_a_stop_that_loses_patience_takes_back_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The patience for requests is over at once, by a clock that leaps; that for workers is as long as it takes."""
    app = App(House(), 2)
    with closed_door() as door:
        caller, told = at_the_door(app, door, 3000, door.open)
        with monkeypatch.context() as patch:
            patch.setattr(desk, "perf_counter", itertools.count(step=TIMEOUT).__next__)
            app._engine.driver.stop(TIMEOUT)
        caller.join(TIMEOUT)
    assert isinstance(told[0], Stopped) and "nothing of it has taken effect" in str(told[0])
    assert not any(t.is_alive() for t in app._engine.driver.threads)
    assert len(door.reached) <= 2 * Pace().slice


def test_a_stop_that_is_interrupted_still_ends_and_another_one_does_no_harm() -> None:
    def press() -> None:
        wait_until(lambda: app._engine.driver.closed, "the stop does not begin")
        signal.raise_signal(signal.SIGINT)

    app = App(House(), 2)
    with closed_door() as door:
        caller, told = at_the_door(app, door, 2000, lambda: None)
        threading.Thread(target=press, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            app._engine.driver.stop(TIMEOUT)
        door.open()
        app._engine.driver.stop(TIMEOUT)
        assert not any(t.is_alive() for t in app._engine.driver.threads)
        caller.join(TIMEOUT)
    assert isinstance(told[0], Stopped)


@pytest.mark.parametrize("rows", [1, 100])
def test_an_entry_cannot_call_the_app_that_runs_it(app: App, rows: int) -> None:
    APP[:] = [app]
    error = aside(lambda: app.ask.many({"k": list(range(rows))}))
    assert isinstance(error, RuntimeError) and "wait for itself" in str(error)
    assert app.put(4) == 4


def test_an_exception_that_is_a_frozen_dataclass(app: App) -> None:
    for target in (Rough(), app):
        with pytest.raises(Refusal) as caught:
            target.put(-1)
        assert "in entry 'put', row 0" in caught.value.__notes__[0]
    assert app.put(1) == 1


@pytest.mark.parametrize("rows", [1, 100])
def test_a_key_that_raises(rows: int) -> None:
    with ab.run(Rough(with_home=False), workers=2) as app:
        for _ in range(2):
            error = aside(lambda: app.put_home.many({"x": list(range(rows))}))
            assert isinstance(error, AttributeError) and "row 0" in error.__notes__[0]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_first_failure_of_a_loop_counts_whatever_the_later_ones_are(app: App, k: int) -> None:
    told = []
    for target in (Rough(), app):
        with pytest.raises(BaseException) as caught:
            target.fan([0, k])
        told.append((repr(caught.value), repr(caught.value.__context__)))
    assert told[0] == told[1]


def test_a_caller_deep_in_its_stack_gets_a_recursion_error_and_the_app_goes_on(app: App) -> None:
    def at(depth: int, act: Callable[[], Any]) -> Any:
        return act() if depth == 0 else at(depth - 1, act)

    raised = 0
    for depth in range(sys.getrecursionlimit() - 250, sys.getrecursionlimit() - 30, 3):
        for act in (lambda: app.put(1), lambda: app.fan([]), lambda: app.state.t.get(1)):
            try:
                at(depth, act)
            except RecursionError:
                raised += 1
    assert raised > 10
    assert app.put(7) == 7


def test_a_large_batch_is_not_starved_by_small_ones() -> None:
    with App(Rough(), 2, gate=Gate(rows=1000)) as app:
        stopped = threading.Event()
        fed = [0] * 4

        def feed(number: int) -> None:
            while not stopped.is_set():
                app.put.many({"k": list(range(300))})
                fed[number] += 1

        feeders = [threading.Thread(target=feed, args=(n,), daemon=True) for n in range(4)]
        for feeder in feeders:
            feeder.start()
        wait_until(lambda: all(fed), "a small batch is never answered")
        found = aside(lambda: app.put.many({"k": list(range(1200))}))
        stopped.set()
        for feeder in feeders:
            feeder.join(TIMEOUT)
        assert found == {"result": list(range(1200))} and not any(f.is_alive() for f in feeders)


def test_a_failing_call_leaves_no_cycle_and_a_batch_no_results(app: App) -> None:
    gc.collect()
    gc.disable()
    try:
        kept = []
        for _ in range(20):
            with pytest.raises(Refusal) as caught:
                app.put(-1)
            kept.append(weakref.ref(caught.value))
            del caught
        assert sum(ref() is not None for ref in kept) <= 1
    finally:
        gc.enable()
    app.put.many({"k": list(range(1000))})
    assert all(worker.job is None for worker in (h.worker for h in app._engine.driver.hosts))


@pytest.mark.parametrize("name", ["call", "batch", "state", "load", "stop"])
def test_an_interrupt_at_any_line_of_ours_leaves_the_app_whole(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A trace function stands for the moment at which Ctrl-C happens to come."""
    acts: dict[str, Callable[[App], Any]] = {
        "call": lambda app: app.put(1),
        "batch": lambda app: app.put.many({"k": list(range(66))}),
        "state": lambda app: app.state.t.get(1),
        "load": lambda app: app.state.t.load({"key": [1], "value": [2]}),
        "stop": lambda app: app.stop(),
    }
    caplog.set_level(logging.CRITICAL)
    at, came = 1, 0
    while True:
        app = App(Rough(), 2, limits=Limits(fused_rows=10))
        lines, interrupted = interrupt_at(at, lambda app=app: acts[name](app))  # type: ignore[misc]
        came += interrupted
        if name == "stop":
            app.stop()
            assert not any(t.is_alive() for t in app._engine.driver.threads)
        else:
            assert aside(lambda app=app: app.put(5)) == 5  # type: ignore[misc]
            assert not app._engine.driver.desk.rows and not app._engine.driver.desk.waiters
            app.stop()
        if lines < at:
            break
        at += 3
    assert came > 5
    assert not caplog.records


def interrupt_at(line: int, act: Callable[[], Any]) -> tuple[int, bool]:
    """Raise SIGINT at that line of our drivers and machines; gives how many lines ran, and whether it came."""
    count = 0

    def local(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == line:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return local

    def tracer(frame: Any, event: str, argument: Any) -> Any:
        name = str(frame.f_globals.get("__name__", ""))
        return local if name.startswith(("anabranch.drivers", "anabranch.runtime")) else None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        act()
    except KeyboardInterrupt:
        return count, True
    finally:
        sys.settrace(before)
    return count, False
