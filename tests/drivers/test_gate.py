"""Backpressure: callers that are too fast are slowed down, none for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from anabranch.drivers.callers import Gate, Stopped
from anabranch.engines.embedded import App
from anabranch.runtime.messages import Reply, Submit
from tests.engines.embedded.doors import TIMEOUT, House, closed_door, wait_until
from tests.engines.embedded.shop import Shop


class Admitted:
    """The rows that the coordinator has and has not answered, the most there ever were, and how many requests."""

    def __init__(self, app: App) -> None:
        self.now = self.most = self.count = 0
        self.requests: dict[int, int] = {}
        self._handle = app._engine.coordinator.handle
        app._engine.coordinator.handle = self.handle  # type: ignore[method-assign]

    def handle(self, event: Any) -> Any:
        if isinstance(event, Submit):
            self.requests[event.request.number] = len(event.request.rows)
            self.count += 1
            self.now += len(event.request.rows)
            self.most = max(self.most, self.now)
        commands = self._handle(event)
        for command in commands:
            if isinstance(command, Reply):
                self.now -= self.requests.pop(command.number)
        return commands


@contextmanager
def running(rows: int, inline: int = 0) -> Iterator[tuple[App, Admitted]]:
    app = App(Shop(), 2, gate=Gate(rows, inline))
    yield app, Admitted(app)
    app.stop()


def together(*functions: Any) -> None:
    threads = [threading.Thread(target=f, daemon=True) for f in functions]
    for thread in threads:
        thread.start()
    end = time.monotonic() + TIMEOUT
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "somebody waits for ever"


@pytest.mark.parametrize("inline", [0, 8])
def test_no_more_is_admitted_than_the_gate_lets_in(inline: int) -> None:
    with running(100, inline) as (app, admitted):

        def call(user: int) -> Any:
            def calls() -> None:
                for size in (1, 60, 7, 30, 100, 2):
                    for _ in range(4):
                        app.pay_in.many({"user": [user] * size, "n": [1] * size})
                        app.buy.many([])

            return calls

        app.supply("a", 100)
        together(*[call(user) for user in range(8)])
        assert admitted.now == 0 and admitted.most <= 100
        assert dict(app.state.wallet.items()) == dict.fromkeys(range(8), 800)
        assert app._engine.driver.desk.rows == 0


def test_a_request_larger_than_the_gate_goes_alone() -> None:
    with running(10) as (app, admitted):
        big = {"user": [1] * 500, "n": [1] * 500}
        small = {"user": [2] * 5, "n": [1] * 5}
        together(*[lambda: app.pay_in.many(big)] * 3, *[lambda: app.pay_in.many(small)] * 6)
        assert admitted.most == 500
        assert dict(app.state.wallet.items()) == {1: 1500, 2: 30}


def test_failures_give_their_room_back() -> None:
    with running(10) as (app, _):
        for _i in range(5):
            with pytest.raises(ValueError, match="negative"):
                app.pay_in.many({"user": [1] * 10, "n": [-1] * 10})
        assert app._engine.driver.desk.rows == 0
        assert app.pay_in.many({"user": [1] * 10, "n": [1] * 10}) == {"result": list(range(1, 11))}


@pytest.mark.parametrize("size", [95, 300])
def test_a_large_request_does_not_starve_behind_small_ones(size: int) -> None:
    """Requests come in in their order: while one waits, only those pass that came before it, one of each caller."""
    with running(100) as (app, admitted):
        big_is_in = threading.Event()
        passed = [0] * 8
        began: list[int] = []
        wait_for_room = app._engine.driver.desk.wait_for_room

        def overtaken() -> int:
            return admitted.count - began[0] if began else 0

        def counted(rows: int, interrupts: Any) -> None:
            """The engine is locked when this begins and when it ends, and nobody is let in without the lock."""
            if rows != size:
                wait_for_room(rows, interrupts)
                return
            began.append(admitted.count)
            wait_for_room(rows, interrupts)
            waited.append(overtaken())

        def small(i: int) -> Any:
            def calls() -> None:
                while not big_is_in.is_set() and overtaken() < 200:
                    app.pay_in.many({"user": [i] * 10, "n": [1] * 10})
                    passed[i] += 1

            return calls

        def big() -> None:
            wait_until(lambda: all(passed), "a small request is never answered")
            app.pay_in.many({"user": [99] * size, "n": [1] * size})
            big_is_in.set()

        waited: list[int] = []
        app._engine.driver.desk.wait_for_room = counted  # type: ignore[method-assign]
        together(big, *[small(i) for i in range(8)])
        assert waited[0] <= len(passed), f"{waited[0]} small requests overtook a large one"


def test_those_who_wait_at_the_gate_are_told_when_the_app_stops() -> None:
    """While the one before them still runs."""
    with closed_door() as door:
        app = App(House(), 2, gate=Gate(10, 0))
        outcomes: list[Any] = []

        def call() -> None:
            try:
                outcomes.append(app.enter.many(door.rows(10)))
            except Stopped as error:
                outcomes.append(str(error))

        threads = [threading.Thread(target=call, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        wait_until(
            lambda: len(app._engine.driver.desk.line) == 3 and app._engine.coordinator.running, "they do not arrive"
        )
        threads.append(threading.Thread(target=app._engine.driver.stop, args=(TIMEOUT,), daemon=True))
        threads[-1].start()
        wait_until(lambda: len(outcomes) == 3, "they are not told")
        assert outcomes == ["the app has been stopped: start another with ab.run(...)"] * 3
        door.open()
        for thread in threads:
            thread.join(TIMEOUT)
        assert not any(thread.is_alive() for thread in threads)
        assert outcomes[3:] == [{"result": [1] * 10}]
