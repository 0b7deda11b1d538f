"""Programs on Spark, and DataFrames with the partitions that a test wants."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import anabranch as ab
from anabranch.testing.outcomes import canonical
from tests.conformance.engines import Engine, Running, Twins

Row = tuple[Any, ...]
LATE = 60.0  # seconds that count as never, on however busy a machine


def engine_on(session: SparkSession, workers: int = 2, tier: str = "auto") -> Engine:
    """The engine under test, as the tests of conformance take one."""

    def start(program: ab.Program) -> Running:
        app = ab.run(program, on=session, workers=workers, tier=tier)
        return Running(program, app, lambda name: getattr(app.state, name).copy(), app.stop, threads=4)

    return start


@contextmanager
def twins_on(session: SparkSession, program: Callable[[], ab.Program], tier: str = "auto") -> Iterator[Twins]:
    started = Twins.start(engine_on(session, tier=tier), program)
    try:
        yield started
    finally:
        started.run.stop()


def frame(session: SparkSession, parts: Sequence[Sequence[Row]], schema: str) -> DataFrame:
    """A DataFrame with exactly these partitions, of which some may be empty."""
    rows = session.sparkContext.parallelize([list(part) for part in parts], len(parts)).flatMap(lambda part: part)
    found = session.createDataFrame(rows, schema)
    assert found.rdd.getNumPartitions() == len(parts)
    return found


def as_frame(session: SparkSession, table: pa.Table) -> DataFrame:
    """A table as Spark has it, with times that have no zone as such."""
    return session.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


def values(table: pa.Table | DataFrame | None) -> Any:
    """The rows of a result, in order, bit by bit."""
    if table is None:
        return None
    return canonical((table if isinstance(table, pa.Table) else table.toArrow()).to_pylist())


def told(call: Callable[[], Any]) -> tuple[Any, ...]:
    """All that a caller sees of the exception of a call."""
    try:
        found = call()
    except BaseException as error:
        place = [getattr(error, name, None) for name in ("entry", "row", "column")]
        return type(error), str(error), canonical(error.args), getattr(error, "__notes__", []), *place
    raise AssertionError(f"did not raise, gave {found!r}")


def same(twins: Twins, entry: str, given: DataFrame) -> DataFrame | None:
    """The batch on both, which give the same and end the same; gives the results.

    What has no type in Spark (sets, vectors) is compared as Spark has it.
    """
    found: DataFrame | None = getattr(twins.run, entry).many(given)
    assert found is None or isinstance(found, DataFrame)
    expected = getattr(twins.plain, entry).many(given.toArrow())
    if found is None:
        assert expected is None
    else:
        again = as_frame(given.sparkSession, expected)
        assert found.schema.simpleString() == again.schema.simpleString()
        assert values(found) == values(again)
    assert twins.same_contents()
    return found


def refused(twins: Twins, entry: str, given: DataFrame) -> tuple[Any, ...]:
    """Both refuse the batch in the same words, and nothing has changed; gives the words."""
    before = twins.run.contents()
    found = told(lambda: getattr(twins.run, entry).many(given))
    assert found == told(lambda: getattr(twins.plain, entry).many(given.toArrow()))
    assert twins.run.contents() == before == twins.plain.contents()
    return found


def dealt(rows: Sequence[Row], partitions: int) -> list[list[Row]]:
    """In uneven partitions, the first and every third of them empty."""
    cuts = [len(rows) * i * i // partitions**2 for i in range(partitions)] + [len(rows)]
    parts = [list(rows[a:b]) for a, b in pairwise(cuts)]
    return [part for i, part in enumerate(parts) for part in ([[], part] if i % 3 == 0 else [part])]


def wait_until(what: Callable[[], object], otherwise: str, patience: float = LATE) -> None:
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, otherwise
        time.sleep(0.02)
