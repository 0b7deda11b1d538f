"""What goes wrong while workers change ends the change, not the app; and what cannot come back is said to be lost."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers import moving
from anabranch.drivers.clock import SystemClock
from anabranch.drivers.guests import Guests
from anabranch.engines.embedded.relieving import Relieving
from anabranch.runtime.messages import Lost
from tests.drivers.processes.tools import pids, wait_until
from tests.engines.scaling.test_scale import HOSTS, Counts, Means, run


@pytest.mark.parametrize("durability", ["snapshot", "none"])
def test_a_lost_worker_does_not_come_back_as_it_was_at_the_last_snapshot(tmp_path: Path, durability: str) -> None:
    """Others would be where they are now: a state that no prefix of the requests gives."""
    app = ab.run(Counts(), workers=2, hosts="processes", checkpoint=tmp_path, durability=durability)  # type: ignore[arg-type]
    app.add.many({"key": list(range(100))})
    app.checkpoint()
    app.add.many({"key": list(range(100))})
    os.kill(pids(app)[1], signal.SIGKILL)
    wait_until(lambda: app._engine.driver.closed, "the loss was not noticed")
    with pytest.raises(ab.StateLost, match=r"what it did since the last snapshot.*durability=\"epoch\""):
        app.add(1)
    app.stop()
    with ab.run(Counts(), workers=2, checkpoint=tmp_path) as again:
        assert set(dict(again.state.counts.items()).values()) == {1}


class Tallies:
    """Has something in it that cannot be sent, once it was written to."""

    def __init__(self) -> None:
        self.seen: Any = None

    @ab.writes
    def see(self, word: str) -> int:
        self.seen = self.seen or Counter()
        self.seen[word] += 1
        return int(self.seen[word])


class Seen(ab.Program):
    tallies: ab.Partial[Tallies]
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def see(self, word: str) -> int:
        self.counts[word] += 1
        return ab.local(self.tallies.see(word))


def test_what_cannot_be_sent_ends_the_move_and_not_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    right, seen = moving.Successor.catch_up, list[int]()
    with ab.run(Seen(), workers=1) as app:

        def catch_up(self: moving.Successor) -> bool:
            """An epoch runs after the first slice."""
            if not seen:
                seen.append(app.see("a"))
            return right(self)

        with monkeypatch.context() as patch:
            patch.setattr(moving.Successor, "catch_up", catch_up)
            with pytest.raises(TypeError, match="Counter"):
                app.scale(workers=2)
        assert seen == [1] and app.see("a") == 2 and app.state.counts["a"] == 2
        assert len(app.metrics().workers) == 1


@pytest.mark.parametrize("tier", ["python", "compiled"])
def test_there_is_no_memory_at_a_worker_apart(tier: str) -> None:
    with ab.run(Counts(), workers=2, hosts="processes", tier=tier, memory="40MB") as app:  # type: ignore[arg-type]
        keys = 160_000 if tier == "python" else 520_000
        app.add.many({"key": list(range(n, n + 10_000))} for n in range(0, keys, 10_000))
        with pytest.raises(ab.MemoryFull):
            app.scale(workers=1)
        assert app.add(1) == 2 and len(app.metrics().workers) == 2
        assert sum(dict(app.state.counts.items()).values()) == keys + 1


@pytest.mark.parametrize("hosts", HOSTS)
def test_new_instances_of_a_mean_with_kernels(hosts: str) -> None:
    with run(Means(), 1, hosts, "compiled") as app:
        app.learn(3.0)
        app.scale(workers=3)
        assert app.weights() == [3.0, 3.0, 3.0]


class Grid(ab.Program):
    cells: ab.Partitioned[ab.DenseVector] = ab.DenseVector.zeros(200_000)

    def add(self, key: int, value: float) -> None:
        self.cells[key] += value


def test_what_was_refused_takes_no_memory() -> None:
    with ab.run(Grid(), workers=1, tier="compiled", memory="8MB") as app:
        app.add(1, 1.0)
        before = app.metrics().memory
        for _ in range(5):
            with pytest.raises(ab.MemoryFull):
                app.scale(workers=3)
        assert app.metrics().memory == before


def test_a_fork_says_that_it_keeps_its_workers_before_anything_moves() -> None:
    with run(Counts(), 2, "processes") as app, app.fork() as fork:
        fork.add(1)
        for workers in (1, 3):
            with pytest.raises(TypeError, match="as many workers as it was made with"):
                fork.scale(workers=workers)
        assert fork.add(1) == 2 and len(fork.metrics().workers) == 2


def test_spares_that_cannot_be_started_do_not_undo_a_move(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    with run(Counts(), 1, "processes") as app:
        app.add.many({"key": list(range(100))})
        scaling = app._engine.driver._scaling
        right = scaling._launcher.more

        def more(worker: int) -> None:
            if worker >= 2:
                raise RuntimeError("there is no slot")
            right(worker)

        with monkeypatch.context() as patch:
            patch.setattr(scaling._launcher, "more", more)
            patch.setattr(scaling, "_spares", 1)
            app.scale(workers=2)
        assert "there will be no spare workers: there is no slot" in caplog.text
        assert app.add(1) == 2 and len(app.metrics().workers) == 2
        app.scale(workers=3)
        assert app.add(1) == 3 and len(app.metrics().workers) == 3


def test_the_end_of_a_worker_that_counts_no_more_stops_nobody() -> None:
    with run(Counts(), 2, "processes") as app:
        coordinator = app._engine.coordinator
        assert coordinator.handle(Lost(2)) == [] and not coordinator.lost
        assert app.add(1) == 1


def test_what_was_not_finished_for_hosts_that_go_is_tried_again() -> None:
    asked: list[Collection[int]] = []
    leaving = [{1}, set[int](), set[int]()]

    def relieve(workers: Collection[int], why: str) -> None:
        asked.append(workers)
        if len(asked) == 1:
            raise ab.MemoryFull("not now")

    watch = Relieving(lambda: leaving.pop(0), SystemClock(), relieve)
    assert [watch._looked() for _ in range(3)] == [False, True, True]
    assert asked == [{1}, set()]


def test_the_second_half_of_a_relief_is_owed(monkeypatch: pytest.MonkeyPatch) -> None:
    with run(Counts(), 2, "processes") as app:
        app.add.many({"key": list(range(100))})
        engine, spreading = app._engine, app._spreading
        right, calls = engine.scale, list[int]()

        def scale(plan: Any) -> Any:
            calls.append(1)
            if len(calls) == 2:
                raise ab.MemoryFull("not now")
            return right(plan)

        monkeypatch.setattr(engine, "scale", scale)
        with pytest.raises(ab.MemoryFull):
            spreading.relieve({1}, "asked for")
        assert set(engine.routing.worker_of_instance) == {0}
        spreading.relieve((), "asked for")
        assert set(engine.routing.worker_of_instance) == {0, 1}
        spreading.relieve((), "asked for")
        assert len(calls) == 3
        assert app.add(1) == 2


def test_guests_are_waited_for_but_not_those_who_come_later() -> None:
    guests, left = Guests(), threading.Event()
    assert guests.wait(0.0)

    def stay() -> None:
        with guests.stay():
            left.wait()

    first = threading.Thread(target=stay)
    first.start()
    wait_until(lambda: guests._there, "nobody came")
    assert not guests.wait(0.01)
    waits = threading.Thread(target=guests.wait, args=(60.0,))
    waits.start()
    with guests.stay():
        left.set()
        waits.join(60.0)
        assert not waits.is_alive()
    first.join()
