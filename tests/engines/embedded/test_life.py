"""The life of an app: start, misuse, stop, what is refused afterwards."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.callers import Stopped
from tests.engines.embedded.doors import TIMEOUT, wait_until
from tests.engines.embedded.shop import OutOfStock, Shop

ROOT = Path(__file__).parents[3]
STOPPED = r"the app has been stopped: start another with ab.run\(...\)"


def workers_of(app: Any) -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t in app._engine.driver.threads]


def new_threads(before: list[threading.Thread]) -> list[threading.Thread]:
    """Those of other tests may end at any time."""
    return [t for t in threading.enumerate() if t not in before]


def test_a_with_block_stops_the_app() -> None:
    with ab.run(Shop(), workers=3) as app:
        assert len(workers_of(app)) == 3
        assert app.supply("a", 1) == 1
    assert workers_of(app) == []


def test_an_error_inside_a_with_block_arrives_and_stops_the_app() -> None:
    with pytest.raises(OutOfStock, match="none") as caught, ab.run(Shop(), workers=2) as app:
        app.buy("none", 1, 1)
    assert len(caught.value.__notes__) == 1
    assert workers_of(app) == []
    with pytest.raises(ZeroDivisionError), ab.run(Shop(), workers=2) as app:
        _ = 1 / 0
    assert workers_of(app) == []


def test_after_stop_all_but_the_past_is_refused() -> None:
    app = ab.run(Shop(), workers=2)
    app.supply("a", 1)
    app.stop()
    app.stop()
    calls: list[Any] = [
        lambda: app.supply("a", 1),
        lambda: app.supply.many({"sku": ["a"] * 500, "n": [1] * 500}),
        lambda: app.supply.many(iter([{"sku": ["a"], "n": [1]}])),
        lambda: app.entries["buy"]("a", 1, 1),
        lambda: app.state.stock["a"],
        lambda: len(app.state.stock),
        lambda: app.state.stock.copy(),
        lambda: app.state.stock.instances(),
        lambda: app.state.stock.to_arrow(),
        lambda: app.state.stock.nbytes,
        lambda: app.state.stock.load([("a", 1)]),
        app.metrics,
        app.history,
    ]
    for call in calls:
        with pytest.raises(Stopped, match=STOPPED):
            call()
    with pytest.raises(ab.BadInput, match="expected int"):
        app.supply("a", "x")
    assert (app.version, repr(app)) == (1, "<app Shop, 2 workers, version 1, stopped>")
    assert len(app.explain().entries) == len(app.entries)
    app.stop()


def test_many_stops_at_once() -> None:
    app = ab.run(Shop(), workers=2)
    threads = [threading.Thread(target=app.stop) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert not any(t.is_alive() for t in threads) and workers_of(app) == []


def test_stop_answers_what_has_been_asked() -> None:
    app = ab.run(Shop(), workers=2, history=True)
    answers: list[Any] = []
    answered: set[int] = set()

    def call(user: int) -> None:
        while True:
            try:
                answers.append(app.pay_in.many({"user": [user] * 200, "n": [1] * 200})["result"][-1])
                answers.append(app.pay_in(user, 0))
                answers.append(app.state.wallet[user])
                answered.add(user)
            except Stopped as error:
                answers.append(str(error))
                return

    threads = [threading.Thread(target=call, args=(user,), daemon=True) for user in range(6)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(answered) == 6, "a caller is never answered")
    app._engine.driver.stop(TIMEOUT)
    for thread in threads:
        thread.join(TIMEOUT)
    assert not any(t.is_alive() for t in threads) and workers_of(app) == []
    assert sum(isinstance(a, str) for a in answers) == 6
    # What was answered is what was done: nothing of what was refused took effect.
    wallet = {user: part[user] for part in app._engine.memory.parts["wallet"] for user in part}
    rows = sum(r.rows for r in app._recorder.history().requests if r.rows > 1)
    assert sum(wallet.values()) == rows
    assert max(a for a in answers if isinstance(a, int)) <= max(wallet.values())


def test_many_apps_live_side_by_side() -> None:
    before = threading.enumerate()
    apps = [ab.run(Shop(), workers=1 + i % 3) for i in range(20)]
    for i, app in enumerate(apps):
        app.supply.many({"sku": ["a"] * 100, "n": [i] * 100})
    assert [app.state.stock["a"] for app in apps] == [100 * i for i in range(20)]
    for app in apps:
        app.stop()
    assert not new_threads(before)


NEVER_STOPPED = """
import threading, time
import anabranch as ab
from tests.engines.embedded.shop import Shop
app, other = ab.run(Shop(), workers=2), ab.run(Shop(), workers=2)
app.supply.many({"sku": ["a"] * 500, "n": [1] * 500})
threading.Thread(target=lambda: other.slow.many({"user": [1] * 500, "seconds": [600.0] * 500}), daemon=True).start()
while not other._engine.coordinator.running:
    time.sleep(0.001)
