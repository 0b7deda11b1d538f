"""Streams into an app: each micro-batch once, whatever fails on the way, and its results to a sink."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import anabranch as ab
from anabranch.engines.spark import feeding
from tests.conformance.engines import Twins
from tests.spark.market import Market
from tests.spark.tools import LATE, frame, twins_on, values

Row = dict[str, Any]


class Files:
    """A stream of files of JSON, one in each micro-batch."""

    def __init__(self, session: SparkSession, folder: Path, schema: str) -> None:
        self._session, self._schema = session, schema
        self.folder, self.checkpoint = folder / "files", folder / "checkpoint"
        self.folder.mkdir(parents=True)
        self.written: list[list[Row]] = []

    def write(self, rows: list[Row]) -> None:
        """The next micro-batch. Spark reads files in the order of their times."""
        path, time = self.folder / f"{len(self.written):04}.json", 1_700_000_000 + len(self.written)
        path.with_suffix(".new").write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path.with_suffix(".new"), (time, time))
        path.with_suffix(".new").rename(path)
        self.written.append(rows)

    def read(self, partitions: int = 1) -> DataFrame:
        source = self._session.readStream.schema(self._schema).option("maxFilesPerTrigger", 1)
        found = source.option("pathGlobFilter", "*.json").json(str(self.folder))
        return found.repartition(partitions) if partitions > 1 else found

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for batch in self.written for row in batch]


class Sink:
    """Keeps what it gets: the number of each batch and its results."""

    def __init__(self, fails: int = 0) -> None:
        self.fails = fails
        self.got: list[tuple[int, list[Any]]] = []

    def __call__(self, results: DataFrame, batch: int) -> None:
        self.got.append((batch, [row.asDict() for row in results.collect()]))
        if self.fails:
            self.fails -= 1
            raise RuntimeError("the sink has failed")


def run(entry: Any, files: Files, sink: Any = None, partitions: int = 1) -> Any:
    """Feed all files that are there, and end."""
    query = start(entry, files, sink, partitions)
    query.processAllAvailable()
    query.stop()
    return query


def start(entry: Any, files: Files, sink: Any = None, partitions: int = 1) -> Any:
    return entry.stream(files.read(partitions), sink=sink, checkpointLocation=str(files.checkpoint))


@pytest.fixture(scope="module")
def market(retrying: SparkSession) -> Iterator[Twins]:
    with twins_on(retrying, Market) as started:
        yield started


@pytest.fixture
def files(retrying: SparkSession, tmp_path: Path) -> Files:
    return Files(retrying, tmp_path, "item long, by long")


def additions(batch: int, size: int = 40) -> list[Row]:
    return [{"item": (i * i + batch) % 7, "by": 100 * batch + i} for i in range(size)]


# -- batch after batch ------------------------------------------------------------------------------------------------


def test_a_stream_of_files(market: Twins, files: Files) -> None:
    """The results of each batch come to the sink in order, and the state is that of the plain run."""
    sink = Sink()
    for batch in range(4):
        files.write(additions(batch))
    run(market.run.add, files, sink)
    expected = [market.plain.add.many(rows) for rows in files.written]
    assert sink.got == [(i, [{"result": n} for n in results]) for i, results in enumerate(expected)]
    assert market.same_contents()


def test_without_a_sink_and_without_results(retrying: SparkSession, market: Twins, tmp_path: Path) -> None:
    visits = Files(retrying, tmp_path, "shop long, times double")
    for batch in range(3):
        visits.write([{"shop": i % 3, "times": float(i + batch)} for i in range(20)])
    run(market.run.visit, visits)
    market.plain.visit.many(visits.rows)
    assert market.same_contents()


def test_winding_entries(retrying: SparkSession, market: Twins, tmp_path: Path) -> None:
    moves = Files(retrying, tmp_path, "source long, target long, n long")
    stock = [(item, 1000) for item in range(7)]
    assert market.run.add.many(stock) == market.plain.add.many(stock)
    for batch in range(2):
        moves.write([{"source": i % 7, "target": (i * 3 + batch) % 7, "n": i % 4} for i in range(30)])
    sink = Sink()
    run(market.run.move, moves, sink)
    found = [row["result"] for _, results in sink.got for row in results]
    assert found == market.plain.move.many(moves.rows)
    assert market.same_contents()


# -- what is tried again ----------------------------------------------------------------------------------------------


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """Here every attempt at a feeding task leaves a file."""
    folder = tmp_path / "attempts"
    folder.mkdir()
    return folder


def failing_feed(marks: Path, one_in: int) -> Any:
    """As `feed`, but after a task has brought all its rows, some of its first attempts fail."""
    feed, batches_made = feeding.feed, count()

    def made(target: Any, query: str, batch: int, recovers: bool) -> Any:
        bring, number = feed(target, query, batch, recovers), next(batches_made)

        def bring_and_fail(batches: Any) -> Any:
            context = TaskContext.get()
            assert context is not None
            found = list(bring(batches))
            place = marks / f"{query}-{batch}-{context.partitionId()}-{context.taskAttemptId()}"
            place.touch()
            if (3 * number + context.partitionId()) % one_in == 0 and context.attemptNumber() == 0:
                raise RuntimeError("this attempt has brought its rows, and fails")
            yield from found

        return bring_and_fail

    return made


def attempts(marks: Path) -> tuple[int, int]:
    """How many partitions were fed, and in how many attempts."""
    names = [path.name.rsplit("-", 1)[0] for path in marks.iterdir()]
    return len(set(names)), len(names)


def test_attempts_that_fail_after_they_have_brought_their_rows(
    market: Twins, files: Files, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark tries them again: their rows are at the workers twice, and count once."""
    monkeypatch.setattr("anabranch.engines.spark.frames.feed", failing_feed(marks, 10))
    for batch in range(7):
        files.write(additions(batch, 30))
    sink = Sink()
    run(market.run.add, files, sink, partitions=3)
    partitions, tries = attempts(marks)
    assert partitions == 21 and tries == partitions + 3
    market.plain.add.many(files.rows)
    assert market.same_contents("stock")
    assert [len(results) for _, results in sink.got] == [30] * 7


