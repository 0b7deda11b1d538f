"""Workers whose hosts are about to go: their state moves away, others take their places, and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.callers import Stopped
from anabranch.drivers.clock import SystemClock
from anabranch.drivers.durable.settings import Saving
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded.app import App
from anabranch.engines.embedded.relieving import WHY, Relieving
from tests.drivers.processes.tools import LATE, nursery, pids, wait_until
from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import assert_alike, step
from tests.engines.scaling.test_scale import TIERS, Counts, load, run

LEAVING = [(2, {0}), (3, {1}), (2, {1}), (1, {0}), (2, {0, 1})]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("workers", "leaving"), LEAVING)
def test_nothing_is_lost_though_nothing_is_saved(workers: int, leaving: set[int], tier: str) -> None:
    with run(Counts(), workers, "processes", tier) as app:
        app.add.many({"key": list(range(2_000))})
        before = pids(app)
        with load(app, 2_000) as given:
            app._spreading.relieve(leaving, "asked for")
        now = pids(app)
        assert {w for w in range(workers) if now[w] != before[w]} == leaving
        assert dict(app.state.counts.items()) == {key: n + 1 for key, n in enumerate(given)}
        assert app._engine.routing.workers == workers
        assert set(app._engine.routing.worker_of_instance) == set(range(workers))


@pytest.mark.parametrize("tier", TIERS)
def test_all_kinds_of_state(tier: str, tmp_path: Path) -> None:
    chance, plain = random.Random(5), Bank()
    with run(Bank(), 2, "processes", tier, checkpoint=tmp_path) as app:
        for leaving in ({0}, {1}, {0, 1}):
            for _ in range(10):
                step(chance, plain, app)
            app._spreading.relieve(leaving, "asked for")
            assert_alike(plain, app)
    with ab.run(Bank(), workers=2, tier=tier, checkpoint=tmp_path) as app:
        assert_alike(plain, app)


def test_one_that_has_state_is_not_sent_away() -> None:
    with run(Counts(), 2, "processes") as app, pytest.raises(RuntimeError, match="worker 1 has state"):
        app._engine.driver.renew(1, "asked for")


class Haunted(Processes):
    """Starts a life of a worker again that it was told to end, as Spark may do with a task, before the next one."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers, nursery())
        self.ends: dict[int, threading.Event] = {}

    def kill(self, worker: int, life: int | None = None) -> None:
        assert self._nursery is not None
        if life is not None:
            over = self.ends[worker] = threading.Event()
            told = {"number": worker, **self._told, "life": life}
            self._nursery.start(told, lambda code: over.set())
        super().kill(worker, life)

    def _start_again(self, told: Any, ended: Any) -> None:
        time.sleep(2.0)  # by then the old life is there again
        super()._start_again(told, ended)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_life_that_is_over_does_not_come_back(workers: int, caplog: pytest.LogCaptureFixture) -> None:
    hosts = Haunted(workers)
    with App(Counts(), workers, False, hosts=hosts) as app:
        app.add.many({"key": list(range(2_000))})
        with load(app, 2_000) as given:
            app._spreading.relieve({0}, "asked for")
            assert hosts.ends[0].wait(LATE)
        assert "not expected was sent away" in caplog.text
        assert dict(app.state.counts.items()) == {key: n + 1 for key, n in enumerate(given)}
        assert app._engine.driver._fleet.links[0].life == 2


class Clinging(Processes):
    """Cannot make an end of a worker, and starts the next one all the same."""

    def kill(self, worker: int, life: int | None = None) -> None:
        if life is None:
            super().kill(worker)
        elif self._told_of_ends(worker, "it does not answer", life):
            self.more(worker)


def test_one_that_hangs_is_in_nobodys_way(tmp_path: Path) -> None:
    """Its connection is open as long as it hangs."""
    with App(Counts(), 2, False, hosts=Clinging(2, nursery()), saving=Saving(tmp_path)) as app:
        app.add.many({"key": list(range(100))})
        hanging = pids(app)[0]
        os.kill(hanging, signal.SIGSTOP)
        try:
            app._engine.driver.lost(0, "it does not answer")
            app.add.many({"key": list(range(100))})
        finally:
            os.kill(hanging, signal.SIGKILL)
        assert dict(app.state.counts.items()) == dict.fromkeys(range(100), 2)
        assert app._engine.driver._fleet.links[0].life == 2


class Hosts:
    """Says that hosts go, and notes what is done about it."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.relieved = list(answers), list[Collection[int]]()
        self.done = threading.Event()

    def leaving(self) -> Collection[int]:
        if not self.answers:
            self.done.set()
            return ()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return set(answer)

    def relieve(self, workers: Collection[int], why: str) -> None:
        assert why == WHY
        self.relieved.append(workers)


class Quick(SystemClock):
    """Waits a thousandth of the time."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.waited.append(seconds)
        return super().wait(event, seconds / 1000)


def test_what_fails_is_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    hosts, clock = Hosts((), {1}, RuntimeError("no slot"), Stopped("another move"), {0, 2}), Quick()
    watch = Relieving(hosts.leaving, clock, hosts.relieve)
    watch.start()
    wait_until(hosts.done.is_set, "nobody asks any more")
    watch.stop()
    watch.join(LATE)
    assert hosts.relieved == [{1}, {0, 2}]
    assert clock.waited[:6] == [1.0, 1.0, 1.0, 2.0, 4.0, 1.0]
    assert [r.levelname for r in caplog.records if "could not be moved away" in r.message] == ["WARNING"]
