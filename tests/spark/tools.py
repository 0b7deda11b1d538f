"""Programs on Spark, and DataFrames with the partitions that a test wants."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import anabranch as ab
from tests.conformance.engines import Engine, Running
from tests.generator.plain import canonical

Row = tuple[Any, ...]
LATE = 60.0  # seconds that count as never, on however busy a machine


def engine_on(session: SparkSession, workers: int = 2, tier: str = "auto") -> Engine:
    """The engine under test, as the tests of conformance take one."""

    def start(program: ab.Program) -> Running:
        app = ab.run(program, on=session, workers=workers, tier=tier)
        return Running(program, app, lambda name: getattr(app.state, name).copy(), app.stop, threads=4)

    return start


def frame(session: SparkSession, parts: Sequence[Sequence[Row]], schema: str) -> DataFrame:
    """A DataFrame with exactly these partitions, of which some may be empty."""
    rows = session.sparkContext.parallelize([list(part) for part in parts], len(parts)).flatMap(lambda part: part)
    found = session.createDataFrame(rows, schema)
    assert found.rdd.getNumPartitions() == len(parts)
    return found


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


def wait_until(what: Callable[[], object], otherwise: str, patience: float = LATE) -> None:
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, otherwise
        time.sleep(0.02)


def lives(pid: int) -> bool:
    """Is there such a process, and not only its grave?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
