"""Workers and feeders in executors of their own: nothing is shared with the driver but the network."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.drivers.callers import StateLost
from anabranch.engines.spark.tasks import SparkTasks
from examples.recommender import Recommender
from tests.generator.apps import check_apart
from tests.spark.market import Market, Whereabouts
from tests.spark.tools import as_frame, dealt, frame, twins_on, values, wait_until

SOON = 20.0  # seconds


def test_a_recommender(cluster: SparkSession) -> None:
    rated = [(i % 11, (i * 7) % 5, float(i % 3)) for i in range(200)]
    given = frame(cluster, dealt(rated, 3), "user long, item long, rating double")
    users = frame(cluster, dealt([(i,) for i in range(12)], 2), "user long")
    with twins_on(cluster, Recommender) as twins:
        assert twins.run.rate.many(given) is None
        twins.plain.rate.many(given.toArrow())
        assert twins.same_contents("ratings")
        found, expected = twins.run.recommend.many(users), twins.plain.recommend.many(users.toArrow())
        assert values(found) == values(as_frame(cluster, expected))
        twins.run.rate(3, 4, 2.0)
        twins.plain.rate(3, 4, 2.0)
        assert [twins.run.recommend(user) for user in range(12)] == [twins.plain.recommend(user) for user in range(12)]
        assert all(address.startswith("grpc://127.0.0.1:") for address in twins.run._app._engine.driver.addresses)


def test_a_stream(cluster: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for i in range(3):
        (tmp_path / "files" / f"{i}.json").write_text(f'{{"item": {i % 2}, "by": {10**i}}}\n' * 5)
    source = cluster.readStream.schema("item long, by long").option("maxFilesPerTrigger", 1)
    got: list[int] = []
    with ab.run(Market(), on=cluster, workers=2) as app:
        query = app.add.stream(
            source.json(str(tmp_path / "files")),
            sink=lambda results, batch: got.append(results.count()),
            checkpointLocation=str(tmp_path / "checkpoint"),
        )
        query.processAllAvailable()
        query.stop()
        assert got == [5, 5, 5]
        assert dict(app.state.stock.copy().items()) == {0: 505, 1: 50}


def test_a_random_program(cluster: SparkSession) -> None:
    check_apart(9_900_003, lambda workers: SparkTasks(cluster.sparkContext, workers))


def test_the_python_of_workers(cluster: SparkSession) -> None:
    with ab.run(Whereabouts(), on=cluster, workers=2) as app:
        assert {app.python(key) for key in range(16)} == {sys.executable}


def executor_of(pid: int) -> int:
    """The JVM that the daemon of a worker belongs to."""
    while "CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_text():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        assert pid > 1, "no executor found"
    return pid


def test_a_killed_executor(cluster: SparkSession) -> None:
    """Stands last: the cluster starts another, which takes its time."""
    with ab.run(Whereabouts(), on=cluster, workers=2) as app:
        workers: set[Any] = {app.where(key) for key in range(32)}
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(app.rest, 1, 60.0)
            os.kill(executor_of(min(workers)), signal.SIGKILL)
            with pytest.raises(StateLost, match=r"worker \d is lost \(.*\), and with it the state it held"):
                call.result(SOON)
    tracker = cluster.sparkContext.statusTracker()
    wait_until(lambda: not tracker.getActiveJobsIds(), "jobs are left", SOON)
    assert cluster.range(100).count() == 100
