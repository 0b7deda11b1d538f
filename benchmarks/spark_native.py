"""Sums by key in Spark's own streaming, as others would write them: what anabranch on Spark is measured beside.

    python benchmarks/spark_native.py [--json] [--rounds N] [--scale F]

Rows come from Parquet files of a folder, one file a micro-batch, keys uniform over a million. The state is in RocksDB,
in as many partitions as there are cores. `groupBy(key).sum(value)` reads files that first name every key, so that the
state has its full size when the timing starts; `transformWithStateInPandas` calls Python for every key of a batch, gets
fewer rows, and starts with no state. Figures are those of single micro-batches, `--rounds` of them (default: 9), after
as many that are not counted, by the times that Spark reports of them: from looking for files to the committed state.

`make_files`, `start_spark`, `keyed_sum_native` and `keyed_sum_pandas` are for other benchmarks too.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import ROOT, Bench, main

from tests.jvm import find_jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "key long, value double"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


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


@contextmanager
def start_spark(cores: int = 2, residents: int = 0) -> Iterator[SparkSession]:
    """A session on this machine with so many cores, and as many partitions of every state.

    `residents` are tasks that stay: there are slots for them beside the cores.
    """
    os.environ["JAVA_HOME"] = str(find_jvm())
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master(f"local[{cores + residents}]").appName("anabranch benchmarks")
        for name, value in {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "4g",
            "spark.executorEnv.PYTHONPATH": str(ROOT),
            "spark.local.dir": f"{folder}/local",
            "spark.log.level": "ERROR",
            "spark.sql.shuffle.partitions": str(cores),
            "spark.sql.streaming.numRecentProgressUpdates": "10000",
            "spark.sql.streaming.pollingDelay": "250ms",  # a stream that waits for files takes no time from another
            "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


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


def rows_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


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
