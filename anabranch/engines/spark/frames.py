"""DataFrames in and out of an app: batches and streams.

Laws: rows go from Spark's tasks to the workers, and results from workers to Spark's tasks, not through this process; a
batch is applied once, however often its tasks or the whole of it are tried; its results are the same on each try.
"""

from __future__ import annotations

import logging
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from anabranch.drivers.durable.marks import STREAM, Mark, Marks
from anabranch.drivers.guests import Guests
from anabranch.drivers.streams import Broken
from anabranch.engines.spark.feeding import LOST, STAGED, Target, feed, fetch, unpack_problem
from anabranch.lang.arrow import arrow_field
from anabranch.lang.columns import read_batch, result_fields, result_table
from anabranch.lang.entry import add_note
from anabranch.lang.errors import BadInput
from anabranch.lang.scalars import show
from anabranch.lang.spec import EntrySpec
from anabranch.lang.types import NONE
from anabranch.runtime.messages import AtWorkers, Boxed, RowsLost

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger(__name__)

CONNECTION = f"{Broken.__module__}."  # in the text of what a task raises whose connection fails
TRIES = 5  # to feed a batch while workers are lost and come back
PAUSE = 0.5  # seconds between two of them, doubled from one to the next
GRACE = 5.0  # seconds in which it is known that a worker is lost
Sink = Callable[[DataFrame, int], None]
Results = Callable[[SparkSession], "DataFrame | None"]


class OutOfStep(RuntimeError):
    """A stream and a run that do not belong together."""


class Frames:
    """Feeds one app. `request` runs a request, `target` says where the rows of an entry go."""

    def __init__(
        self,
        request: Callable[[EntrySpec, Any, Any], Any],
        target: Callable[[str], Target],
        drop: Callable[[str, int], None],
        refuse_closed: Callable[[float], None],
        marks: Marks,
        recovers: bool,
        guests: Guests,
    ) -> None:
        """`marks` know the batches that were applied, also by an earlier run; `recovers` if lost workers come back.
        `guests` are those for whom workers stay where they are.
        """
        self._request, self._target, self._drop, self._refuse_closed = request, target, drop, refuse_closed
        self._marks, self._recovers, self._guests = marks, recovers, guests
        self._lock = threading.Lock()
        # By query: the last batch, under which name workers keep its results, how to get them, and where they are.
        self._applied: dict[str, tuple[int, str, Results, tuple[str, ...]]] = {}

    def many(self, spec: EntrySpec, frame: DataFrame) -> DataFrame | None:
        """A batch: its effects once, at once; its results as a DataFrame that does not change."""
        if not isinstance(frame, DataFrame):
            raise BadInput(f"expected a batch, got {show(frame)}; give a DataFrame", entry=spec.name, value=frame)
        if frame.isStreaming:
            raise TypeError(
                f"{spec.name}.many takes a DataFrame with an end: for a stream write {spec.name}.stream(df)"
            )
        with self._guests.stay():
            name, results, _ = self._apply(spec, frame, None)
            try:
                found: DataFrame | None = results(frame.sparkSession)
                return found and found.localCheckpoint(eager=True)  # it must not ask the workers again
            except Exception as error:
                self._explain(error)
                add_note(error, "the batch had been carried out; only its results could not be fetched")
                raise
            finally:
                self._drop(name, 1)

    def stream(self, spec: EntrySpec, frame: DataFrame, sink: Sink | None, options: dict[str, str]) -> StreamingQuery:
        """Each micro-batch is one request; `sink` gets its results."""
        if not frame.isStreaming:
            raise TypeError(f"{spec.name}.stream takes a streaming DataFrame: for a batch write {spec.name}.many(df)")
        if sink is not None and spec.result == NONE:
            raise TypeError(f"{spec.name} returns nothing: there is nothing for a sink")
        _check_names(spec, frame)

        def apply(batch: DataFrame, number: int) -> None:
            with self._guests.stay():
                apply_here(batch, number)

        def apply_here(batch: DataFrame, number: int) -> None:
            session = batch.sparkSession
            query = session.sparkContext.getLocalProperty("sql.streaming.queryId")
            results = self._apply_once(spec, batch, query or "", number)
            if sink is None:
                return
            if results is None:
                raise OutOfStep(
                    f"batch {number} of the stream was applied before, and its results have gone with the run or the "
                    "worker that had them, so that the sink cannot have them: read from app.state what the sink lacks, "
                    "then start the stream once without a sink"
                )
            found = results(session)
            if found is not None:
                sink(found, number)

        return frame.writeStream.foreachBatch(apply).options(**options).start()

    def _apply_once(self, spec: EntrySpec, batch: DataFrame, query: str, number: int) -> Results | None:
        """How to get the results of the batch; None if it was applied and they are gone."""
        with self._lock:
            known, _, results, at = self._applied.get(query, (-1, None, None, ()))
        mark = self._marks.get(STREAM, query)
        last = known if mark is None else max(known, mark)
        if number <= last:
            there = number == known and set(at) <= set(self._target(spec.name).addresses)
            return results if there else None
        if number != last + 1:
            raise OutOfStep(
                f"the stream is at batch {number}, and this run has applied "
                f"{f'the batches up to {last}' if last >= 0 else 'none of its batches'}: its checkpoint belongs to "
                "another run; give the stream a new checkpointLocation"
            )
        applied, results, at = self._apply(spec, batch, (STREAM, query, number))
        with self._lock:
            _, name, _, _ = self._applied.get(query, (-1, None, None, ()))
            self._applied[query] = number, applied, results, at
        if name is not None:
            self._drop(name, 1)
        return results

    def _apply(self, spec: EntrySpec, frame: DataFrame, mark: Mark | None) -> tuple[str, Results, tuple[str, ...]]:
        """Try until no worker is lost on the way."""
        for tried in range(TRIES):
            before = self._target(spec.name).routing
            try:
                return self._try(spec, frame, mark)
            except Exception as error:
                lost = isinstance(error, RowsLost) or CONNECTION in str(error)
                moved = lost and self._target(spec.name).routing != before
                if not ((moved or (lost and self._recovers)) and tried < TRIES - 1):
                    raise
                if not moved:
                    log.warning("a worker was lost while %s was fed: its rows are brought again", spec.name)
                    sleep(PAUSE * 2**tried)
        raise AssertionError("no try was the last")

    def _try(self, spec: EntrySpec, frame: DataFrame, mark: Mark | None) -> tuple[str, Results, tuple[str, ...]]:
        """Stage, seal, run; gives the name of the try, under which workers keep its results, how to get them, and the
        addresses of those workers.

        Each try has its own: what an earlier one has left, or still brings, is nobody's.
        """
        _check_names(spec, frame)
        self._refuse_closed(0.0)
        target, name = self._target(spec.name), uuid.uuid4().hex
        try:
            with quiet():
                staged = frame.mapInArrow(feed(target, name, 0, self._recovers), STAGED).collect()
            if any(row["rows"] == LOST for row in staged):
                raise RowsLost("a worker was gone when rows were brought to it")
            parts = sorted((row["partition"], row["attempt"], row["rows"]) for row in staged)
            problems = {row["partition"]: bytes(row["problem"]) for row in staged if row["problem"] is not None}
            if problems:
                raise _bad_input(spec, parts, problems)
            found = self._request(spec, AtWorkers(name, 0, tuple(parts), routing=target.routing), mark)
        except Exception as error:  # one that is interrupted may still be running, and must find its rows
            self._drop(name, 1)
            self._explain(error)
            raise
        self._drop(name, 0)
        if spec.result == NONE:
            return name, lambda session: None, ()
        if not isinstance(found, Boxed):  # it ran here
            table = result_table(spec, list(found))
            return name, lambda session: _frame(session, spec, table), ()
        bounds = _bounds([rows for _, _, rows in parts])
        read = fetch(target, name, 0, bounds)
        return name, lambda session: _reading(session, spec, read, len(bounds)), target.addresses

    def _explain(self, error: Exception) -> None:
        """A task that has lost a worker does not know why: raise what does."""
        if CONNECTION in str(error) and not self._recovers:
            try:
                self._refuse_closed(GRACE)
            except Exception as better:
                raise better from error


