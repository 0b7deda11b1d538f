"""Pathway: a table that is reduced by key, on two threads.

Tuned: rows come from CSV files, which the engine reads itself in Rust; rows from Python and from a pandas frame were
slower when tried. All of a run is one batch, which is the least work there can be for its results: each leaves once.
No monitoring. Nobody gets the results while it is timed. The time of a run over what is there at first is taken off
that of one over all rows, which both follow another, so that starting costs nothing. A window is part of the key, as
for anabranch.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ.setdefault("PATHWAY_THREADS", "2")  # before the import, which reads it

import pathway as pw
import pyarrow as pa
import pyarrow.csv as csv
from files import longer, two_folders
from pathway.internals.parse_graph import G
from talk import Done, Spec, answer


class Sums(pw.Schema):
    key: int
    value: float


class Lines(pw.Schema):
    time: int
    line: str


class Puts(pw.Schema):
    key: str
    value: int


def run(folder: str, schema: Any, reduce: Callable[[Any], Any], out: str | None = None) -> float:
    """Seconds of a run; with `out` the results go there."""
    G.clear()
    start = perf_counter()
    table = reduce(pw.io.csv.read(folder, schema=schema, mode="static"))
    if out is None:
        pw.io.null.write(table)
    else:
        pw.io.csv.write(table, out)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return perf_counter() - start


def measured(spec: Spec, schema: Any, reduce: Callable[[Any], Any], types: dict[str, pa.DataType]) -> Done:
    logging.disable(logging.INFO)
    parent = Path(tempfile.mkdtemp(dir=Path(spec.out).parent))
    before, everything = two_folders(spec, parent, header=True)
    seconds = longer(lambda: run(before, schema, reduce), lambda: run(everything, schema, reduce))

    def result() -> pa.Table:
        out = parent / "result.csv"
        run(everything, schema, reduce, str(out))
        return csv.read_csv(out, convert_options=csv.ConvertOptions(column_types=types)).select(list(types))

    return Done(seconds, result)


def keyed_sum(spec: Spec) -> Done:
    def reduce(rows: Any) -> Any:
        return rows.groupby(rows.key).reduce(rows.key, value=pw.reducers.sum(rows.value))

    return measured(spec, Sums, reduce, {"key": pa.int64(), "value": pa.float64()})


def word_count(spec: Spec) -> Done:
    size = spec.parameters["window"]

    def reduce(rows: Any) -> Any:
        split = rows.select(window=rows.time // size, word=pw.apply_with_type(str.split, list[str], rows.line))
        words = split.flatten(split.word)
        return words.groupby(words.window, words.word).reduce(words.window, words.word, value=pw.reducers.count())

    return measured(spec, Lines, reduce, {"window": pa.int64(), "word": pa.string(), "value": pa.int64()})


def key_value(spec: Spec) -> Done:
    def reduce(rows: Any) -> Any:  # values grow, and the largest is found without an order
        return rows.groupby(rows.key).reduce(rows.key, value=pw.reducers.max(rows.value))

    return measured(spec, Puts, reduce, {"key": pa.string(), "value": pa.int64()})


if __name__ == "__main__":
    answer({"keyed_sum": keyed_sum, "word_count": word_count, "key_value": key_value}, ("pathway",))
