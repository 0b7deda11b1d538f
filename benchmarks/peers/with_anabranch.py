"""anabranch itself, in a process of its own like its peers: on threads of the embedded engine.

The entry is compiled when the app starts, outside the timing; input is Arrow, one batch a `many`, which takes effect
whole. Options: `workers`. Key/value, regression and recommender are the programs of ../../examples.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
from talk import Done, Spec, answer, settle, turns, weigh

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from programs import Sums, WindowedWords  # noqa: E402

import anabranch as ab  # noqa: E402
from examples.kvstore import KeyValueStore  # noqa: E402
from examples.logistic import LogisticRegression  # noqa: E402
from examples.recommender import Recommender  # noqa: E402


def fed(spec: Spec, program: ab.Program, entry: str, state: str) -> Done:
    """All batches go to one entry, and its state is the result."""
    before, counted = spec.batches_before(), spec.batches_counted()
    app = ab.run(program, workers=spec.options["workers"], tier="compiled")
    many = app.entries[entry].many
    for batch in before:
        many(batch)
    settle()
    start = perf_counter()
    for batch in counted:
        many(batch)
    return Done(perf_counter() - start, lambda: app.state[state].to_arrow())


def keyed_sum(spec: Spec) -> Done:
    return fed(spec, Sums(), "add", "totals")


def word_count(spec: Spec) -> Done:
    done = fed(spec, WindowedWords(spec.parameters["window"]), "add", "counts")

    def result() -> pa.Table:
        table = done.result().flatten()
        return table.rename_columns(["window", "word", "value"])

    return Done(done.seconds, result)


def key_value(spec: Spec) -> Done:
    return fed(spec, KeyValueStore(), "put", "data")


def recommender(spec: Spec) -> Done:
    """Ratings that follow each other are one `rate.many`, questions one `recommend.many`."""
    app = ab.run(Recommender(), workers=spec.options["workers"], tier="compiled")
    for batch in spec.batches_before():
        app.rate.many(batch)
    requests = [turn for batch in spec.batches_counted() for turn in turns(batch)]
    steps = [(asks, table.select(["user"]) if asks else table) for asks, table in requests]
    answers: list[Any] = []
    settle()
    start = perf_counter()
    for asks, table in steps:
        if asks:
            answers.append(app.recommend.many(table))
        else:
            app.rate.many(table)
    seconds = perf_counter() - start

    def result() -> pa.Table:
        rows = [[tuple(cell.values()) for cell in row] for answer in answers for row in answer["result"].to_pylist()]
        values = [weigh([item for item, _ in row], [score for _, score in row]) for row in rows]
        return pa.table({"value": pa.array(values, pa.float64())})

    return Done(seconds, result)


def logistic(spec: Spec) -> Done:
    """A pass over all points and an agreement of the workers on their mean is one iteration."""
    parameters = spec.parameters
    (table,) = spec.batches_counted()
    model = LogisticRegression(parameters["dimension"], parameters["rate"])
    app = ab.run(model, workers=spec.options["workers"], tier="compiled")
    settle()
    start = perf_counter()
    for _ in range(parameters["iterations"]):
        app.learn.many(table)
        weights = app.agree()
    return Done(perf_counter() - start, lambda: pa.table({"value": weights}))


if __name__ == "__main__":
    answer(
        {
            "keyed_sum": keyed_sum,
            "word_count": word_count,
            "key_value": key_value,
            "recommender": recommender,
            "logistic": logistic,
        },
        ("anabranch", "numba"),
    )
