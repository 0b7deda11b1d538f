"""Apps on Spark that are saved: workers that die come back alone, streams are applied once across runs."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import anabranch as ab
from tests.drivers.processes.tools import Call
from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.held import A_WHILE, Held, keys_of
from tests.engines.checkpoint.model import assert_alike, run, step
from tests.spark.market import Market, Whereabouts
from tests.spark.test_stream import Files
from tests.spark.tools import dealt, frame


def kill_one(app: Any, chance: random.Random) -> None:
    os.kill(chance.choice(sorted({app.where(key) for key in range(32)})), signal.SIGKILL)


def test_from_threads_to_spark_and_back(spark: SparkSession, tmp_path: Path) -> None:
    chance, program = random.Random(3), Bank()
    for workers, on in ((2, None), (2, spark), (1, None), (3, spark)):
        with ab.run(Bank(), workers=workers, on=on, checkpoint=tmp_path, tier="python") as app:
            assert_alike(program, app)
            for _ in range(10):
                step(chance, program, app)
            app.checkpoint()
            for _ in range(5):
                step(chance, program, app)
    with run(tmp_path) as app:
        assert_alike(program, app)


def test_workers_that_are_killed_come_back_alone(spark: SparkSession, tmp_path: Path) -> None:
    chance, calls = random.Random(4), 0
    with ab.run(Whereabouts(), workers=2, on=spark, checkpoint=tmp_path, snapshot_every=0.5) as app:
        for _ in range(3):
            for key in range(20):
                app.rest(key, 0.0)
                calls += 1
            kill_one(app, chance)
            given = frame(spark, dealt([(key, 0.0) for key in range(20)], 2), "key long, seconds double")
            assert app.rest.many(given).count() == 20
            calls += 20
        assert sum(app.state.calls.copy().values()) >= calls
        told = dict(app.state.calls.copy().items())
    with ab.run(Whereabouts(), workers=2, checkpoint=tmp_path) as app:
        assert dict(app.state.calls.copy().items()) == told


def test_reads_of_the_others_keys_are_answered_while_a_worker_is_restored(spark: SparkSession, tmp_path: Path) -> None:
    with ab.run(Whereabouts(), workers=2, on=spark, checkpoint=tmp_path) as app:
        gone, here = keys_of(app, 0, 20), keys_of(app, 1, 20)
        for key in range(20):
            app.rest(key, 0.0)
        held = Held(app)
        try:
            held.lose(0, app.where(gone[0]))
            waiting = [Call(lambda: app.called(gone[1])), Call(lambda: app.rest(here[0], 0.0))]
            assert [app.called(key) for key in here] == [1] * len(here)
            assert app.state.calls[here[0]] == 1
            threading.Event().wait(A_WHILE)
            assert all(call.working for call in waiting)
        finally:
            held.let_go()
        assert [call.done() for call in waiting] == [1, 0.0]
        assert (app.called(gone[0]), app.called(here[0])) == (2, 2)


def test_a_stream_is_applied_once_across_runs_and_losses(spark: SparkSession, tmp_path: Path) -> None:
    files, total = Files(spark, tmp_path, "item long, by long"), 0
    chance = random.Random(5)
    for turn in range(3):
        with ab.run(Whereabouts(), workers=2, on=spark, checkpoint=tmp_path / "saved") as app:
            query = app.count.stream(files.read(2), checkpointLocation=str(files.checkpoint))
            for i in range(3):
                files.write([{"item": k, "by": 1 + turn} for k in range(10)])
                total += 10 * (1 + turn)
                if i == 1:
                    kill_one(app, chance)
                query.processAllAvailable()
            query.stop()
            assert sum(app.state.counts.copy().values()) == total
        if turn == 1:  # the stream forgets that its last batch was done
            last = max((files.checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
            last.unlink()
            (last.parent / f".{last.name}.crc").unlink(missing_ok=True)


def test_a_batch_of_rows_that_came_to_a_lost_worker_is_brought_again(spark: SparkSession, tmp_path: Path) -> None:
    with ab.run(Whereabouts(), workers=2, on=spark, checkpoint=tmp_path) as app:
        killed = app.where(1)
        given = frame(spark, [[(1, 0.0)], [(2, 0.0)]], "key long, seconds double")

        def kill(batches: Any) -> Any:
            if Path(f"/proc/{killed}").exists():
                os.kill(killed, signal.SIGKILL)
            yield from batches

        before = sum(app.state.calls.copy().values())
        assert app.rest.many(given.mapInArrow(kill, given.schema)).count() == 2
        assert sum(app.state.calls.copy().values()) == before + 2


def test_a_market(spark: SparkSession, tmp_path: Path) -> None:
    """Text keys, records, partial state."""
    for turn in range(2):
        with ab.run(Market(), workers=2, on=spark, checkpoint=tmp_path) as app:
            assert app.earn("é", 5) == 5 * (turn + 1)
            app.checkpoint()
