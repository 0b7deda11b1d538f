"""Sums by key in Spark's own streaming, as others would write them: what anabranch on Spark is measured beside.

    python benchmarks/spark_native.py [--json] [--rounds N] [--scale F]

Rows come from Parquet files of a folder, one file a micro-batch, keys uniform over a million. The state is in RocksDB,
in as many partitions as there are cores. `groupBy(key).sum(value)` reads files that first name every key, so that the
state has its full size when the timing starts; `transformWithStateInPandas` calls Python for every key of a batch, gets
fewer rows, and starts with no state. Figures are those of single micro-batches, `--rounds` of them (default: 9), after
as many that are not counted, by the times that Spark reports of them: from looking for files to the committed state.

`make_files`, `keyed_sum_native` and `keyed_sum_pandas` are for other benchmarks too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import Bench, main
from spark_session import rows_of, start_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def make_files(folder: Path, files: int, rows: int, keys: int, fill: bool = True) -> int:
    """Write Parquet files of uniformly distributed keys; with `fill`, before them as many as it takes to name every
    key once, with the value 0. How many files there are. Spark reads them in the order of their times.
    """
    folder.mkdir(parents=True)
    rng = np.random.default_rng(7)
    named = [np.arange(first, min(first + rows, keys)) for first in range(0, keys, rows)] if fill else []
    parts = [(each, np.zeros(len(each))) for each in named]
    # Of parts of two the sum is the same in any order.
    parts += [(rng.integers(0, keys, rows), rng.integers(0, 1024, rows) / 1024) for _ in range(files)]
    for number, (key, value) in enumerate(parts):
        path = folder / f"{number:05}.parquet"
        pq.write_table(pa.table({"key": key, "value": value}), path)
        time = path.stat().st_mtime - len(parts) + number
        os.utime(path, (time, time))
    return len(parts)


def keyed_sum_native(spark: SparkSession, folder: Path, batches: int) -> list[float]:
    """Rows a second of each of the last batches, by Spark's own aggregation."""
    return steady_rates(rows_of(spark, folder).groupBy("key").sum("value"), batches)


def keyed_sum_pandas(spark: SparkSession, folder: Path, batches: int) -> list[float]:
    """The same by a stateful processor in Python, which is called for every key of a batch."""
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

    class Sum(StatefulProcessor):  # in here, so that workers need not import this file
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.total = handle.getValueState("total", "total double")

        def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
            total = self.total.get()[0] if self.total.exists() else 0.0
            for frame in rows:
                total += float(frame["value"].sum())
            self.total.update((total,))
            yield pd.DataFrame({"key": [key[0]], "total": [total]})

        def close(self) -> None:
            pass

    grouped = rows_of(spark, folder).groupBy("key")
    return steady_rates(
        grouped.transformWithStateInPandas(Sum(), "key long, total double", outputMode="Update", timeMode="None"),
        batches,
    )


def steady_rates(results: DataFrame, batches: int) -> list[float]:
    """Run a stream over all of its files, results going nowhere; rows a second of each of the last batches."""
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = results.writeStream.format("noop").outputMode("update").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        found = [each for each in query.recentProgress if each["numInputRows"]]
    if len(found) < 2 * batches:
        raise ValueError(f"{len(found)} batches are too few to count {batches} of them: make more files")
    return [each["numInputRows"] * 1000 / each["durationMs"]["triggerExecution"] for each in found[-batches:]]


def measure(bench: Bench) -> None:
    count = len(bench.rounds)
    keys = bench.size("keys", 1_000_000)
    rows, few = bench.size("rows a batch", 200_000, 100), bench.size("rows a batch of pandas", 5_000, 100)
    with tempfile.TemporaryDirectory() as name, start_spark() as spark:
        folder = Path(name)
        bench.sizes["batches"] = make_files(folder / "native", 2 * count, rows, keys)
        bench.sizes["batches of pandas"] = make_files(folder / "pandas", 2 * count, few, keys, fill=False)
        bench.figure("groupBy.sum", keyed_sum_native(spark, folder / "native", count), "rows/s")
        bench.figure("transformWithStateInPandas", keyed_sum_pandas(spark, folder / "pandas", count), "rows/s")
    bench.note("rounds are micro-batches here; --tier plays no part")


if __name__ == "__main__":
    main(measure, __doc__)
