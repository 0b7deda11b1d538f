"""Snapshots that nobody waits for leave time to the epochs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from anabranch.drivers.durable import copying
from anabranch.drivers.durable import snapshots as module
from tests.engines.checkpoint.model import run

ROWS, SLICE = 100, 10


class Ticking:
    """A second goes by between two looks at it; rests are counted, and take no time."""

    def __init__(self, during: Callable[[], object]) -> None:
        self.ticks, self.rests, self._during = count(), list[float](), during

    def now(self) -> float:
        return float(next(self.ticks))

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.rests.append(seconds)
        self._during()
        return event.is_set()


@pytest.fixture(params=["threads", "processes"])
def app(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(copying, "SLICE", SLICE)
    with run(tmp_path, 1, hosts=request.param, tier="python") as found:
        for key in range(ROWS):
            found.pay(key, 1)
        yield found


def ticking(app: Any, during: Callable[[], object] = lambda: None) -> tuple[Any, Ticking]:
    snapshots = app._engine.saved.snapshots
    clock = snapshots._clock = Ticking(during)
    return snapshots, clock


def test_after_each_slice_it_rests_as_long_as_that_took(app: Any) -> None:
    snapshots, clock = ticking(app)
    snapshots._save(rests=True)
    assert len(clock.rests) >= 1 and set(clock.rests) == {module.REST}
    if isinstance(snapshots.source, module.Here):  # elsewhere slices have the size of that process
        assert len(clock.rests) >= ROWS // SLICE


def test_one_that_is_asked_for_does_not_rest(app: Any) -> None:
    _, clock = ticking(app)
    assert app.checkpoint() == app.version
    assert clock.rests == []


def test_it_hurries_when_somebody_waits_for_it(app: Any) -> None:
    asking: list[threading.Thread] = []

    def ask() -> None:
        asking.append(threading.Thread(target=app.checkpoint))
        asking[0].start()
        while not snapshots._waiting:
            sleep(0.001)

    snapshots, clock = ticking(app, ask)
    with snapshots._one:
        snapshots._save(rests=True)
    asking[0].join()
    assert len(clock.rests) == len(asking) == 1


def test_the_end_of_the_app_does_not_wait_for_a_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "SLICE", SLICE)
    monkeypatch.setattr(module, "REST", 1e9)
    app = run(tmp_path, 1, tier="python", snapshot_every=0.01)
    for key in range(ROWS):
        app.pay(key, 1)
    app.stop()
    with run(tmp_path, 1) as again:
        assert again.state.accounts[ROWS - 1] == 101