time.sleep(0.1)  # most likely in the middle of a row
print(app.state.stock["a"])
"""


def test_an_app_that_is_never_stopped_does_not_keep_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", NEVER_STOPPED], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "500\n", "")


def test_the_program_and_its_app_go_their_own_ways() -> None:
    shop = Shop()
    shop.supply("a", 5)
    with ab.run(shop, workers=2) as app:
        shop.supply("a", 100)
        assert app.supply("a", 1) == 6
    assert shop.supply("a", 0) == 105


def test_reserved_names_are_not_yet_there() -> None:
    with ab.run(Shop(), workers=1) as app:
        for name in ("branch", "merge", "feeds", "advance", "wait"):
            with pytest.raises(AttributeError, match=f"app.{name} is reserved: not yet available"):
                getattr(app, name)
        for name in ("submit", "aio"):
            with pytest.raises(AttributeError, match=rf"supply.{name} is reserved: not yet available; call supply\("):
                getattr(app.supply, name)
        with pytest.raises(NotImplementedError, match="on_error='reject' is reserved: not yet available"):
            app.supply.many([("a", 1)], on_error="reject")
        with pytest.raises(
            AttributeError, match="the app has no attribute or entry 'suply': entries are supply, pay_in"
        ):
            app.suply("a", 1)
        with pytest.raises(AttributeError, match="the entry supply has no attribute 'meny'; it has many"):
            app.supply.meny([])
        for name in ("supply", "state", "entries"):
            with pytest.raises(AttributeError, match=f"app.{name} cannot be set"):
                setattr(app, name, None)
        assert set(app.entries) <= set(dir(app)) and app.supply.__doc__ == "One task."


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: ab.run(Shop),
            TypeError,
            r"ab.run takes an object of a program class, got <class .*: write ab.run\(Shop",
        ),
        (lambda: ab.run(None), TypeError, "ab.run takes an object of a program class, got None"),
        (lambda: ab.run(Shop(), workers=0), ValueError, r"at least 1, got 0: write ab.run\(..., workers=2\)"),
        (lambda: ab.run(Shop(), workers=-1), ValueError, "at least 1, got -1"),
        (lambda: ab.run(Shop(), workers=True), ValueError, "at least 1, got True"),
        (lambda: ab.run(Shop(), workers="2"), ValueError, "at least 1, got '2'"),
        (lambda: ab.run(Shop(), workers=2.0), ValueError, "at least 1, got 2.0"),
        (
            lambda: ab.run(Shop(), hosts="sparks"),
            ValueError,
            "hosts is one of 'threads', 'processes', got 'sparks'",
        ),
        (lambda: ab.run(Shop(), checkpoint=7), TypeError, "checkpoint is a path, a URL or a list of paths, got 7"),
        (lambda: ab.run(Shop(), 2), TypeError, "positional"),
    ],
)
def test_misuse_of_run(call: Any, kind: type[Exception], message: str) -> None:
    before = threading.enumerate()
    with pytest.raises(kind, match=message):
        call()
    assert not new_threads(before)


def test_a_program_that_breaks_the_rules_does_not_start() -> None:
    class Wrong(ab.Program):
        table: ab.Partitioned[ab.Table[int, int]]

        def size(self) -> int:
            return len(self.table)

    before = threading.enumerate()
    with pytest.raises(ab.CompileError, match="Wrong does not compile"):
        ab.run(Wrong(), workers=2)
    assert not new_threads(before)


def test_the_number_of_workers_is_that_of_the_cores() -> None:
    with ab.run(Shop()) as app:
        assert len(app.metrics().workers) >= 1
        assert len(app.state.sales.instances()) == len(app.metrics().workers)
