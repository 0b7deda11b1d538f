"""Other workers on Spark while frames, streams and calls come in; slots; the number that follows the load."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.engines.spark.session import UnfitSession, taken_slots
from tests.engines.scaling.test_autoscale import Crunch
from tests.engines.scaling.test_scale import Counts, load
from tests.spark.test_stream import Files
from tests.spark.tools import LATE, frame, wait_until


def test_calls_and_frames_while_workers_come_and_go(spark: SparkSession) -> None:
    chance = random.Random(1)
    with ab.run(Counts(), on=spark, workers=1) as app:
        app.add.many({"key": list(range(2000))})
        fed = [0] * 2000
        with load(app, 2000, callers=1) as given:
            for workers in (2, 3, 1):
                app.scale(workers=workers)
                rows = [(chance.randrange(2000),) for _ in range(200)]
                app.add.many(frame(spark, [rows[:150], rows[150:]], "key long"))
                for (key,) in rows:
                    fed[key] += 1
                assert taken_slots() == workers
        counts = dict(app.state.counts.items())
        assert counts == {key: 1 + n + m for key, (n, m) in enumerate(zip(given, fed, strict=True))}
        assert [(m.before, m.after) for m in app.metrics().moves] == [(1, 2), (2, 3), (3, 1)]


def test_a_stream_while_workers_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path / "stream", "key long")
    with ab.run(Counts(), on=spark, workers=1, checkpoint=tmp_path / "app") as app:
        options = {"checkpointLocation": str(files.checkpoint)}
        files.write([{"key": 1}])
        query = app.add.stream(files.read(), **options)
        for workers in (2, 1):
            files.write([{"key": key % 50} for key in range(500)])
            app.scale(workers=workers)
        files.write([{"key": 1}])
        query.processAllAvailable()
        query.stop()
        wanted = dict.fromkeys(range(50), 20) | {1: 22}
        assert dict(app.state.counts.items()) == wanted
    with ab.run(Counts(), workers=2, checkpoint=tmp_path / "app") as app:
        assert dict(app.state.counts.items()) == wanted


def test_workers_for_whom_there_is_no_slot_change_nothing(spark: SparkSession) -> None:
    with ab.run(Counts(), on=spark, workers=2) as app:
        app.add(1)
        with pytest.raises(UnfitSession, match=r"has 4, of which workers have 3 already: start it with master"):
            app.scale(workers=4)
        wait_until(lambda: taken_slots() == 2, "a worker is left", LATE)
        assert app.add(1) == 2
        app.scale(workers=3)
        assert app.add(1) == 3


def test_the_number_follows_the_load(spark: SparkSession) -> None:
    settings = ab.Autoscale(max=2, reports=2, every=0.1, threshold=0.5)
    plain = Crunch()
    with ab.run(Crunch(), on=spark, autoscale=settings, spares=1, tier="python") as app:
        rows = {"key": [k % 50 for k in range(200)]}

        def more() -> bool:
            """The plain runs come after the others: while they run, the worker has nothing to do."""
            found = [app.crunch.many(rows) for _ in range(10)]
            assert found == [plain.crunch.many(rows) for _ in range(10)]
            return len(app.metrics().workers) == 2

        wait_until(more, "there is one worker still", LATE)
        wait_until(lambda: len(app.metrics().workers) == 1, "there are two workers still", LATE)
        assert app.crunch.many(rows) == plain.crunch.many(rows)


class Stock(ab.Program):
    pieces: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def move(self, source: int, target: int, pieces: int) -> int:
        """Winding: rows of a frame are brought to one place for it."""
        if pieces < 0:
            raise ValueError(f"{pieces} pieces")
        self.pieces[source] -= pieces
        self.pieces[target] += pieces
        return self.pieces[source]


def test_rows_are_not_looked_for_at_workers_that_have_none(spark: SparkSession) -> None:
    with ab.run(Stock(), on=spark, workers=1, spares=1) as app:
        wait_until(lambda: taken_slots() == 2, "there is no spare worker", LATE)
        schema = "source long, target long, pieces long"
        found = app.move.many(frame(spark, [[(1, 2, 5)], [(1, 3, 1)]], schema))
        assert [row["result"] for row in found.collect()] == [-5, -6]
        with pytest.raises(ValueError, match="-1 pieces"):
            app.move.many(frame(spark, [[(1, 2, 5), (1, 2, -1)]], schema))
        assert app.move(1, 2, 1) == -7
