"""Spark's `transformWithStateInPandas`: a stateful processor in Python, which is called for every key of a batch.

Tuned: as with_spark.py; a processor has one value of state, takes all rows of its key at once, and sends one row. It is
so slow that it gets few rows, and starts with no state, which can only be faster than a full one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streams import linked, rows_of, seconds_of, start_spark
from talk import Done, Spec, answer


def run(spec: Spec, schema: str, keys: str, type: str, step: str, prepare: Any = lambda rows: rows) -> Done:
    """`step` is how pandas makes one value of those of a batch: "sum" is added to the state, "max" compared with it."""
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

    names = [column.split()[0] for column in keys.split(", ")]

    class Keep(StatefulProcessor):  # in here, so that workers need not import this file
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.state = handle.getValueState("state", f"state {type}")

        def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
            value = self.state.get()[0] if self.state.exists() else 0
            for frame in rows:
                value = value + frame["value"].sum() if step == "sum" else max(value, frame["value"].max())
            value = float(value) if type == "double" else int(value)
            self.state.update((value,))
            yield pd.DataFrame({**{name: [part] for name, part in zip(names, key, strict=True)}, "value": [value]})

        def close(self) -> None:
            pass

    folder = Path(tempfile.mkdtemp(dir=Path(spec.out).parent))
    with start_spark() as spark:
        grouped = prepare(rows_of(spark, linked(spec), schema)).groupBy(*names)
        made = grouped.transformWithStateInPandas(Keep(), f"{keys}, value {type}", outputMode="Update", timeMode="None")
        writer = made.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(folder))
        seconds = seconds_of(writer.start(), spec)
        found = None
        if spec.check:
            state = spark.read.format("statestore").option("stateVarName", "state").load(str(folder))
            found = state.select("key.*", "value.*").toArrow().rename_columns([*names, "value"])
    return Done(seconds, lambda: found)


def keyed_sum(spec: Spec) -> Done:
    return run(spec, "key long, value double", "key long", "double", "sum")


def word_count(spec: Spec) -> Done:
    from pyspark.sql import functions as f

    def split(rows: Any) -> Any:
        window = f.floor(f.col("time") / spec.parameters["window"]).alias("window")
        return rows.select(window, f.explode(f.split("line", " ")).alias("word"), f.lit(1).alias("value"))

    return run(spec, "time long, line string", "window long, word string", "long", "sum", split)


def key_value(spec: Spec) -> Done:
    return run(spec, "key string, value long", "key string", "long", "max")


if __name__ == "__main__":
    answer({"keyed_sum": keyed_sum, "word_count": word_count, "key_value": key_value}, ("pyspark",))
