"""What the recommender writes to its log: bytes a rating, beside those that came in and those that changed in state.

    python benchmarks/amplification.py [--json] [--rounds N] [--scale F] [--data FOLDER] [--disk FOLDER]
                                       [--plots FOLDER]

MovieLens 100K in the order of its file (ml-100k.parquet in FOLDER), or ratings of that shape where there is none, are
fed to the recommender of the demo in batches of 1, 100, 10,000 and 100,000, each time from nothing; a batch is an
epoch. A rating changes two cells for every item that its user has rated before. A cell that a batch changes several
times counts once as changed, with its row, its column and its value, 24 bytes; a rating that comes in is as long. The
state must be that of a plain version, at the end and after a restart, and rounds must log the same bytes. Single
ratings, each of which waits for the disk, are fed in one round only (about 6 minutes in all, and 2 GB of memory).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Bench, as_lists, in_batches, main, require_same, tiers_of
from locations import NEVER, Numbers, add_disk_options, draw, few_rounds, log_bytes, new_folder, point, rotated
from plot import Point
from recommend import RATINGS, Plain, read_ratings
from recommend import add_options as add_data_option

from anabranch.demo import Recommender

SIZES = (1, 100, 10_000, 100_000)  # ratings a batch
CELL = 24  # bytes of a row, a column and a value, and of a rating that comes in


def measure(bench: Bench) -> None:
    table, source = read_ratings(bench.options.data)
    bench.note(f"ratings: {source}")
    table = table.slice(0, bench.size("ratings", RATINGS, least=500))
    plain = Plain()
    plain.rate(*as_lists(in_batches(columns_of(table), table.num_rows))[0])
    expected = {"together": plain.together_table(), "ratings": table.rename_columns(["row", "column", "value"])}
    logged, seconds = defaultdict(list), defaultdict(list)
    for n in few_rounds(bench):
        for size in rotated(SIZES[min(n, 1) :], n):
            written, spent = feed(bench, table, size, expected)
            logged[size].append(written)
            seconds[size].append(spent)
    report(bench, table, logged, seconds)


def report(bench: Bench, table: pa.Table, logged: dict[int, list[int]], seconds: dict[int, list[float]]) -> None:
    lines: dict[str, list[Point]] = defaultdict(list)
    ratings = table.num_rows
    for size in SIZES:
        if len({*logged[size]}) > 1:
            raise AssertionError(f"batches of {size:,}: rounds have logged {logged[size]} bytes")
        written, changed = logged[size][0], CELL * sum(cells_changed(table, size))
        for figure, values, unit in (
            ("logged a rating", [written / ratings], "bytes"),
            ("changed in state a rating", [changed / ratings], "bytes"),
            ("logged / came in", [written / (CELL * ratings)], ""),
            ("logged / changed in state", [written / changed], ""),
            ("ratings", [ratings / spent for spent in seconds[size]], "rows/s"),
        ):
            bench.figure(f"batches of {size:,}, {figure}", values, unit)
        lines["logged"].append(point(size, [written / ratings]))
        lines["changed in state"].append(point(size, [changed / ratings]))
        lines["came in"].append(point(size, [CELL]))
    title = "What a rating writes to the log"
    draw(bench, "amplification.svg", title, "ratings a batch", "bytes a rating", lines)


def columns_of(table: pa.Table) -> dict[str, Any]:
    return dict(zip(table.column_names, table.columns, strict=True))


def feed(bench: Bench, table: pa.Table, size: int, expected: Mapping[str, pa.Table]) -> tuple[int, float]:
    """Bytes that are logged for all ratings, and the seconds that it takes."""
    batches = in_batches(columns_of(table), size)
    with new_folder(bench) as folder:
        with bench.run(Recommender(), 1, checkpoint=folder / "saved", **NEVER) as app:
            before, begun, start = log_bytes(app), app.metrics().epochs, perf_counter()
            for batch in batches:
                app.rate.many(batch)
            seconds = perf_counter() - start
            logged, epochs = log_bytes(app) - before, app.metrics().epochs - begun
            if epochs != len(batches):
                raise AssertionError(f"batches of {size:,}: {epochs:,} epochs for {len(batches):,} batches")
            check(app, expected, f"batches of {size:,}")
            bench.tiers["rate"] = tiers_of(app, "rate")
        with bench.run(Recommender(), 1, checkpoint=folder / "saved", **NEVER) as app:
            check(app, expected, f"batches of {size:,}, restarted,")
    return logged, seconds


def check(app: Any, expected: Mapping[str, pa.Table], who: str) -> None:
    for state, table in expected.items():
        require_same((table, None), (app.state[state].to_arrow(), None), f"{who} and plain, in {state},")


def cells_changed(table: pa.Table, size: int) -> Iterator[int]:
    """How many cells of both matrices each batch changes; no user rates an item twice."""
    users, items = table["user"].to_numpy(), table["item"].to_numpy()
    wide = int(items.max()) + 1
    rated: dict[int, list[int]] = defaultdict(list)
    for first in range(0, len(users), size):
        touched: list[Numbers] = []
        batch = range(first, min(first + size, len(users)))
        for n in batch:
            item = int(items[n])
            rated[int(users[n])].append(item)
            others = np.array(rated[int(users[n])])
            touched += (item * wide + others, others * wide + item)
        yield len(batch) + len(np.unique(np.concatenate(touched)))


def add_options(parser: argparse.ArgumentParser) -> None:
    add_data_option(parser)
    add_disk_options(parser)


if __name__ == "__main__":
    main(measure, __doc__, add_options)
