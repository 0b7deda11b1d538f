"""`app.scale`: other workers, the same answers, nothing lost, and little to wait for."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers import moving
from anabranch.drivers.durable.settings import Saving
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import App
from tests.conformance.engines import nursery
from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import assert_alike, step

TIERS = ("python", "compiled")
HOSTS = ("threads", "processes")


class Bag:
    def __init__(self) -> None:
        self.words: dict[str, int] = {}

    @ab.writes
    def add(self, word: str) -> int:
        self.words[word] = self.words.get(word, 0) + 1
        return self.words[word]


class Words(ab.Program):
    """Own state that is spread by key."""

    bags: ab.Partitioned[Bag]

    def put(self, word: str) -> int:
        return self.bags.add(word)


class Means(ab.Program):
    weight: ab.Partial[ab.Value[float]] = ab.partial(ab.Value(0.0), merge=ab.mean)

    def learn(self, x: float) -> None:
        self.weight.value = x

    def weights(self) -> list[float]:
        return ab.gather(ab.everywhere(self.weight).value)


class Counts(ab.Program):
    counts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def add(self, key: int) -> int:
        self.counts[key] += 1
        return self.counts[key]


@contextmanager
def load(app: Any, keys: int, callers: int = 3) -> Iterator[list[int]]:
    """Callers that never pause; what each key was given is known in the end."""
    given, over, lock = [0] * keys, threading.Event(), threading.Lock()

    def call(seed: int) -> None:
        chance = random.Random(seed)
        while not over.is_set():
            if chance.random() < 0.5:
                asked = [chance.randrange(keys)]
                app.add(asked[0])
            else:
                asked = [chance.randrange(keys) for _ in range(300)]
                app.add.many({"key": asked})
            with lock:
                for key in asked:
                    given[key] += 1

    with ThreadPoolExecutor(callers) as pool:
        calls = [pool.submit(call, seed) for seed in range(callers)]
        try:
            yield given
        finally:
            over.set()
            for done in calls:
                done.result()


def run(program: ab.Program, workers: int, hosts: str, tier: str = "auto", **options: Any) -> Any:
    """As `ab.run`; worker processes come from a nursery that all tests share."""
    if hosts == "threads":
        return ab.run(program, workers=workers, tier=tier, **options)
    saving = Saving(options["checkpoint"], every=0.05) if "checkpoint" in options else None
    processes = Processes(workers, nursery())
    return App(program, workers, options.get("history", False), tier=tier, hosts=processes, saving=saving)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("hosts", HOSTS)
def test_nothing_is_lost_under_load(hosts: str, tier: str) -> None:
    with run(Counts(), 1, hosts, tier) as app:
        app.add.many({"key": list(range(20_000))})
        with load(app, 20_000) as given:
            for workers in (2, 3, 1, 4, 1):
                app.scale(workers=workers)
                assert len(app.metrics().workers) == workers
        counts = dict(app.state.counts.items())
        assert counts == {key: n + 1 for key, n in enumerate(given)}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("hosts", HOSTS)
def test_all_kinds_of_state(hosts: str, tier: str, tmp_path: Path) -> None:
    chance, plain = random.Random(3), Bank()
    with run(Bank(), 2, hosts, tier, checkpoint=tmp_path) as app:
        for workers in (3, 1, 2, 4, 3):
            for _ in range(10):
                step(chance, plain, app)
            app.scale(workers=workers)
            assert_alike(plain, app)
    with ab.run(Bank(), workers=2, tier=tier, checkpoint=tmp_path) as app:
        assert_alike(plain, app)


@pytest.mark.parametrize("hosts", HOSTS)
def test_the_history_can_be_replayed(hosts: str) -> None:
    with run(Means(), 1, hosts, history=True) as app:
        app.learn(4.0)
        app.scale(workers=3)
        assert app.weights() == [4.0, 4.0, 4.0]  # as they mean together
        app.learn(1.0)
        app.scale(workers=2)
        found = app.weights()
        assert len(found) == 3  # instances of partial state stay what they are
        replayed, answers = app.history().replay(Means())
        assert answers[-1] == [found] and len(replayed.instances("weight")) == 3


@pytest.mark.parametrize("hosts", HOSTS)
def test_what_a_new_instance_starts_from_is_saved(hosts: str, tmp_path: Path) -> None:
    crashed = run(Means(), 1, hosts, checkpoint=tmp_path)
    crashed.learn(4.0)
    crashed.scale(workers=3)
    with ab.run(Means(), workers=1, checkpoint=tmp_path) as app:
        assert app.weights() == [4.0, 4.0, 4.0]
    crashed.stop()


@pytest.mark.parametrize("hosts", HOSTS)
def test_versions_before_and_after(hosts: str, tmp_path: Path) -> None:
    with run(Counts(), 1, hosts, checkpoint=tmp_path) as app:
        app.add.many({"key": [1, 2, 3]})
        before = app.version
        app.scale(workers=2)
        app.add.many({"key": [3, 4]})
        assert dict(app.state.counts.as_of(before).items()) == {1: 1, 2: 1, 3: 1}
        assert dict(app.state.counts.as_of(app.version).items()) == {1: 1, 2: 1, 3: 2, 4: 1}
        app.checkpoint()
        assert sorted(ab.read_checkpoint(tmp_path, "counts")["key"].to_pylist()) == [1, 2, 3, 4]
    with ab.run(Counts(), workers=3, checkpoint=tmp_path) as app:
        assert dict(app.state.counts.items()) == {1: 1, 2: 1, 3: 2, 4: 1}


@pytest.mark.parametrize("hosts", HOSTS)
def test_a_fork_of_a_scaled_app_and_scaling_beside_a_fork(hosts: str) -> None:
    with run(Counts(), 1, hosts) as app:
        app.add.many({"key": [1, 2]})
        app.scale(workers=2)
        with app.fork() as fork:
            app.scale(workers=3)
            app.add(1)
            assert (fork.add(1), app.add(1)) == (2, 3)


def test_the_same_number_changes_nothing() -> None:
    with ab.run(Counts(), workers=2) as app:
        app.add(1)
        app.scale(workers=2)
        assert app.version == 1


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_workers(workers: Any) -> None:
    with ab.run(Counts(), workers=1) as app, pytest.raises(ValueError, match=r"app\.scale\(workers=2\)"):
        app.scale(workers=workers)


def test_own_types_that_are_spread_stay_where_they_are() -> None:
    with ab.run(Words(), workers=1) as app:
        app.put("a")
        with pytest.raises(ab.ProgramError, match="bags is partitioned, of a type of your own"):
            app.scale(workers=2)
        assert app.put("a") == 2


def test_an_app_that_has_stopped() -> None:
    app = ab.run(Counts(), workers=1)
    app.stop()
    with pytest.raises(ab.Stopped):
        app.scale(workers=2)


def test_what_goes_wrong_meanwhile_leaves_the_app_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with ab.run(Counts(), workers=1) as app:
        app.add.many({"key": list(range(100))})

        def full(*args: Any) -> None:
            raise OSError("the disk of the neighbours is full")

        with monkeypatch.context() as broken:
            broken.setattr(moving.Placing, "place", full)
            with pytest.raises(OSError, match="neighbours"):
                app.scale(workers=3)
        assert app.add(1) == 2 and len(app.metrics().workers) == 1
        app.scale(workers=2)
        assert app.add(1) == 3


def test_there_is_no_memory_for_both() -> None:
    with ab.run(Counts(), workers=1, tier="compiled", memory="5MB") as app:
        app.add.many({"key": list(range(80_000))})
        with pytest.raises(ab.MemoryFull):
            app.scale(workers=2)
        assert app.add(1) == 2
        before = app.metrics().memory
        assert before is not None and before.accounted < 5_000_000


@pytest.mark.parametrize("hosts", HOSTS)
def test_what_new_instances_started_from_is_on_disk(hosts: str, tmp_path: Path) -> None:
    """It is nowhere else: what they all mean together is another by then."""
    saving, launcher = Saving(tmp_path, every=3600.0), Processes(1, nursery()) if hosts == "processes" else None
    app = App(Means(), 1, False, tier="python", hosts=launcher, saving=saving)
    app.learn(3.0)
    app.scale(workers=3)
    assert app.weights() == [3.0, 3.0, 3.0]
    app.learn(9.0)
    before = app.weights()
    assert sorted(before) == [3.0, 3.0, 9.0]
    app._engine.driver.crash(RuntimeError("as if the power were gone"))
    with ab.run(Means(), workers=3, checkpoint=tmp_path) as again:
        assert again.weights() == before
