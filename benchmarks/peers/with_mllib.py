"""Spark MLlib: `LogisticRegression`, whose iterations are steps of L-BFGS over all points.

Tuned: points are cached in memory in two partitions, neither penalty nor scaling; a fit comes before the counted one,
so that the JVM is warm. A step of L-BFGS is one pass over the points, as an iteration of the others is; MLlib may stop
earlier than asked, when the model no longer changes, and its time is that of as many passes as were asked for.
"""

from __future__ import annotations

from time import perf_counter

import pyarrow as pa
from streams import start_spark
from talk import Done, Spec, answer


def logistic(spec: Spec) -> Done:
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions as f

    asked = spec.parameters["iterations"]
    with start_spark() as spark:
        rows = spark.read.parquet(*spec.counted)
        # The dimension that is always 1 is the intercept: MLlib gives a constant one no weight.
        features = array_to_vector(f.slice("x", 2, spec.parameters["dimension"] - 1)).alias("features")
        points = rows.select(features, f.col("y").alias("label")).repartition(2).cache()
        points.count()
        model = LogisticRegression(
            maxIter=asked, regParam=0.0, tol=0.0, fitIntercept=True, standardization=False, aggregationDepth=2
        )
        model.fit(points)
        start = perf_counter()
        fitted = model.fit(points)
        seconds = perf_counter() - start
        done = fitted.summary.totalIterations
        weights = [fitted.intercept, *fitted.coefficients.toArray()]
    return Done(seconds * asked / max(1, done), lambda: pa.table({"value": weights}))


if __name__ == "__main__":
    answer({"logistic": logistic}, ("pyspark",))
