"""Workers as Spark tasks: streams beside Spark's own, calls, crossings, starts.

    python benchmarks/spark.py [PART ...] [--json] [--rounds N] [--scale F]

Parts (default: all): `stream` feeds keyed sums with `add.stream`, and `groupBy(key).sum(value)` on RocksDB, from the
same Parquet files, one a micro-batch: both streams are up, and each round gives a file to one and then to the other.
Every key has been named before. A round is what Spark reports of the micro-batch, from looking for files to the
committed state; at the end the sums of both must be those of numpy. `calls`, `crossings` and `starts` are those of
apart.py, on Spark, in processes and on threads. Two workers, and two cores for Spark's own tasks.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import Bench, Times, main, require_same
from hosts import PROCESSES, THREADS, WORKERS, measure_calls, measure_crossing, measure_starts
from programs import Sums
from spark_native import keyed_sum_pandas, make_files
from spark_session import rows_of, start_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

SIZES = (200_000, 1_000_000)  # rows a batch; below full size only the first
WARM = 6  # batches after every key is known, before those that count: the JVM compiles for so long


class Folder:
    """A stream of the files of a folder, and what it takes for the next of them."""

    def __init__(self, path: Path, start: Callable[[Path], StreamingQuery]) -> None:
        path.mkdir(parents=True)
        self._path, self._query = path, start(path)

    def take(self, file: Path) -> float:
        """Seconds, as Spark reports them."""
        os.link(file, self._path / file.name)
        self._query.processAllAvailable()
        told = next(each for each in reversed(self._query.recentProgress) if each["numInputRows"])
        return float(told["durationMs"]["triggerExecution"]) / 1000

    def stop(self) -> None:
        self._query.stop()


def measure_streams(bench: Bench, spark: SparkSession) -> None:
    keys = bench.size("keys", 1_000_000, least=1000)
    for full in SIZES if bench.options.scale >= 1 else SIZES[:1]:
        rows = bench.scaled(full, least=100)
        with tempfile.TemporaryDirectory() as name:
            measure_stream(bench, spark, Path(name), rows, keys)
    few = bench.size("rows a batch of pandas", 5_000, least=100)
    with tempfile.TemporaryDirectory() as name:
        make_files(Path(name, "pandas"), 2 * len(bench.rounds), few, keys, fill=False)
        rates = keyed_sum_pandas(spark, Path(name, "pandas"), len(bench.rounds))
    bench.figure(f"transformWithStateInPandas, {few:,} rows a batch, few keys in state", rates, "rows/s")


def measure_stream(bench: Bench, spark: SparkSession, folder: Path, rows: int, keys: int) -> None:
    warm = WARM if bench.options.scale >= 1 else 1
    make_files(folder / "files", warm + len(bench.rounds), rows, keys)
    files = sorted((folder / "files").iterdir())
    ours, native = f"stream, {WORKERS} workers", "groupBy.sum"
    with bench.run(Sums(), WORKERS, on=spark) as app, ExitStack() as stack:

        def start_ours(path: Path) -> StreamingQuery:
            query: StreamingQuery = app.add.stream(rows_of(spark, path), checkpointLocation=f"{folder}/ours-state")
            return query

        def start_native(path: Path) -> StreamingQuery:
            sums = rows_of(spark, path).groupBy("key").sum("value")
            writer = sums.writeStream.format("noop").outputMode("update")
            return writer.option("checkpointLocation", f"{folder}/native-state").start()

        streams = {ours: Folder(folder / "ours", start_ours), native: Folder(folder / "native", start_native)}
        for stream in streams.values():
            stack.callback(stream.stop)
        taken: dict[str, list[float]] = {name: [] for name in streams}
        for n, file in enumerate(files):
            for name in list(streams) if n % 2 else list(reversed(streams)):
                taken[name].append(streams[name].take(file))
        stack.close()
        expected = summed(files, keys), None
        require_same(expected, (app.state.totals.to_arrow(), None), f"{ours} and numpy")
    require_same(expected, (state_of(spark, folder / "native-state"), None), f"{native} and numpy")
    times = Times(rows, {name: seconds[-len(bench.rounds) :] for name, seconds in taken.items()})
    bench.timed(times, f"keyed sum, {rows:,} rows a batch")
    bench.figure(f"{ours} / {native}, {rows:,} rows a batch", times.ratio(ours, native), at_least=8)


def summed(files: list[Path], keys: int) -> pa.Table:
    totals = np.zeros(keys)
    for file in files:
        table = pq.read_table(file)
        totals += np.bincount(table["key"].to_numpy(), table["value"].to_numpy(), keys)
    return pa.table({"key": np.arange(keys), "value": totals})


def state_of(spark: SparkSession, checkpoint: Path) -> pa.Table:
    """What Spark has kept of its own aggregation."""
    found = spark.read.format("statestore").load(str(checkpoint)).select("key.*", "value.*").toArrow()
    return found.rename_columns(["key", "value"])


PARTS: dict[str, Callable[[Bench, Any], None]] = {
    "calls": lambda bench, hosts: measure_calls(bench, hosts, {"Spark": 3000}),
    "crossings": lambda bench, hosts: measure_crossing(bench, hosts, {"Spark": 3000, "processes": 3000}),
    "starts": lambda bench, hosts: measure_starts(bench, hosts, {"Spark": 8}),
    "stream": lambda bench, hosts: measure_streams(bench, hosts["Spark"]["on"]),
}


def measure(bench: Bench) -> None:
    with start_spark(residents=WORKERS) as spark:
        hosts = {"Spark": {"on": spark}, **PROCESSES, **THREADS}
        for part in bench.options.parts or PARTS:
            PARTS[part](bench, hosts)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")


if __name__ == "__main__":
    main(measure, __doc__, add_options)
