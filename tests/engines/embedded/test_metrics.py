"""`app.metrics()`: numbers that add up, as an object, as text and as JSON."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.embedded import App
from anabranch.engines.embedded.metrics import _percentiles
from anabranch.runtime.backlog import Limits
from tests.engines.embedded.shop import Shop


def work(app: Any) -> None:
    app.supply.many({"sku": [f"s{i % 20}" for i in range(500)], "n": [1] * 500})
    for i in range(10):
        app.pay_in(i, 5)
    app.reward.many({"sku": ["s1"] * 100, "user": list(range(100))})
    app.buy.many({"sku": [f"s{i % 20}" for i in range(80)], "user": [1] * 80, "price": [1] * 80})
    app.basket(["s1", "s2", "s3"])
    app.sold()
    for bad in ({"user": [1] * 99 + [7], "n": [1] * 99 + [-1]}, {"user": [1], "n": [-1]}):
        with pytest.raises(ValueError, match="negative"):
            app.pay_in.many(bad)
    with pytest.raises(ab.BadInput):
        app.pay_in("x", 1)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_numbers_add_up(workers: int) -> None:
    before = time.perf_counter()
    with ab.run(Shop(), workers=workers, tier="python") as app:
        start = time.perf_counter()
        work(app)
        end = time.perf_counter()
        metrics = app.metrics()
        after = time.perf_counter()
        assert {name: (e.requests, e.failed, e.rows) for name, e in metrics.entries.items()} == {
            "supply": (1, 0, 500),
            "pay_in": (12, 2, 111),
            "reward": (1, 0, 100),
            "buy": (1, 0, 80),
            "basket": (1, 0, 1),
            "sold": (1, 0, 1),
        }
        assert (metrics.rows, metrics.requests) == (793, 17)
        assert metrics.epochs == app.version == 17
        assert metrics.stages >= metrics.epochs
        assert 0 < end - start <= metrics.seconds <= after - before
        for entry in metrics.entries.values():
            times = entry.latency
            assert times is not None and 0 < times.p50 <= times.p90 <= times.p99 <= times.max <= metrics.seconds
        rows = {name: task.rows for name, task in metrics.tasks.items()}
        assert {"supply.1": 500, "reward.1": 100, "reward.2": 100, "buy": 80}.items() <= rows.items()
        assert (rows["basket.1"], rows["basket.3"], rows["sold.1"], rows["sold.2"]) == (1, 3, workers, 1)
        assert rows["pay_in.1"] >= 10 + 100 + 1  # more where a failed batch runs again to say how it failed
        assert sum(task.share for task in metrics.tasks.values()) == pytest.approx(1.0)
        assert len(metrics.workers) == workers and all(0 <= share <= 1 for share in metrics.workers)
        assert sum(task.seconds for task in metrics.tasks.values()) <= metrics.seconds * sum(metrics.workers) * 1.01


def test_nothing_has_been_done_yet() -> None:
    with ab.run(Shop(), workers=2, tier="python") as app:
        metrics = app.metrics()
        assert (metrics.rows, metrics.requests, metrics.epochs, metrics.stages) == (0, 0, 0, 0)
        assert (dict(metrics.entries), dict(metrics.tasks)) == ({}, {})
        assert set(metrics.states) == {"stock", "wallet", "sales"} and min(metrics.states.values()) > 0
        assert str(metrics).startswith("0 rows in 0 requests, 0 epochs, 0 stages, ")


def test_reading_is_no_epoch_and_loading_is_one() -> None:
    with ab.run(Shop(), workers=2, tier="python") as app:
        app.supply("a", 1)
        assert (app.state.stock["a"], len(app.state.wallet), app.state.sales.copy()) == (1, 0, ab.Vector())
        assert app.metrics().epochs == app.version == 1
        app.state.stock.load([("b", 2)])
        metrics = app.metrics()
        assert (metrics.epochs, app.version, metrics.requests, metrics.rows) == (2, 2, 1, 1)


def test_metrics_are_of_their_moment() -> None:
    with ab.run(Shop(), workers=2, tier="python") as app:
        work(app)
        before = app.metrics()
        kept = before.to_dict()
        work(app)
        after = app.metrics()
        assert before.to_dict() == kept
        assert after.rows == 2 * before.rows and after.seconds > before.seconds
        for name, task in before.tasks.items():
            assert after.tasks[name].rows >= 2 * task.rows and after.tasks[name].seconds > task.seconds
        with pytest.raises(dataclasses.FrozenInstanceError):
            before.rows = 3  # type: ignore[misc]


def test_text_and_json() -> None:
    with ab.run(Shop(), workers=2, tier="python") as app:
        work(app)
        metrics = app.metrics()
        text = str(metrics)
        assert text.splitlines()[0].startswith("793 rows in 17 requests, 17 epochs, ")
        assert "  entry pay_in: 12 requests, 2 failed, 111 rows, p50 " in text
        assert "  task supply.1: 500 rows, " in text and "  state wallet: " in text
        data = json.loads(json.dumps(metrics.to_dict()))
        assert data["entries"]["pay_in"]["failed"] == 2 and set(data["entries"]["buy"]["latency"]) == LATENCY
        assert data["tasks"]["supply.1"]["rows"] == 500 and len(data["workers"]) == 2
        assert data["states"] == dict(metrics.states)


LATENCY = {"p50", "p90", "p99", "max"}


def test_stages_are_counted() -> None:
    app = App(Shop(), 2, limits=Limits(fused_rows=-1), tier="python")
    for number, call in enumerate((lambda: app.supply("a", 1), lambda: app.reward("a", 1), app.sold), 1):
        call()
        assert app.metrics().epochs == number
    assert app.metrics().stages == sum(app.explain().to_dict()["entries"][n]["stages"] for n in STRAIGHT)
    app.stop()


STRAIGHT = ("supply", "reward", "sold")


def test_a_busy_worker_is_seen() -> None:
    before = time.perf_counter()
    with ab.run(Shop(), workers=1, tier="python") as app:
        start = time.perf_counter()
        app.slow(1, 0.2)
        taken = time.perf_counter() - start
        metrics = app.metrics()
        whole = time.perf_counter() - before
        latency = metrics.entries["slow"].latency
        assert latency is not None and 0.2 <= metrics.tasks["slow.1"].seconds <= latency.p50 <= taken
        assert 0.2 / whole <= metrics.workers[0] <= min(1, taken / metrics.seconds)


def test_threads_are_counted_once() -> None:
    with ab.run(Shop(), workers=2, tier="python") as app:
        seen: list[int] = []

        def call(user: int) -> None:
            for i in range(50):
                app.pay_in(user, 1)
                app.pay_in.many({"user": [user] * 3, "n": [1] * 3})
                if i % 10 == 0:
                    seen.append(app.metrics().rows)

        threads = [threading.Thread(target=call, args=(user,)) for user in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        metrics = app.metrics()
        assert (metrics.rows, metrics.requests) == (800, 400)
        assert metrics.tasks["pay_in.1"].rows == 800
        assert 1 <= metrics.epochs <= 400 and max(seen) <= 800
        assert sum(app.state.wallet.values()) == 800


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([], None),
        ([3.0], (3.0, 3.0, 3.0, 3.0)),
        ([2.0, 1.0], (1.0, 2.0, 2.0, 2.0)),
        ([float(i) for i in range(100, 0, -1)], (50.0, 90.0, 99.0, 100.0)),
        ([float(i) for i in range(1000)], (499.0, 899.0, 989.0, 999.0)),
    ],
)
def test_percentiles(seconds: list[float], expected: tuple[float, ...] | None) -> None:
    found = _percentiles(seconds)
    assert (found and dataclasses.astuple(found)) == expected
