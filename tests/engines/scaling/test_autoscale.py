"""The number of workers follows the load; work is spread by what workers can do; spares; what metrics say of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.clock import SystemClock
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import App
from anabranch.engines.embedded.autoscaling import Autoscaling
from anabranch.engines.embedded.hot import HotKeys
from anabranch.lang.keys import bucket
from anabranch.runtime.elastic import Decision
from tests.conformance.engines import nursery
from tests.engines.scaling.test_scale import Counts, Words, load

HOSTS = ("threads", "processes")
LONG = 60.0  # seconds that nothing here takes


class Crunch(ab.Program):
    """Enough work for each row that one worker cannot do all of it."""

    sums: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def crunch(self, key: int) -> int:
        total = self.sums[key]
        for i in range(3000):
            total = (total * 31 + i) % 1_000_003
        self.sums[key] = total
        return total


def run(program: ab.Program, workers: int, hosts: str, **options: Any) -> App:
    launcher = None if hosts == "threads" else Processes(workers, nursery())
    return App(program, workers, hosts=launcher, tier="python", **options)


def until(holds: Callable[[], bool], what: str, pause: float = 0.02) -> None:
    end = monotonic() + LONG
    while not holds():
        assert monotonic() < end, what
        sleep(pause)


class Turns(SystemClock):
    """A clock that goes on by one turn when it is told, and waits until the turn was noticed."""

    def __init__(self) -> None:
        self._time, self._waiting = 0.0, threading.Semaphore(0)
        self._go = threading.Semaphore(0)

    def now(self) -> float:
        return self._time

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self._waiting.release()
        self._go.acquire()
        self._time += seconds
        return event.is_set()

    def turn(self, change: Callable[[], None]) -> None:
        """When the last turn was noticed, change something, and go on."""
        self._waiting.acquire()
        change()
        self._go.release()


class Watched:
    """What `Autoscaling` decides when workers are as busy as they are said to be."""

    def __init__(self, settings: ab.Autoscale, workers: int = 1, fails: bool = False) -> None:
        self.clock, self.decided, self.fails = Turns(), list[Decision](), fails
        self._busy: list[float | None] = [0.0] * workers
        self._watched = Autoscaling(settings, self.clock, self)
        self._watched.start()

    def busy(self) -> list[float | None]:
        return self._busy

    def loads(self) -> list[float]:
        return [1.0] * len(self._busy)

    def follow(self, decision: Decision) -> None:
        self.decided.append(decision)
        if self.fails:
            raise ab.MemoryFull("there is no room")

    def report(self, *used: float | None) -> None:
        busy: list[float | None] = [
            u if b is None or u is None else b + u for b, u in zip(self._busy, used, strict=True)
        ]
        self.clock.turn(lambda: setattr(self, "_busy", busy))

    def stop(self) -> list[Decision]:
        self.clock.turn(self._watched.stop)
        self._watched.join(LONG)
        return self.decided


def test_three_reports_in_a_row() -> None:
    watched = Watched(ab.Autoscale(reports=3))
    for used in (0.9, 0.9, 0.1, 0.9, 0.9, 0.9, 0.1, 0.1):
        watched.report(used)
    assert [d.workers for d in watched.stop()] == [2]


def test_a_worker_that_does_not_answer_is_busy() -> None:
    watched = Watched(ab.Autoscale(reports=2, max=2), 2)
    for used in ((0.1, 0.1), (0.1, None), (0.1, None), (0.1, None), (0.1, None)):
        watched.report(*used)
    (decision,) = watched.stop()
    assert decision.wanted is not None and decision.wanted[0] > decision.wanted[1]


def test_what_cannot_be_done_is_not_tried_again_at_once(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched(ab.Autoscale(reports=1), fails=True)
    for _ in range(12):
        watched.report(1.0)
    assert 1 < len(watched.stop()) < 5
    assert "the app goes on as it was: there is no room" in caplog.text


@pytest.mark.parametrize("hosts", HOSTS)
def test_more_workers_while_there_is_work_and_fewer_after_it(hosts: str) -> None:
    settings = ab.Autoscale(max=2, reports=2, every=0.05, threshold=0.4)
    plain, found = Crunch(), []
    with run(Crunch(), 1, hosts, autoscale=settings) as app:
        rows = {"key": [k % 50 for k in range(200)]}

        def more() -> bool:
            found.append(app.crunch.many(rows))
            return len(app.metrics().workers) == 2

        until(more, "there is one worker still", pause=0.0)
        assert found == [plain.crunch.many(rows) for _ in found]  # not before: the worker would have nothing to do
        assert app.crunch.many(rows) == plain.crunch.many(rows)
        until(lambda: len(app.metrics().workers) == 1, "there are two workers still")
        assert app.crunch.many(rows) == plain.crunch.many(rows)
        first, *others = app.metrics().moves
        assert (first.before, first.after) == (1, 2) and "worker 0 was busy" in first.why
        assert any(m.after == 1 and "all workers together were busy" in m.why for m in others)
        assert 0 <= first.pause <= first.seconds
        assert "1 to 2 workers: worker 0 was busy" in str(app.metrics())


@pytest.mark.parametrize("hosts", HOSTS)
def test_work_is_spread_as_wanted_under_load(hosts: str) -> None:
    with run(Counts(), 2, hosts) as app:
        app.add.many({"key": list(range(5000))})
        with load(app, 5000) as given:
            app._spreading.follow(Decision(2, (1.0, 3.0), "the first lags"))
        routing = app._engine.routing
        assert [routing.instance_of_bucket.count(i) for i in (0, 1)] == [256, 768]
        assert dict(app.state.counts.items()) == {key: n + 1 for key, n in enumerate(given)}
        (move,) = app.metrics().moves
        assert (move.before, move.after, move.why) == (2, 2, "the first lags")
        app._spreading.follow(Decision(2, (1.0, 3.0), "as before"))
        assert len(app.metrics().moves) == 1


def test_a_hot_key_is_known_and_its_worker_gets_less_of_the_rest() -> None:
    with ab.run(Counts(), workers=2) as app:
        app.add.many({"key": [7 if i % 2 else i for i in range(20_000)]})
        (hot,) = app.metrics().hot
        assert hot.key == 7 and 0.4 < hot.share < 0.6
        assert "hot key 7, " in str(app.metrics())
        app.scale(workers=4)
        routing = app._engine.routing
        owner = routing.instance_of_bucket[bucket(7)]
        assert routing.instance_of_bucket.count(owner) < 50
        assert app.add(7) == 10_001


def test_single_calls_are_looked_at_too() -> None:
    with ab.run(Counts(), workers=1) as app:
        for i in range(2000):
            app.add(5 if i % 4 else i)
        assert [hot.key for hot in app.metrics().hot] == [5]


def test_no_key_is_hot_where_all_are_alike() -> None:
    with ab.run(Counts(), workers=1) as app:
        for _ in range(20):
            app.add.many({"key": list(range(5000))})
        assert app.metrics().hot == ()


def test_what_was_hot_is_forgotten() -> None:
    with ab.run(Counts(), workers=1) as app:
        app.add.many({"key": [3] * 1000})
        assert [hot.key for hot in app.metrics().hot] == [3]
        for i in range(200):
            app.add.many({"key": list(range(1000 * i, 1000 * i + 1000))})
        assert all(hot.key != 3 for hot in app.metrics().hot)


def test_hot_keys_cost_few_looks() -> None:
    looks = 0

    def key_of(entry: str) -> Callable[..., int]:
        def key(key: int) -> int:
            nonlocal looks
            looks += 1
            return key

        return key

    hot = HotKeys(ab.compile(Counts), key_of)
    with ab.run(Counts(), workers=1) as app:
        app._hot.add = hot.add  # type: ignore[method-assign]
        app.add.many({"key": list(range(100_000))})
        for i in range(160):
            app.add(i)
    assert 32 <= looks <= 2 * 32 + 160 // 16 + 1


def test_own_types_are_not_spread_anew() -> None:
    with ab.run(Words(), workers=2) as app:
        app.put("a")
        with pytest.raises(ab.ProgramError, match="bags is partitioned, of a type of your own"):
            app._spreading.follow(Decision(2, (1.0, 3.0), "the first lags"))
        assert app.put("a") == 2


def test_spares_are_there_before_they_are_needed() -> None:
    launcher = Processes(1, nursery())
    started: list[int] = []
    more = launcher.more
    launcher.more = lambda worker: (started.append(worker), more(worker))[1]  # type: ignore[method-assign,func-returns-value]
    with App(Counts(), 1, hosts=launcher, spares=1, tier="python") as app:
        app.add.many({"key": list(range(1000))})
        until(lambda: 1 in launcher.pids, "there is no spare")
        spare = launcher.pids[1]
        app.scale(workers=2)
        assert launcher.pids[1] == spare
        until(lambda: 2 in launcher.pids, "there is no other spare")
        app.scale(workers=3)
        app.scale(workers=1)
        assert dict(app.state.counts.items()) == dict.fromkeys(range(1000), 1)
        assert app._engine.driver._fleet.workers == 2
    assert started[:2] == [0, 1] and not launcher.pids


@pytest.mark.parametrize("given", [{"autoscale": 3}, {"spares": -1}, {"spares": True}])
def test_what_is_neither(given: dict[str, Any]) -> None:
    with pytest.raises(
        (TypeError, ValueError), match=r"write (autoscale=ab.Autoscale\(max=4\)|ab.run\(..., spares=1\))"
    ):
        ab.run(Counts(), **given)
