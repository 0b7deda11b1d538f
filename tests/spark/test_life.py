"""Starts, ends and losses of apps on one session, which outlives them all."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.drivers.callers import StateLost, Stopped
from anabranch.engines.spark.session import taken_slots
from tests.spark.market import Market, Whereabouts
from tests.spark.tools import LATE, frame, wait_until

SOON = 10.0  # seconds in which everybody knows what has happened, on a busy machine; a stalled worker is found in 60
KILLED = r"worker \d is lost \(.*\), and with it the state it held: the run has ended; start it again with ab\.run"


def processes(app: Any) -> set[int]:
    """Of the workers: some key is at each."""
    return {app.where(key) for key in range(32)}


def running_jobs(spark: SparkSession) -> list[int]:
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


def is_usable(spark: SparkSession) -> bool:
    """All slots are free: as many tasks as there are must meet."""
    slots = 4

    def meet(_: Any) -> Any:
        time.sleep(0.3)
        return iter([os.getpid()])

    return len(set(spark.sparkContext.parallelize(range(slots), slots).mapPartitions(meet).collect())) == slots


def test_a_stop_leaves_nothing(spark: SparkSession) -> None:
    with ab.run(Whereabouts(), on=spark, workers=2) as app:
        workers = processes(app)
        assert len(workers) == 2 and os.getpid() not in workers
        assert len(running_jobs(spark)) == 2 == taken_slots()
    wait_until(lambda: not running_jobs(spark), "jobs are left", SOON)
    assert taken_slots() == 0
    wait_until(lambda: is_usable(spark), "a slot is taken", LATE)
    with pytest.raises(Stopped):
        app.where(1)
    with pytest.raises(Stopped):
        app.rest.many(frame(spark, [[(1, 0.0)]], "key long, seconds double"))


def test_two_apps_at_once(spark: SparkSession) -> None:
    with ab.run(Market(), on=spark, workers=1) as one, ab.run(Market(), on=spark, workers=2) as two:
        given = frame(spark, [[(1, 1)], [(2, 2), (1, 3)]], "item long, by long")
        found = one.add.many(given), two.add.many(given)
        assert [[row["result"] for row in results.collect()] for results in found] == [[1, 2, 4], [1, 2, 4]]
        one.stop()
        assert two.add(1, 1) == 5
    wait_until(lambda: not running_jobs(spark), "jobs are left", SOON)


@pytest.mark.parametrize("waiting", ["call", "many", "nobody"])
def test_a_killed_worker(spark: SparkSession, waiting: str) -> None:
    """Whoever waits is told at once; the session, and what else runs on it, goes on."""
    with ab.run(Whereabouts(), on=spark, workers=2) as app:
        workers = processes(app)
        rests = frame(spark, [[(key, 60.0)] for key in range(3)], "key long, seconds double")
        calls: dict[str, Callable[[], Any]] = {
            "call": lambda: app.rest(1, 60.0),
            "many": lambda: app.rest.many(rests),
            "nobody": lambda: wait_until(lambda: app._engine.driver.desk.broken, "nobody has noticed", SOON),
        }
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(calls[waiting])
            time.sleep(0.5 if waiting != "many" else 2.0)
            os.kill(min(workers), signal.SIGKILL)
            begun = time.monotonic()
            if waiting == "nobody":
                call.result()
            else:
                with pytest.raises(StateLost, match=KILLED):
                    call.result(SOON)
            assert time.monotonic() - begun < SOON
        for late in (lambda: app.where(1), lambda: app.state.calls[1], lambda: app.rest.many(rests)):
            with pytest.raises(StateLost, match=KILLED):
                late()
    wait_until(lambda: not running_jobs(spark), "jobs are left", SOON)
    wait_until(lambda: is_usable(spark), "a slot is taken", LATE)
    with ab.run(Market(), on=spark, workers=2) as another:
        assert another.add(1, 1) == 1


def test_a_worker_that_is_killed_while_rows_come(spark: SparkSession) -> None:
    """The feeding tasks fail, which is not what the caller is told."""
    with ab.run(Whereabouts(), on=spark, workers=2) as app:
        given = frame(spark, [[(1, 0.0)]], "key long, seconds double")
        killed = app.where(1)

        def kill(batches: Any) -> Any:
            os.kill(killed, signal.SIGKILL)
            yield from batches

        with pytest.raises(StateLost, match=KILLED):
            app.rest.many(given.mapInArrow(kill, given.schema))
    wait_until(lambda: is_usable(spark), "a slot is taken", LATE)


def test_a_cancelled_job(spark: SparkSession) -> None:
    """As Spark's page of jobs lets one do."""
    with ab.run(Market(), on=spark, workers=2) as app:
        spark.sparkContext.cancelAllJobs()
        wait_until(lambda: app._engine.driver.desk.broken, "nobody has noticed", SOON)
        with pytest.raises(StateLost, match=KILLED):
            app.add(1)
    wait_until(lambda: is_usable(spark), "a slot is taken", LATE)


def test_a_start_that_fails(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that cannot take the program: nothing is left of them."""
    monkeypatch.setattr("anabranch.engines.embedded.apart.fingerprint", lambda graph: "another")
    with pytest.raises(ab.ProgramError, match=r"worker \d cannot run the program: it has another one"):
        ab.run(Market(), on=spark, workers=2)
    monkeypatch.undo()
    wait_until(lambda: not running_jobs(spark), "jobs are left", SOON)
    assert taken_slots() == 0
    wait_until(lambda: is_usable(spark), "a slot is taken", LATE)


def test_a_start_that_is_interrupted(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("anabranch.drivers.apart.Apart._wait_for_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ab.run(Market(), on=spark, workers=2)
    monkeypatch.undo()
    wait_until(lambda: not running_jobs(spark), "jobs are left", SOON)
    assert taken_slots() == 0
    ab.run(Market(), on=spark, workers=2).stop()


def test_a_program_that_does_not_compile_starts_nothing(spark: SparkSession) -> None:
    with pytest.raises(TypeError, match=r"^ab\.run takes an object of a program class"):
        ab.run(Market, on=spark, workers=2)  # type: ignore[arg-type]
    assert not running_jobs(spark)
