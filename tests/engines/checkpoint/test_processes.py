"""Workers in processes of their own: saved, restored, lost and back again, alone."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.apart import Apart
from examples.kvstore import KeyValueStore
from tests.drivers.processes.tools import pids, wait_until
from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import assert_alike, run, step


@pytest.mark.parametrize("tier", ["python", "compiled"])
@pytest.mark.parametrize(
    "counts", [((2, "processes"), (2, "processes")), ((2, "threads"), (3, "processes"), (1, "threads"))]
)
def test_what_was_answered_is_there_again(tmp_path: Path, tier: str, counts: tuple[tuple[int, str], ...]) -> None:
    chance, program = random.Random(str(counts)), Bank()
    for workers, hosts in counts:
        with run(tmp_path, workers, hosts, tier=tier) as app:
            assert_alike(program, app)
            for _ in range(20):
                step(chance, program, app)
                if chance.random() < 0.1:
                    app.checkpoint()
            assert_alike(program, app)
    with run(tmp_path, 2, "processes", tier=tier) as app:
        assert_alike(program, app)


@pytest.mark.parametrize("tier", ["python", "compiled"])
def test_a_worker_that_is_killed_comes_back_alone(tmp_path: Path, tier: str) -> None:
    chance, program = random.Random(tier), Bank()
    with run(tmp_path, 2, "processes", tier=tier, snapshot_every=0.3) as app:
        for turn in range(6):
            for _ in range(8):
                step(chance, program, app)
            killed = pids(app)[turn % 2]
            os.kill(killed, signal.SIGKILL)
            if turn % 3 == 2:
                wait_for_another(app, turn % 2, killed)
        for _ in range(8):
            step(chance, program, app)
        assert_alike(program, app)
    with run(tmp_path, 2, "threads", tier=tier) as app:
        assert_alike(program, app)


def test_a_worker_that_is_killed_before_anything_happened_comes_back_with_its_kernels(tmp_path: Path) -> None:
    """There is nothing on disk yet: it begins as the first one did, and its batches come in columns all the same."""
    keys = [f"key {n}" for n in range(1_000)]
    with ab.run(KeyValueStore(), workers=2, hosts="processes", tier="compiled", checkpoint=tmp_path) as app:
        for worker, killed in pids(app).items():
            os.kill(killed, signal.SIGKILL)
            wait_for_another(app, worker, killed)
        app.put.many({"key": keys, "value": list(range(1_000))})
        assert app.increment.many({"key": keys})["result"] == list(range(1, 1_001))
        assert dict(app.state.data.scan()) == {key: n + 1 for n, key in enumerate(keys)}


def wait_for_another(app: Any, worker: int, killed: int) -> None:
    wait_until(lambda: pids(app).get(worker, killed) != killed, "none came in its place")


def test_workers_are_killed_while_callers_run(tmp_path: Path) -> None:
    paid = [0] * 50
    with run(tmp_path, 2, "processes", snapshot_every=0.2) as app:
        over = threading.Event()

        def pay(mine: range) -> None:
            chance = random.Random(mine.start)
            while not over.is_set():
                k = chance.choice(mine)
                app.pay(k, 1)
                paid[k] += 1

        threads = [threading.Thread(target=pay, args=(range(i, i + 25),)) for i in (0, 25)]
        for thread in threads:
            thread.start()
        chance = random.Random(1)
        for _ in range(4):
            threading.Event().wait(0.7)
            os.kill(chance.choice(list(pids(app).values())), signal.SIGKILL)
        threading.Event().wait(0.5)
        over.set()
        for thread in threads:
            thread.join()
        assert sum(paid) > 0
        assert [app.state.accounts[k] - 100 for k in range(50)] == paid


def test_a_worker_is_told_twice_to_restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when another is lost meanwhile. The log is long: it is restored into flat memory."""
    give = Apart._give

    def give_twice(driver: Apart, link: Any, version: Any) -> None:
        give(driver, link, version)
        give(driver, link, version)

    monkeypatch.setattr(Apart, "_give", give_twice)
    keys = range(70_000)
    with run(tmp_path, 2, "processes", tier="compiled") as app:
        app.state.accounts.load({"key": list(keys), "value": list(keys)})
        for worker in (0, 1):
            killed = pids(app)[worker]
            os.kill(killed, signal.SIGKILL)
            wait_for_another(app, worker, killed)
            assert app.pay(7, 1) == 8 + worker
        assert dict(app.state.accounts.copy().items()) == {**{k: k for k in keys}, 7: 9}
