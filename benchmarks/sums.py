"""Keyed sums: their rows, the plain version and the app, for the benchmarks that feed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from harness import PLAIN, Bench, Way, as_lists, dict_table, in_batches
from programs import Sums


def uniform_rows(rows: int, keys: int, batch: int) -> list[pa.RecordBatch]:
    """Rows of uniformly distributed keys, in batches."""
    rng = np.random.default_rng(7)
    return in_batches({"key": rng.integers(0, keys, rows), "value": rng.random(rows)}, batch)


def every_key(keys: int, batch: int) -> list[pa.RecordBatch]:
    """One row of value 0 for every key: fills a state."""
    return in_batches({"key": np.arange(keys), "value": np.zeros(keys)}, batch)


def plain_way(batches: Sequence[pa.RecordBatch], fill: Sequence[pa.RecordBatch] = ()) -> Way:
    """A loop over lists that adds to a `defaultdict(float)`, the fastest dict for this."""
    rows = as_lists(batches)

    def run(totals: dict[int, float]) -> None:
        for keys, values in rows:
            for key, value in zip(keys, values, strict=True):
                totals[key] += value

    def start() -> dict[int, float]:
        return defaultdict(float, (pair for batch in as_lists(fill) for pair in zip(*batch, strict=True)))

    return Way(PLAIN, start, run, lambda totals, _: (dict_table(totals), None))


def app_way(
    bench: Bench,
    batches: Sequence[Any],
    workers: int,
    fill: Sequence[pa.RecordBatch] = (),
    name: str | None = None,
    **where: Any,
) -> Way:
    def fill_state(app: Any) -> None:
        for batch in fill:
            app.add.many(batch)

    return bench.app_way(Sums, "add", batches, "totals", workers, fill_state, name, **where)
