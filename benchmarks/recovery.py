"""State that comes back: restarts, replay of the input instead, how much log there is, and a worker that is killed.

    python benchmarks/recovery.py [PART ...] [--json] [--rounds N] [--scale F] [--disk FOLDER] [--plots FOLDER]
                                  [--sizes GB ...]

Parts (default: all):

- `restart`: `ab.run` on a location of 0.5, 1 and 2 GB beside pyarrow that reads the same files; as many workers as
  saved it, more, and fewer; with as many also with files that are on disk only (about 9 minutes, and 8 GB of memory).
- `log`: the same entries in the log, and in both, beside a snapshot of them (1 minute, 2 GB).
- `replay`: a snapshot and the log since, beside an app without checkpoint that is fed all input again, as there is more
  of it; the last sixth came after the snapshot (6 minutes, 2 GB).
- `interval`: a snapshot and so much log as comes between two of them, at two rates of input (5 minutes, 2 GB).
- `lost`: one of two worker processes is killed with 0.5 GB of state (3 minutes, 4 GB).
- `lost_on_spark`: the same with workers that are tasks of Spark (4 minutes, 5 GB; needs Java).

A gigabyte of state is one of keys and values. Every part checks that the sums are those of numpy. Where nothing else is
said, what is restored was written shortly before, so that files are in the cache of the system.
"""

from __future__ import annotations

import argparse
import gc
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from harness import Bench, Times, in_batches, main
from locations import (
    ENTRY,
    GB,
    NEVER,
    Found,
    Totals,
    add_disk_options,
    add_parts,
    add_sizes,
    draw,
    entries_of,
    fetch_memory,
    few_rounds,
    fill,
    forget,
    lent,
    make_location,
    new_folder,
    point,
    ratios,
    read_raw,
    rotated,
    snapshot_files,
)
from lost import measure_lost, measure_lost_on_spark
from plot import Point
from programs import Sums

SIZES = (0.5, 1.0, 2.0)  # GB of the part `restart`
IN_MEMORY = 44  # bytes an entry: itself, the index, and some room
LARGEST = 1.0  # GB of which every key is looked at; that takes half as much memory again as the state
WAYS = ((1, 1), (2, 1), (1, 2), (2, 2))  # workers that saved it, workers that restore it
AMOUNTS = (10, 30, 100, 300, 1000)  # batches of the part `replay`
SAVED = 5 / 6  # of the input is in the snapshot: one every 5 s, and 30 s of input
INTERVALS = (1, 2, 5, 10, 30)  # seconds between snapshots
RATES = (2, 10)  # batches a second
POOL = 100  # batches that come again and again
WORKERS = (1, 2)
COLD = ", from the disk"  # and not from the cache of the system


# --- restart -----------------------------------------------------------------------------------------------------


def measure_restart(bench: Bench) -> None:
    """`ab.run` until it returns, beside pyarrow that reads the same files; both here, with memory at hand."""
    lines: dict[str, list[Point]] = defaultdict(list)
    for size in bench.options.sizes:
        keys = entries_of(size, bench)
        what = f"restart, {keys * ENTRY / GB:.3g} GB"
        found = _restart(bench, keys, size <= LARGEST)
        for before, now in WAYS:
            name = f"{before} -> {now}"
            ways = {"pyarrow reads": found[f"raw, {name}"], "ab.run": found[name]}
            bench.timed(Times(keys, ways), f"{what}, workers {name}")
            limit = 0.3 if before == now else None
            ratio = ratios(found, f"raw, {name}", name)
            bench.figure(f"{what}, workers {name}, speed / that of pyarrow", ratio, at_least=limit)
            bench.figure(f"{what}, workers {name}, of it ab.run without checkpoint", found[f"empty, {name}"], "s")
            lines[name].append(point(keys * ENTRY, found[name]))
            if before == now:
                ways = {"pyarrow reads": found[f"raw, {name}{COLD}"], "ab.run": found[f"{name}{COLD}"]}
                bench.timed(Times(keys, ways), f"{what}, workers {name}{COLD}")
                ratio = ratios(found, f"raw, {name}{COLD}", f"{name}{COLD}")
                bench.figure(f"{what}, workers {name}{COLD}, speed / that of pyarrow", ratio, at_least=limit)
                lines[f"{name}{COLD}"].append(point(keys * ENTRY, found[f"{name}{COLD}"]))
        bench.figure(f"{what}, as much memory as it takes, fetched by the machine before", found["memory"], "s")
        for cold in ("", COLD):
            lines[f"pyarrow reads{cold}"].append(point(keys * ENTRY, found[f"raw, 1 -> 1{cold}"]))
    title = "Restart: workers before -> now"
    draw(bench, "recovery_restart.svg", title, "bytes of keys and values", "seconds", lines)


