"""anabranch on Spark: the same programs, two workers that are tasks of Spark, fed by a stream of the same files.

The session is that of with_spark.py, with two slots more for the workers. The entry is compiled when the app starts.
The time of a micro-batch is Spark's own, as for Spark's streams. The regression is a program that holds its points.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

import pyarrow as pa
from streams import linked, rows_of, seconds_of, start_spark
from talk import Done, Spec, answer
from with_anabranch import KeyValueStore, Sums, WindowedWords, ab

from programs import HeldRegression  # isort: skip  (with_anabranch has put the folder on the path)

WORKERS = 2


def fed(spec: Spec, program: ab.Program, entry: str, state: str, schema: str) -> Done:
    checkpoint = tempfile.mkdtemp(dir=Path(spec.out).parent)
    with start_spark(residents=WORKERS) as spark, ab.run(program, workers=WORKERS, on=spark, tier="compiled") as app:
        rows = rows_of(spark, linked(spec), schema)
        query = app.entries[entry].stream(rows, checkpointLocation=checkpoint)
        seconds = seconds_of(query, spec)
        found = app.state[state].to_arrow() if spec.check else None
    return Done(seconds, lambda: found)


def keyed_sum(spec: Spec) -> Done:
    return fed(spec, Sums(), "add", "totals", "key long, value double")


def word_count(spec: Spec) -> Done:
    done = fed(spec, WindowedWords(spec.parameters["window"]), "add", "counts", "time long, line string")

    def result() -> pa.Table:
        return done.result().flatten().rename_columns(["window", "word", "value"])

    return Done(done.seconds, result)


def key_value(spec: Spec) -> Done:
    return fed(spec, KeyValueStore(), "put", "data", "key string, value long")


def logistic(spec: Spec) -> Done:
    """The points are held by the workers, as MLlib holds them cached, and learned from as the actors of Ray do; an
    iteration is a call, which moves weights. One pass is not counted.
    """
    parameters, batch = spec.parameters, 100
    (table,) = spec.batches_counted()
    firsts = range(0, table.num_rows, batch)
    x, y = (pa.array([table[name].slice(first, batch).to_pylist() for first in firsts]) for name in ("x", "y"))
    nothing = [0.0] * parameters["dimension"]
    with (
        start_spark(residents=WORKERS) as spark,
        ab.run(HeldRegression(parameters["rate"]), workers=WORKERS, on=spark) as app,
    ):
        app.hold.many(spark.createDataFrame(pa.table({"x": x, "y": y})))
        app.learn(nothing)
        weights, start = nothing, perf_counter()
        for _ in range(parameters["iterations"]):
            weights = app.learn(weights)
        seconds = perf_counter() - start
    return Done(seconds, lambda: pa.table({"value": weights}))


if __name__ == "__main__":
    workloads = {"keyed_sum": keyed_sum, "word_count": word_count, "key_value": key_value, "logistic": logistic}
    answer(workloads, ("anabranch", "pyspark"))
