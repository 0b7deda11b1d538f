"""An executor that is decommissioned: state moves away before it goes, and nothing is lost though nothing is saved."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.engines.embedded.relieving import WHY
from tests.engines.scaling.test_scale import Counts, load
from tests.spark.conftest import CLUSTER
from tests.spark.tools import LATE, wait_until

KEYS = 2000


@pytest.fixture(scope="module")
def leaving(spark_host: Any) -> Iterator[SparkSession]:
    yield spark_host.give(CLUSTER, spark_decommission_enabled="true")
    spark_host.stop()


def executor(session: SparkSession, number: str) -> int:
    """The process of an executor."""
    wanted = {"--executor-id": number, "--app-id": session.sparkContext.applicationId}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if all(name in words and words[words.index(name) + 1] == value for name, value in wanted.items()):
            return int(process.name)
    raise AssertionError(f"there is no executor {number}")


@pytest.mark.parametrize("workers", [1, 3])
def test_state_moves_away_before_an_executor_goes(leaving: SparkSession, workers: int) -> None:
    with ab.run(Counts(), on=leaving, workers=workers) as app:
        app.add.many({"key": list(range(KEYS))})
        tasks: Any = app._engine.driver._launcher
        before = {w: tasks._executor_of(w) for w in range(workers)}
        gone = before[0]
        pid = executor(leaving, gone)
        with load(app, KEYS, callers=1) as given:
            os.kill(pid, signal.SIGPWR)
            wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the executor does not go", LATE)
            wait_until(lambda: len(app.metrics().moves) == 2, "the state is not spread again", LATE)
        assert gone not in {tasks._executor_of(w) for w in range(workers)}
        assert dict(app.state.counts.items()) == {key: 1 + n for key, n in enumerate(given)}
        moves = app.metrics().moves
        assert moves[0].why == WHY and moves[-1].after == workers


def test_a_session_without_decommission_is_not_watched(leaving: SparkSession) -> None:
    with ab.run(Counts(), on=leaving, workers=1) as app:
        assert len(app._watches) == 1
    leaving.sparkContext._conf.set("spark.decommission.enabled", "false")
    try:
        with ab.run(Counts(), on=leaving, workers=1) as app:
            assert not app._watches
    finally:
        leaving.sparkContext._conf.set("spark.decommission.enabled", "true")
