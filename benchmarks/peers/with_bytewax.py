"""Bytewax: one dataflow on one worker.

Tuned: `stateful_batch`, which is called once for all values of a key in a batch, where `stateful_map` is called for
each; rows are handed over in lists of ten thousand, already as (key, value) with the string keys that Bytewax asks for;
nothing is sent downstream before the end. A window is part of the key, as for anabranch: the operators for windows do
more. One worker, as more of them share Python's lock. The clock runs from the first counted row that the source hands
over until all rows are in the state; that the results leave at the end is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import bytewax.operators as op
import pyarrow as pa
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.testing import TestingSink, run_main
from talk import Done, Spec, answer, columns, keyed, settle

PIECE = 10_000  # items that the source hands over at once


class Clock:
    start = end = 0.0


class Pieces(StatelessSourcePartition[Any]):
    def __init__(self, pieces: list[list[Any]], first_counted: int, clock: Clock) -> None:
        self.pieces, self.first_counted, self.clock, self.number = pieces, first_counted, clock, 0

    def next_batch(self) -> list[Any]:
        if self.number >= len(self.pieces):
            raise StopIteration
        if self.number == self.first_counted:
            self.clock.start = perf_counter()
        self.number += 1
        return self.pieces[self.number - 1]


class Source(DynamicSource[Any]):
    def __init__(self, *given: Any) -> None:
        self.given = given

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Pieces:
        return Pieces(*self.given)


class Sum(StatefulBatchLogic[Any, Any, Any]):
    def __init__(self, clock: Clock) -> None:
        self.total, self.clock = 0, clock

    def on_batch(self, values: list[Any]) -> tuple[Iterable[Any], bool]:
        self.total += sum(values)
        return (), False

    def on_eof(self) -> tuple[Iterable[Any], bool]:
        self.clock.end = self.clock.end or perf_counter()
        return (self.total,), False

    def snapshot(self) -> Any:
        return self.total


class Last(Sum):
    def on_batch(self, values: list[Any]) -> tuple[Iterable[Any], bool]:
        self.total = values[-1]
        return (), False


Rows = Callable[[pa.Table], list[Any]]


def flow_over(spec: Spec, rows: Rows, logic: type[Sum], split: Callable[[Any], list[Any]] | None = None) -> Done:
    """`rows` makes items of a batch, outside the timing; `split` makes several of one, inside."""
    pieces: list[list[Any]] = []
    first_counted = 0
    for batches in (spec.batches_before(), spec.batches_counted()):
        first_counted = len(pieces)
        items = [item for batch in batches for item in rows(batch)]
        pieces += [items[first : first + PIECE] for first in range(0, len(items), PIECE)]
    clock, given = Clock(), []
    flow = Dataflow("workload")
    stream = op.input("in", flow, Source(pieces, first_counted, clock))
    if split is not None:
        stream = op.flat_map("split", stream, split)
    state = op.stateful_batch("state", stream, lambda resumed: logic(clock))
    op.output("out", state, TestingSink(given))
    settle()
    run_main(flow)
    return Done(clock.end - clock.start, lambda: keyed(dict(given)))


def keyed_sum(spec: Spec) -> Done:
    def rows(batch: pa.Table) -> list[Any]:
        keys, values = columns(batch)
        return list(zip(map(str, keys), values, strict=True))

    done = flow_over(spec, rows, Sum)
    return Done(done.seconds, lambda: done.result().cast(pa.schema({"key": pa.int64(), "value": pa.float64()})))


def word_count(spec: Spec) -> Done:
    size = spec.parameters["window"]

    def rows(batch: pa.Table) -> list[Any]:
        return list(zip(*columns(batch), strict=True))

    def split(row: tuple[int, str]) -> list[Any]:
        window = row[0] // size
        return [(f"{window} {word}", 1) for word in row[1].split()]

    done = flow_over(spec, rows, Sum, split)

    def result() -> pa.Table:
        table = done.result()
        names = [key.split(" ") for key in table["key"].to_pylist()]
        windows, words = [int(window) for window, _ in names], [word for _, word in names]
        return pa.table({"window": windows, "word": words, "value": table["value"]})

    return Done(done.seconds, result)


def key_value(spec: Spec) -> Done:
    return flow_over(spec, lambda batch: list(zip(*columns(batch), strict=True)), Last)


if __name__ == "__main__":
    answer({"keyed_sum": keyed_sum, "word_count": word_count, "key_value": key_value}, ("bytewax",))