def _restart(bench: Bench, keys: int, look_at_all: bool) -> Found:
    totals, found = Totals(keys), defaultdict(list)
    totals.of += np.arange(keys)
    with new_folder(bench) as folder:
        for workers in WORKERS:
            make_location(bench, folder / str(workers), keys, workers, slope=1.0)
        for n in (-1, *few_rounds(bench)):  # the first is not like the others
            for before, now in rotated(WAYS, n):
                name = f"{before} -> {now}"
                took = {f"empty, {name}": started(bench, now)}
                for cold in ("", COLD) if before == now else ("",):
                    with lent(folder / str(before)) as where:
                        fetch_memory(IN_MEMORY * keys)
                        if cold:
                            forget(where)
                        took[f"raw, {name}{cold}"], rows = read_raw(snapshot_files(where))
                        if rows != keys:
                            raise AssertionError(f"pyarrow found {rows} rows, not {keys}")
                        took["memory"] = fetch_memory(IN_MEMORY * keys)
                        if cold:
                            forget(where)
                        took[f"{name}{cold}"] = restarted(bench, where, totals, now, look_at_all)
                if n >= 0:
                    for what, seconds in took.items():
                        found[what].append(seconds)
    return found


def started(bench: Bench, workers: int) -> float:
    """Seconds of `ab.run` with nothing to restore."""
    gc.collect()
    start = perf_counter()
    app = bench.run(Sums(), workers)
    spent = perf_counter() - start
    app.stop()
    return spent


def restarted(bench: Bench, where: Path, totals: Totals, workers: int, look_at_all: bool = True) -> float:
    """Seconds until there is an app with what was saved."""
    gc.collect()
    start = perf_counter()
    app = bench.run(Sums(), workers, checkpoint=where, **NEVER)
    spent = perf_counter() - start
    with app:
        check = totals.check if look_at_all else totals.check_some
        check(app, f"restarted with {workers}")
    return spent


# --- log ---------------------------------------------------------------------------------------------------------


def measure_log(bench: Bench) -> None:
    """All entries in the log and none in the snapshot, and all in both, beside all in the snapshot."""
    keys = entries_of(0.25, bench)
    bench.sizes["entries of log"] = keys
    filled, updated = Totals(keys), Totals(keys)
    filled.of += np.arange(keys)
    updated.of += 1.0 + np.arange(keys)
    found: Found = defaultdict(list)
    with new_folder(bench) as folder:
        for name in ("log only", "snapshot and log"):
            with bench.run(Sums(), 1, checkpoint=folder / name, **NEVER) as app:
                fill(app, keys, slope=1.0)
                if name != "log only":
                    app.checkpoint()
                    fill(app, keys, 1.0)
        make_location(bench, folder / "snapshot only", keys, 1, slope=1.0)
        for n in (-1, *few_rounds(bench)):
            for name in rotated(("snapshot only", "log only", "snapshot and log"), n):
                with lent(folder / name) as where:
                    spent = restarted(bench, where, updated if name == "snapshot and log" else filled, 1)
                if n >= 0:
                    found[name].append(spent)
    bench.timed(Times(keys, found), "log, 1 worker")
    for name in ("log only", "snapshot and log"):
        times = ratios(found, name, "snapshot only")
        bench.figure(f"log, {name}, time / that of a snapshot with as many entries", times)


# --- replay and interval -----------------------------------------------------------------------------------------


