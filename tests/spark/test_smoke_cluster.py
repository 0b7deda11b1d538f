"""Spark itself works here: executors in processes of their own, whose Python is ours and sees our sources."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession


def test_workers_run_this_python(cluster: SparkSession) -> None:
    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import anabranch

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable], "source": [anabranch.__file__]})

    import anabranch

    found = cluster.range(4, numPartitions=4).mapInArrow(tell, "python string, source string").toArrow()
    assert set(found["python"].to_pylist()) == {sys.executable}
    assert set(found["source"].to_pylist()) == {anabranch.__file__}
