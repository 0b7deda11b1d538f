"""Spark's own streaming: an aggregation by key that Spark compiles and runs in the JVM.

Tuned: see ../spark_session.py; two cores, two partitions, state in RocksDB with a log of changes, Parquet in, one file
a micro-batch, results to nowhere. Some micro-batches come before those that count: the JVM compiles meanwhile. The time
is Spark's own, from looking for files to the committed state. A window is part of the key, as for anabranch.
"""

from __future__ import annotations

from typing import Any

from streams import run_stream
from talk import Done, Spec, answer


def keyed_sum(spec: Spec) -> Done:
    return run_stream(spec, "key long, value double", lambda rows: rows.groupBy("key").sum("value"), ["key", "value"])


def word_count(spec: Spec) -> Done:
    from pyspark.sql import functions as f

    def count(rows: Any) -> Any:
        window = f.floor(f.col("time") / spec.parameters["window"]).alias("window")
        words = rows.select(window, f.explode(f.split("line", " ")).alias("word"))
        return words.groupBy("window", "word").count()

    return run_stream(spec, "time long, line string", count, ["window", "word", "value"])


def key_value(spec: Spec) -> Done:
    return run_stream(  # values grow: the largest is the last, in any order
        spec, "key string, value long", lambda rows: rows.groupBy("key").max("value"), ["key", "value"]
    )


if __name__ == "__main__":
    answer({"keyed_sum": keyed_sum, "word_count": word_count, "key_value": key_value}, ("pyspark",))