class Input:
    """Rows in batches, without end: every key in random order, then random keys, and after a while the same again."""

    def __init__(self, bench: Bench, keys: int) -> None:
        self.rows = rows_of_a_batch(bench)
        rng, rows = np.random.default_rng(7), POOL * self.rows
        numbers = np.concatenate([rng.permutation(keys), rng.integers(0, keys, rows)])[:rows]
        self.pool = in_batches({"key": numbers, "value": rng.random(rows)}, self.rows)

    def batches(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        return (self.pool[n % POOL] for n in range(first, last))

    def add_to(self, totals: Totals, first: int, last: int) -> None:
        totals.add_batches([*self.batches(first, last)])


def rows_of_a_batch(bench: Bench) -> int:
    return bench.size("rows a batch", 100_000, least=500)


def measure_replay(bench: Bench) -> None:
    """Both begin with no app and end with one that has all sums; the input is in memory, and each batch an epoch."""
    keys = bench.sizes["keys of replay"] = AMOUNTS[0] * rows_of_a_batch(bench)
    given = Input(bench, keys)
    lines: dict[str, list[Point]] = defaultdict(list)
    for amount in AMOUNTS:
        found = _replay(bench, given, keys, amount)
        rows = amount * given.rows
        bench.timed(Times(rows, found), f"replay, {rows:,} rows")
        for workers in WORKERS:
            ratio = ratios(found, f"source, {workers}", f"restore, {workers}")
            bench.figure(f"replay, {rows:,} rows, {workers} to restore, source / restore, time", ratio)
        for name, seconds in found.items():
            lines[name].append(point(rows, seconds))
    title = "Recovery: snapshot and log, or all input again"
    draw(bench, "recovery_replay.svg", title, "rows of input", "seconds", named_by_workers(lines))


def _replay(bench: Bench, given: Input, keys: int, amount: int) -> Found:
    totals, found = Totals(keys), defaultdict(list)
    given.add_to(totals, 0, amount)
    saved = round(SAVED * amount)
    with new_folder(bench) as folder:
        for workers in WORKERS:
            with bench.run(Sums(), workers, checkpoint=folder / str(workers), **NEVER) as app:
                app.add.many(given.batches(0, saved))
                app.checkpoint()
                app.add.many(given.batches(saved, amount))
        for n in (-1, *few_rounds(bench)):
            for way, workers in rotated(product(("restore", "source"), WORKERS), n):
                if way == "restore":
                    with lent(folder / str(workers)) as where:
                        spent = restarted(bench, where, totals, workers)
                else:
                    spent = replayed(bench, given, amount, totals, workers)
                if n >= 0:
                    found[f"{way}, {workers}"].append(spent)
    return found


def replayed(bench: Bench, given: Input, amount: int, totals: Totals, workers: int) -> float:
    """Seconds until there is an app that was fed all input again."""
    gc.collect()
    start = perf_counter()
    app = bench.run(Sums(), workers)
    app.add.many(given.batches(0, amount))
    spent = perf_counter() - start
    with app:
        totals.check(app, f"fed again with {workers}")
    return spent


def named_by_workers(lines: dict[str, list[Point]]) -> dict[str, list[Point]]:
    return {f"{name} worker{'s' * (not name.endswith(' 1'))}": line for name, line in lines.items()}


def measure_interval(bench: Bench) -> None:
    """A crash comes just before the next snapshot: all that came since the last is in the log."""
    keys = entries_of(0.1, bench)
    bench.sizes["entries of interval"] = keys
    given, found = Input(bench, keys), defaultdict(list)
    totals = Totals(keys)
    totals.of += np.arange(keys)
    amounts = sorted({0, *(rate * every for rate in RATES for every in INTERVALS)})
    with new_folder(bench) as folder:
        for workers in WORKERS:
            make_location(bench, folder / str(workers), keys, workers, slope=1.0)
        for before, amount in zip([0, *amounts], amounts, strict=False):  # the log grows
            given.add_to(totals, before, amount)
            for workers in WORKERS if amount else ():
                with bench.run(Sums(), workers, checkpoint=folder / str(workers), **NEVER) as app:
                    app.add.many(given.batches(before, amount))
            for n in (-1, *few_rounds(bench)):
                for workers in rotated(WORKERS, n):
                    with lent(folder / str(workers)) as where:
                        spent = restarted(bench, where, totals, workers)
                    if n >= 0:
                        found[f"{amount}, {workers}"].append(spent)
    report_interval(bench, given.rows, found)


def report_interval(bench: Bench, rows: int, found: Found) -> None:
    lines: dict[str, list[Point]] = defaultdict(list)
    for workers in WORKERS:
        bench.figure(f"interval, snapshot alone, {workers} to restore", found[f"0, {workers}"], "s")
    for rate in RATES:
        for every in INTERVALS:
            what = f"interval, {rate * rows:,} rows/s, a snapshot every {every} s"
            for workers in WORKERS:
                seconds = found[f"{rate * every}, {workers}"]
                bench.figure(f"{what}, {workers} to restore", seconds, "s")
                lines[f"{rate * rows:,}/s, {workers}"].append(point(every, seconds))
            serial, parallel = f"{rate * every}, 1", f"{rate * every}, 2"
            bench.figure(f"{what}, 1 worker / 2 workers, time", ratios(found, serial, parallel))
    title = "Recovery: snapshot, and log since"
    draw(bench, "recovery_interval.svg", title, "seconds between snapshots", "seconds", named_by_workers(lines))


# --- parts -------------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Bench], None]] = {
    "restart": measure_restart,
    "log": measure_log,
    "replay": measure_replay,
    "interval": measure_interval,
    "lost": measure_lost,
    "lost_on_spark": measure_lost_on_spark,
}


def measure(bench: Bench) -> None:
    for part in bench.options.parts or PARTS:
        PARTS[part](bench)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_parts(parser, PARTS)
    add_disk_options(parser)
    add_sizes(parser, "restart", SIZES)


if __name__ == "__main__":
    main(measure, __doc__, add_options)
