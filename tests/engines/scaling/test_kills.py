"""Workers that are killed while state moves: nothing that was answered is lost, and the move comes to its end."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.durable.settings import Saving
from anabranch.drivers.host_messages import Done
from anabranch.drivers.processes import Processes
from anabranch.drivers.scaling.at_coordinator import TRIES, Scaling
from anabranch.engines.embedded import App
from anabranch.runtime.messages import Version
from anabranch.runtime.routing import spread_evenly
from tests.conformance.engines import nursery
from tests.drivers.processes.tools import SHORT
from tests.engines.scaling.test_scale import Counts, Means, load

KEYS = 30_000
LATE = 60.0  # seconds that count as never, on however busy a machine


class Stocked(ab.Program):
    stock: ab.Partitioned[ab.Table[int, int]]

    def __init__(self) -> None:
        self.stock = ab.Table({key: key for key in range(50)})

    def stock_of(self, key: int) -> int:
        return self.stock[key]


def wait_until(what: Callable[[], bool], otherwise: str) -> None:
    end = monotonic() + LATE
    while not what():
        assert monotonic() < end, otherwise
        sleep(0.01)


def kill_some(processes: Processes, chance: random.Random, over: threading.Event) -> None:
    """No more often than a move begins again, however slow the machine is."""
    for _ in range(TRIES - 1):
        if over.wait(chance.uniform(0.02, 0.6)):
            return
        pids = list(processes.pids.values())
        if pids:
            with_pid = chance.choice(pids)
            try:
                os.kill(with_pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            over.wait(4.0)  # else they are lost more often than makes sense


@pytest.mark.parametrize("seed", range(3))
def test_kills_while_state_moves(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    processes = Processes(2, nursery())
    saving = Saving(tmp_path, every=0.3)
    with App(Counts(), 2, tier="python", hosts=processes, saving=saving, patience=SHORT) as app:
        app.add.many({"key": list(range(KEYS))})
        over = threading.Event()
        killing = threading.Thread(target=kill_some, args=(processes, chance, over))
        with load(app, KEYS, callers=2) as given:
            killing.start()
            try:
                for workers in (3, 1, 4, 2):
                    app.scale(workers=workers)
            finally:
                over.set()
                killing.join()
        expected = {key: n + 1 for key, n in enumerate(given)}
        assert dict(app.state.counts.items()) == expected
    with ab.run(Counts(), workers=2, checkpoint=tmp_path) as app:
        assert dict(app.state.counts.items()) == expected


def kill_at(monkeypatch: pytest.MonkeyPatch, processes: Processes, kind: str, worker: int) -> list[int]:
    """Kill a worker when the coordinator is about to ask for something for the first time."""
    from anabranch.drivers.answers import Questions

    ask, killed = Questions.ask, list[int]()

    def asking(self: Questions, question: Any, messages: Any, *rest: Any) -> Any:
        if not killed and any(type(m).__name__ == kind for m in messages.values()):
            killed.append(processes.pids[worker])
            os.kill(killed[0], signal.SIGKILL)
            sleep(0.2)
        return ask(self, question, messages, *rest)

    monkeypatch.setattr(Questions, "ask", asking)
    return killed


@pytest.mark.parametrize("kind", ["Grow", "Slice", "Flush", "Switch"])
@pytest.mark.parametrize("worker", [0, 2])
def test_a_kill_at_each_step(kind: str, worker: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that has something, and of one that is new."""
    processes = Processes(2, nursery())
    saving = Saving(tmp_path)
    with App(Means(), 2, tier="python", hosts=processes, saving=saving, patience=SHORT) as app:
        app.learn(4.0)
        before = app.weights()
        killed = kill_at(monkeypatch, processes, kind, worker)
        app.scale(workers=3)
        assert killed
        found = app.weights()
        assert found == [*before, sum(before) / 2]
        app.learn(1.0)
        found = app.weights()
    with ab.run(Means(), workers=1, checkpoint=tmp_path) as app:
        assert app.weights() == found


@pytest.mark.parametrize("worker", [0, 2])
def test_a_kill_before_anything_has_happened(worker: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is what the program begins with, spread anew."""
    processes = Processes(2, nursery())
    with App(Stocked(), 2, tier="python", hosts=processes, saving=Saving(tmp_path), patience=SHORT) as app:
        killed = kill_at(monkeypatch, processes, "Switch", worker)
        app.scale(workers=3)
        assert killed
        assert [app.stock_of(key) for key in range(50)] == list(range(50))
        assert dict(app.state.stock.items()) == {key: key for key in range(50)}


def test_one_that_was_replaced_between_two_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows nothing of the move, and others would wait for what it will not send."""
    from anabranch.drivers.answers import Questions

    processes = Processes(2, nursery())
    ask, killed = Questions.ask, list[int]()

    def asking(self: Questions, question: Any, messages: Any, *rest: Any) -> Any:
        found = ask(self, question, messages, *rest)
        if not killed and any(type(m).__name__ == "Slice" for m in messages.values()):
            killed.append(processes.pids[1])
            os.kill(killed[0], signal.SIGKILL)
            coordinator = app._engine.coordinator
            wait_until(lambda: bool(coordinator.lost), "nobody has noticed")
            wait_until(lambda: not coordinator.lost | coordinator.unsettled, "no other has come")
        return found

    with App(Counts(), 2, tier="python", hosts=processes, saving=Saving(tmp_path), patience=SHORT) as app:
        monkeypatch.setattr(Questions, "ask", asking)
        app.scale(workers=3)
        assert killed and len(processes.pids) == 3
        assert app.add(1) == 1


def test_one_that_cannot_go_over_ends_the_run() -> None:
    """The new routing counts already, and was never committed."""
    failed: list[BaseException] = []
    desk: Any = SimpleNamespace(
        numbers=itertools.count(),
        coordinator=SimpleNamespace(reserved=Version(2, 0), committed=Version(1, 0)),
        fail=failed.append,
    )
    questions: Any = SimpleNamespace(ask=lambda number, orders: {0: Done(number, problem="the disk is full")})
    nobody: Any = None
    with pytest.raises(ab.Stopped, match="the disk is full"):
        Scaling(desk, nobody, questions, nobody)._go_over(1, spread_evenly(2), spread_evenly(1))
    assert "the disk is full" in str(failed[0])


@pytest.mark.parametrize("kind", ["Slice", "Switch"])
def test_where_nothing_is_saved_the_run_ends(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes(2, nursery())
    with App(Counts(), 2, tier="python", hosts=processes, patience=SHORT) as app:
        app.add.many({"key": list(range(100))})
        kill_at(monkeypatch, processes, kind, 0)
        with pytest.raises(ab.StateLost):
            app.scale(workers=3)
        with pytest.raises(ab.StateLost):
            app.add(1)


def test_a_new_worker_that_is_lost_early_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes(1, nursery())
    with App(Counts(), 1, tier="python", hosts=processes, patience=SHORT) as app:
        app.add.many({"key": list(range(100))})
        killed = kill_at(monkeypatch, processes, "Slice", 1)
        app.scale(workers=2)
        assert killed and len(processes.pids) == 2
        assert app.add(1) == 2
