"""Spark itself works here: one JVM, Python workers on threads of it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession


def test_map_in_arrow(spark: SparkSession) -> None:
    def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pc.multiply(batch["id"], 2)], ["id"])

    found = spark.range(1000, numPartitions=4).mapInArrow(doubled, "id long").toArrow()
    assert sorted(found["id"].to_pylist()) == list(range(0, 2000, 2))
