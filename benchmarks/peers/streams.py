"""A stream of Spark over the files of a workload, each a micro-batch, and what the counted ones took."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from talk import Done, Spec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spark_session import rows_of, start_spark


def linked(spec: Spec) -> Path:
    """A folder with the files; Spark reads them in the order of their times."""
    folder = Path(tempfile.mkdtemp(dir=Path(spec.out).parent))
    for number, file in enumerate([*spec.before, *spec.counted]):
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
        os.link(file, folder / f"{number:05}.parquet")
    return folder


def seconds_of(query: Any, spec: Spec) -> float:
    """What the counted micro-batches took, as Spark reports it: from looking for files to the committed state."""
    query.processAllAvailable()
    query.stop()
    told = [each for each in query.recentProgress if each["numInputRows"]]
    if len(told) != len(spec.before) + len(spec.counted):
        raise RuntimeError(f"{len(told)} micro-batches for {len(spec.before) + len(spec.counted)} files")
    return sum(each["durationMs"]["triggerExecution"] for each in told[-len(spec.counted) :]) / 1000


def run_stream(spec: Spec, schema: str, reduce: Callable[[Any], Any], names: Sequence[str]) -> Done:
    """An aggregation of Spark; its state is the result, and is read before the session ends."""
    checkpoint = tempfile.mkdtemp(dir=Path(spec.out).parent)
    with start_spark() as spark:
        rows = reduce(rows_of(spark, linked(spec), schema))
        writer = rows.writeStream.format("noop").outputMode("update").option("checkpointLocation", checkpoint)
        seconds = seconds_of(writer.start(), spec)
        found = state_of(spark, checkpoint, names) if spec.check else None
    return Done(seconds, lambda: found)


def state_of(spark: Any, checkpoint: str, names: Sequence[str]) -> pa.Table:
    found = spark.read.format("statestore").load(checkpoint).select("key.*", "value.*")
    return found.toArrow().rename_columns(list(names))
