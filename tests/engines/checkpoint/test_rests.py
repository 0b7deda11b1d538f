"""Snapshots that nobody waits for leave time to the epochs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from anabranch.drivers.durable import copying
from anabranch.drivers.durable import snapshots as module
from tests.engines.checkpoint.model import run

ROWS, SLICE = 100, 10
LATE = 60.0  # seconds

Wait = Callable[[threading.Event], bool]


def at_once(event: threading.Event) -> bool:
    return event.is_set()


class Ticking:
    """A second goes by between two looks at it; rests are counted."""

    def __init__(self, wait: Wait) -> None:
        self.ticks, self.rests, self._wait = count(), list[float](), wait

    def now(self) -> float:
        return float(next(self.ticks))

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.rests.append(seconds)
        return self._wait(event)


def started(location: Path, hosts: str = "threads", **options: Any) -> Any:
    app = run(location, 1, hosts=hosts, tier="python", **options)
    for key in range(ROWS):
        app.pay(key, 1)
    return app


@pytest.fixture(params=["threads", "processes"])
def app(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(copying, "SLICE", SLICE)
    with started(tmp_path, request.param) as found:
        yield found


def ticking(app: Any, wait: Wait = at_once) -> tuple[Any, Ticking]:
    snapshots = app._engine.saved.snapshots
    clock = snapshots._clock = Ticking(wait)
    return snapshots, clock


def test_after_each_slice_it_rests_for_a_multiple_of_what_that_took(app: Any) -> None:
    snapshots, clock = ticking(app)
    snapshots._save(rests=True)
    if isinstance(snapshots.source, module.Here):
        assert len(clock.rests) >= ROWS // SLICE and set(clock.rests) == {module.REST}
    else:  # what others have written counts too, and slices are theirs
        assert len(clock.rests) >= 1 and all(module.REST <= rest < LATE for rest in clock.rests)


def test_one_that_is_asked_for_does_not_rest(app: Any) -> None:
    _, clock = ticking(app)
    assert app.checkpoint() == app.version
    assert clock.rests == []


def test_one_that_stops_the_run_does_not_rest(tmp_path: Path) -> None:
    with started(tmp_path, snapshot_mode="sync") as app:
        snapshots, clock = ticking(app)
        snapshots._save(rests=True)
        assert clock.rests == [] and snapshots.take() == app.version


@pytest.mark.parametrize("ask", [lambda app: app.checkpoint(), lambda app: app.scale(workers=2)], ids=["save", "scale"])
def test_who_waits_for_it_ends_a_rest_and_those_to_come(app: Any, ask: Callable[[Any], object]) -> None:
    asking = threading.Thread(target=ask, args=(app,))

    def wait(event: threading.Event) -> bool:
        if asking.ident is None:
            asking.start()
        assert event.wait(LATE), "the rest goes on"
        return True

    snapshots, clock = ticking(app, wait)
    with snapshots._one:
        snapshots._save(rests=True)
    asking.join(LATE)
    assert not asking.is_alive()
    assert clock.rests and not snapshots._hurry.is_set()


def test_the_end_of_the_app_does_not_wait_for_a_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "SLICE", SLICE)
    monkeypatch.setattr(module, "REST", 1e9)
    app = started(tmp_path, snapshot_every=0.01)
    end = monotonic() + LATE
    while not list((tmp_path / "snapshots").glob("*/*")) and monotonic() < end:
        sleep(0.01)
    assert list((tmp_path / "snapshots").glob("*/*")), "none was begun"
    app.stop()
    assert monotonic() < end
    with run(tmp_path, 1) as again:
        assert again.state.accounts[ROWS - 1] == 101