def _bounds(counts: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The first row of each partition and that after its last; one at least, as a DataFrame may have none."""
    found, first = [], 0
    for count in counts or (0,):
        found.append((first, first + count))
        first += count
    return tuple(found)


def _schema(spec: EntrySpec) -> StructType:
    """A time without zone stays one."""
    fields = [arrow_field(name, t) for name, t, _ in result_fields(spec)]
    return from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)


def _reading(session: SparkSession, spec: EntrySpec, read: Any, partitions: int) -> DataFrame:
    with quiet():
        return session.range(0, partitions, 1, partitions).mapInArrow(read, _schema(spec))


def _frame(session: SparkSession, spec: EntrySpec, table: pa.Table | None) -> DataFrame:
    assert table is not None
    with quiet():
        return session.createDataFrame(table, _schema(spec))


def _bad_input(spec: EntrySpec, parts: Sequence[tuple[int, int, int]], problems: dict[int, bytes]) -> BadInput:
    """The first bad row of all: partitions come in order, and each names its first."""
    first = 0
    for partition, _, rows in parts:
        if partition in problems:
            return unpack_problem(spec.name, first, problems[partition])
        first += rows
    raise AssertionError(f"no partition of {parts} has the problem")


def _check_names(spec: EntrySpec, frame: DataFrame) -> None:
    """Before anything runs, and also where there are no rows: the columns are those of the entry."""
    read_batch(spec, pa.Table.from_arrays([pa.nulls(0)] * len(frame.columns), frame.columns))


@contextmanager
def quiet() -> Iterator[None]:
    """PySpark warns of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pandas.*", category=FutureWarning)
        yield