def test_a_batch_whose_every_first_attempt_fails(
    retrying: SparkSession, market: Twins, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anabranch.engines.spark.frames.feed", failing_feed(marks, 1))
    given = frame(retrying, [[(i % 3, 1)] * 5 for i in range(4)], "item long, by long")
    lines = frame(retrying, [[("to be",)], [("or not",), ("to be",)]], "line string")
    found, split = market.run.add.many(given), market.run.read.many(lines)
    assert attempts(marks) == (6, 12)
    assert values(found) == values(market.plain.add.many(given.toArrow()))
    assert values(split) == values(market.plain.read.many(lines.toArrow()))
    assert market.same_contents()


def test_rows_that_come_after_all_is_done(
    retrying: SparkSession, market: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of a task that Spark has given up, and that does not know it yet."""
    made: list[Any] = []
    feed = feeding.feed

    def remembered(*args: Any) -> Any:
        made.append(args)
        return feed(*args)

    monkeypatch.setattr("anabranch.engines.spark.frames.feed", remembered)
    given = frame(retrying, [[(1, 1)], [(2, 2)]], "item long, by long")
    for _ in range(2):
        assert values(market.run.add.many(given)) == values(market.plain.add.many(given.toArrow()))
        for args in made:
            given.mapInArrow(feed(*args), feeding.STAGED).collect()
    assert market.same_contents()


# -- what is started again --------------------------------------------------------------------------------------------


def test_a_stream_goes_on_where_it_was(market: Twins, files: Files) -> None:
    sink = Sink()
    for batch in range(3):
        files.write(additions(batch, 10))
        run(market.run.add, files, sink)
    market.plain.add.many(files.rows)
    assert [batch for batch, _ in sink.got] == [0, 1, 2]
    assert market.same_contents()


@pytest.mark.parametrize("entry", ["add", "move"])
def test_a_sink_that_fails(retrying: SparkSession, market: Twins, tmp_path: Path, entry: str) -> None:
    """Spark has not seen the end of the batch and tries it again: it is not applied again, and gives the same."""
    schema = {"add": "item long, by long", "move": "source long, target long, n long"}[entry]
    files = Files(retrying, tmp_path, schema)
    columns = [column.split()[0] for column in schema.split(", ")]
    for batch in range(2):
        files.write([dict(zip(columns, (i % 3, (i + batch) % 4, 0), strict=False)) for i in range(10)])
    sink = Sink(fails=2)
    for _ in range(2):
        query = start(getattr(market.run, entry), files, sink)
        with pytest.raises(StreamingQueryException, match="the sink has failed"):
            query.processAllAvailable()
    run(getattr(market.run, entry), files, sink)
    getattr(market.plain, entry).many(files.rows)
    assert [batch for batch, _ in sink.got] == [0, 0, 0, 1]
    assert sink.got[0] == sink.got[1] == sink.got[2]
    assert market.same_contents()


def test_a_batch_that_raises_is_tried_again(retrying: SparkSession, market: Twins, tmp_path: Path) -> None:
    """It has changed nothing, and goes through once it can."""
    moves = Files(retrying, tmp_path, "source long, target long, n long")
    moves.write([{"source": 1, "target": 2, "n": 0}, {"source": 900, "target": 1, "n": 5}])
    sink = Sink()
    for _ in range(2):
        query = start(market.run.move, moves, sink)
        with pytest.raises(StreamingQueryException, match=r"ValueError: \('too few', 900, 0\)"):
            query.processAllAvailable()
        assert market.same_contents()
    market.run.add(900, 7)
    market.plain.add(900, 7)
    run(market.run.move, moves, sink)
    assert [row["result"] for _, results in sink.got for row in results] == market.plain.move.many(moves.rows)
    assert market.same_contents()


def test_bad_input_ends_a_stream(market: Twins, files: Files) -> None:
    files.write([{"item": 1, "by": 1}])
    files.write([{"item": 1, "by": 1}, {"item": None, "by": 1}])
    query = start(market.run.add, files)
    with pytest.raises(StreamingQueryException, match="add: row 1, column 'item': expected int, got None"):
        query.processAllAvailable()
    market.plain.add(1, 1)
    assert market.same_contents()


def test_a_checkpoint_of_another_run_is_refused(retrying: SparkSession, market: Twins, files: Files) -> None:
    for batch in range(2):
        files.write(additions(batch, 5))
    run(market.run.add, files)
    market.plain.add.many(files.rows)
    files.write(additions(2, 5))
    market.run._app._frames._applied.clear()  # as of an app that was started again
    market.run._app._engine.marks._known.clear()
    query = start(market.run.add, files)
    told = (
        r"OutOfStep: the stream is at batch 2, and this run has applied none of its batches: .*new checkpointLocation"
    )
    with pytest.raises(StreamingQueryException, match=told):
        query.processAllAvailable()
    assert market.same_contents()


def test_a_checkpoint_that_is_behind_applies_nothing_again(market: Twins, files: Files) -> None:
    """Someone has put back an older one: its batches were applied already, and are passed over."""
    for batch in range(3):
        files.write(additions(batch, 5))
    run(market.run.add, files)
    market.plain.add.many(files.rows)
    for kind in ("commits", "offsets"):
        for number in (1, 2) if kind == "commits" else (2,):
            for path in (files.checkpoint / kind).glob(f"*{number}*"):
                path.unlink()
    run(market.run.add, files)
    assert market.same_contents()


# -- at once ----------------------------------------------------------------------------------------------------------


def test_two_streams_and_calls_at_once(retrying: SparkSession, market: Twins, tmp_path: Path) -> None:
    streams = [Files(retrying, tmp_path / name, "item long, by long") for name in "ab"]
    for batch in range(3):
        for files in streams:
            files.write(additions(batch, 20))
    done = threading.Event()
    calls = 0

    def call() -> None:
        nonlocal calls
        while not done.is_set():
            market.run.add(3, 1)
            calls += 1

    caller = threading.Thread(target=call)
    caller.start()
    try:
        queries = [start(market.run.add, files) for files in streams]
        for query in queries:
            query.processAllAvailable()
            query.stop()
    finally:
        done.set()
        caller.join(LATE)
    assert calls > 0
    market.plain.add.many([*streams[0].rows, *streams[1].rows, *[(3, 1)] * calls])
    assert market.same_contents()


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_refusals(retrying: SparkSession, market: Twins, files: Files) -> None:
    with pytest.raises(
        TypeError, match=r"^add\.stream takes a streaming DataFrame: for a batch write add\.many\(df\)$"
    ):
        market.run.add.stream(retrying.range(3))
    with pytest.raises(TypeError, match=r"^visit returns nothing: there is nothing for a sink$"):
        market.run.visit.stream(files.read(), sink=Sink())
    with pytest.raises(
        ab.BadInput, match=r"^earn: column 'item': no such column; earn takes shop, cents; leave it out$"
    ):
        market.run.earn.stream(files.read())
    with ab.run(Market(), workers=1) as app, pytest.raises(TypeError, match=r"^add\.stream needs workers on Spark: "):
        app.add.stream(files.read())
