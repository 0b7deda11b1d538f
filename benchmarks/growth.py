"""Keyed sums as the work grows: more keys, larger batches, more workers. Draws a plot of each.

    python benchmarks/growth.py [--json] [--rounds N] [--scale F] [--plots FOLDER]

State holds every key before the timing, and goes on from round to round. Ten million rows; where nothing else is said,
a million keys in batches of a million rows. Of small batches fewer rows are fed: ten thousand batches of each size.
With 30 million keys the ways together take about ten gigabytes. At last an empty state grows to as many keys in small
batches, each of which is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pyarrow as pa
from bare import bare_way, threads_name, threads_way
from harness import PLAIN, ROOT, Bench, Times, app_name, main
from plot import Point, line_plot
from programs import Sums
from report import Spread
from sums import app_way, every_key, plain_way, uniform_rows

ROWS, KEYS, BATCH = 10_000_000, 1_000_000, 1_000_000
Lines = dict[str, list[Point]]


def add_points(lines: Lines, x: int, times: Times) -> None:
    for way in times.seconds:
        spread = Spread.of(times.per_second(way))
        lines.setdefault(way, []).append(Point(x, spread.median, spread.low, spread.high))


def time_sums(bench: Bench, rows: int, keys: int, size: int, group: str) -> Times:
    batches, fill = uniform_rows(rows, keys, size), every_key(keys, bench.scaled(BATCH))
    apps = [app_way(bench, batches, workers, fill) for workers in (1, 2)]
    return bench.time([plain_way(batches, fill), bare_way(batches, keys, fill), *apps], rows, group, keep=True)


def measure_keys(bench: Bench) -> Lines:
    lines: Lines = {}
    for full in (10_000, 100_000, 1_000_000, 10_000_000, 30_000_000):
        keys = bench.scaled(full)
        add_points(lines, keys, time_sums(bench, bench.scaled(ROWS), keys, bench.scaled(BATCH), f"{keys:,} keys"))
    return lines


def measure_batches(bench: Bench) -> Lines:
    lines: Lines = {}
    size = 1
    while size <= bench.scaled(BATCH):
        rows = min(bench.scaled(ROWS), size * bench.scaled(10_000, least=100))
        add_points(lines, size, time_sums(bench, rows, bench.scaled(KEYS), size, f"batches of {size:,}"))
        size *= 10
    return lines


def measure_workers(bench: Bench) -> Lines:
    rows, keys, batch = bench.scaled(ROWS), bench.scaled(KEYS), bench.scaled(BATCH)
    batches, fill = uniform_rows(rows, keys, batch), every_key(keys, batch)
    counts = (1, 2, 3, 4)
    threads = [threads_way(batches, keys, count, fill) for count in counts]
    apps = [app_way(bench, batches, count, fill) for count in counts]
    times = bench.time([plain_way(batches, fill), *threads, *apps], rows, "workers", keep=True)
    lines: Lines = {}
    for count in counts:
        names = {PLAIN: PLAIN, "bare loop": threads_name(count), "app": app_name(count)}
        add_points(lines, count, Times(rows, {line: times.seconds[way] for line, way in names.items()}))
    return lines


def measure_stalls(bench: Bench) -> None:
    """The longest of many small batches of new keys, while an empty state grows: what a user might notice."""
    keys, size = bench.scaled(30_000_000), bench.scaled(10_000)
    batches = every_key(keys, size)
    usual, longest, plain = [], [], []
    for _ in range(min(3, len(bench.rounds))):
        app = bench.run(Sums(), 1)
        taken = [seconds(app.add.many, batch) for batch in batches]
        app.stop()
        usual.append(1e3 * median(taken))
        longest.append(1e3 * max(taken))
        totals: dict[int, float] = {}
        plain.append(1e3 * max(seconds(totals.update, new) for new in as_dicts(batches)))
    bench.figure(f"usual batch of {size:,} new keys on the way to {keys:,}", usual, "ms")
    bench.figure("the longest of them", longest, "ms")
    bench.figure("the longest update of a dict with the same keys", plain, "ms")


def as_dicts(batches: Sequence[pa.RecordBatch]) -> Iterator[dict[int, float]]:
    for batch in batches:
        yield dict(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def seconds(run: Callable[[Any], object], given: Any) -> float:
    start = perf_counter()
    run(given)
    return perf_counter() - start


def measure(bench: Bench) -> None:
    bench.size("rows", ROWS)
    folder: Path = bench.options.plots
    folder.mkdir(parents=True, exist_ok=True)
    for name, title, x_name, found in (
        ("keys", "Keyed sums: more keys", "keys", measure_keys),
        ("batches", "Keyed sums: larger batches", "rows a batch", measure_batches),
        ("workers", "Keyed sums: more workers", "workers or threads", measure_workers),
    ):
        picture = line_plot(title, x_name, "rows a second", found(bench))
        (folder / f"growth_{name}.svg").write_text(picture, encoding="utf-8")
    measure_stalls(bench)
    bench.note("the plots are growth_keys.svg, growth_batches.svg and growth_workers.svg in the folder of --plots")


def add_options(parser: argparse.ArgumentParser) -> None:
    folder = ROOT / "docs" / "benchmarks"
    parser.add_argument("--plots", type=Path, default=folder, metavar="FOLDER", help="where the plots go")


if __name__ == "__main__":
    main(measure, __doc__, add_options)
