"""While a worker that was lost is restored, what only reads is answered by the others, and everything else waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.callers import Stopped
from anabranch.drivers.durable.settings import Saving
from anabranch.drivers.fleet import Patience
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import App
from tests.conformance.engines import nursery
from tests.drivers.processes.tools import Call, pids, wait_until
from tests.engines.checkpoint.held import A_WHILE, Held, keys_of

KEYS = 40


class Shop(ab.Program):
    stock: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    prices: ab.Replicated[ab.Table[int, int]]

    def put(self, item: int, pieces: int) -> int:
        self.stock[item] += pieces
        return self.stock[item]

    def get(self, item: int) -> int:
        return self.stock[item]

    def both(self, item: int, other: int) -> int:
        return self.stock[item] + self.stock[other]

    def must(self, item: int) -> int:
        if self.stock[item] < 1000:
            raise LookupError(f"too few of {item}")
        return self.stock[item]

    def set_price(self, item: int, cents: int) -> None:
        ab.everywhere(self.prices)[item] = cents

    def price(self, item: int) -> int:
        return self.prices[item]

    def total(self) -> int:
        return sum(ab.gather(ab.everywhere(self.prices)[1]))


def start(folder: Path, workers: int, tier: str = "python") -> Any:
    app: Any = App(
        Shop(),
        workers,
        tier=tier,
        hosts=Processes(workers, nursery()),
        patience=Patience(60.0, 60.0, 5.0),
        saving=Saving(folder),
        history=True,
    )
    for item in range(KEYS):
        app.put(item, item)
    app.set_price(1, 10)
    return app


@contextmanager
def one_is_lost(folder: Path, workers: int = 2, tier: str = "python", lost: int = 0) -> Iterator[tuple[Any, Held]]:
    app = start(folder, workers, tier)
    held = Held(app)
    try:
        held.lose(lost, pids(app)[lost])
        yield app, held
    finally:
        held.let_go()
        app.stop()


def replays(app: Any) -> None:
    """The history gives the state that the app has; its answers are those of a plain run in the same order."""
    history, plain = app.history(), Shop()
    again, answers = history.replay(Shop())
    assert again.state("stock") == app.state.stock.copy()
    for request, answer in zip(history.requests, answers, strict=True):
        for row, got in zip(request.inputs, answer if isinstance(answer, list) else [answer], strict=True):
            if isinstance(got, LookupError):
                with pytest.raises(LookupError, match=str(got)):
                    getattr(plain, request.entry)(*row)
            elif request.entry != "total":  # which says how many instances there are
                assert getattr(plain, request.entry)(*row) == got


@pytest.mark.parametrize("tier", ["python", "compiled"])
def test_reads_of_the_others_keys_are_answered(tmp_path: Path, tier: str) -> None:
    with one_is_lost(tmp_path, tier=tier) as (app, held):
        gone, here = keys_of(app, 0, KEYS), keys_of(app, 1, KEYS)
        version, requests = app.version, len(app._recorder._kept)
        waiting = {k: Call(lambda k=k: app.get(k)) for k in gone[:2]}
        written = Call(lambda: app.put(here[0], 100))
        across = Call(lambda: app.both(here[1], gone[0]))
        everywhere = Call(app.total)
        seen = Call(lambda: app.state.stock[gone[0]])
        assert [app.get(k) for k in here] == here
        assert app.get.many({"item": here})["result"] == here
        assert app.both(here[1], here[2]) == here[1] + here[2]
        assert [app.price(1) for _ in range(5)] == [10] * 5
        assert app.state.stock[here[0]] == app.state.stock.get(here[0]) == here[0]
        with pytest.raises(LookupError, match=f"too few of {here[0]}") as raised:
            app.must(here[0])
        assert any("in entry 'must', row 0" in note for note in raised.value.__notes__)
        threading.Event().wait(A_WHILE)
        assert all(call.working for call in (*waiting.values(), written, across, everywhere, seen))
        assert app.version == version
        assert len(app._recorder._kept) == requests + len(here) + 8
        held.let_go()
        assert {k: call.done() for k, call in waiting.items()} == {k: k for k in gone[:2]}
        assert written.done() == here[0] + 100
        assert (across.done(), everywhere.done(), seen.done()) == (here[1] + gone[0], 20, gone[0])
        assert app.get(here[0]) == here[0] + 100
        replays(app)


def test_a_read_that_was_in_flight_is_answered_too(tmp_path: Path) -> None:
    """Callers that read all the time, also when the worker is lost, do not notice, but for those of its keys."""
    app = start(tmp_path, 2)
    held, over = Held(app), threading.Event()
    here, gone = keys_of(app, 1, KEYS), keys_of(app, 0, KEYS)
    done = [0, 0]

    def read(which: int, keys: list[int]) -> None:
        while not over.is_set():
            k = keys[done[which] % len(keys)]
            assert app.get(k) == k
            done[which] += 1

    callers = [Call(lambda: read(0, gone)), Call(lambda: read(1, here)), Call(lambda: read(1, here))]
    try:
        wait_until(lambda: min(done) > 20, "nobody reads")
        held.lose(0, pids(app)[0])
        before = list(done)
        wait_until(lambda: done[1] > before[1] + 20, "reads of the others' keys wait")
        assert done[0] <= before[0] + 1
        held.let_go()
        wait_until(lambda: done[0] > before[0] + 20, "reads of its keys wait for ever")
    finally:
        over.set()
        held.let_go()
        for caller in callers:
            caller.done()
        app.stop()


def test_a_second_worker_is_lost_meanwhile(tmp_path: Path) -> None:
    with one_is_lost(tmp_path, workers=3) as (app, held):
        gone, then, here = (keys_of(app, w, KEYS) for w in range(3))
        assert app.get(then[0]) == then[0]
        held.lose(1, pids(app)[1])
        waiting = [Call(lambda k=k: app.get(k)) for k in (gone[0], then[0])]
        assert [app.get(k) for k in here] == here
        threading.Event().wait(A_WHILE)
        assert all(call.working for call in waiting)
        held.let_go()
        assert [call.done() for call in waiting] == [gone[0], then[0]]
        replays(app)


def test_stop_meanwhile(tmp_path: Path) -> None:
    with one_is_lost(tmp_path) as (app, _):
        gone, here = keys_of(app, 0, KEYS), keys_of(app, 1, KEYS)
        waiting = [Call(lambda: app.get(gone[0])), Call(lambda: app.put(here[0], 1))]
        assert app.get(here[0]) == here[0]
        threading.Event().wait(0.2)
        app._engine.driver.stop(patience=0.3)
        for call in waiting:
            with pytest.raises(Stopped):
                call.done()
