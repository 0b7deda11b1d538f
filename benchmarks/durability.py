"""State that is saved: what it costs, single calls, and calls while snapshots are made.

    python benchmarks/durability.py [PART ...] [--json] [--rounds N] [--scale F] [--disk FOLDER] [--plots FOLDER]
                                    [--sizes GB ...]

Parts (default: all): `cost` is keyed sums with `checkpoint=` beside the same without; `calls` is one `put`, alone and
with eight callers at once; `snapshots` is calls while snapshots of 0.25 to 2 GB are made, in the background and with
the app stopped (about 35 minutes, and 9 GB of memory); `frequency` is calls while snapshots of 0.5 GB are made in the
background, every second to every 30 seconds (9 minutes, 3 GB). A gigabyte of state is one of keys and values. Every
part checks that the sums are those of numpy. Where nothing else is said, options are the defaults: an answer is given
when what was changed is on disk.
"""

from __future__ import annotations

import argparse
import gc
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from harness import Bench, Times, app_name, main, tiers_of, time_calls
from locations import (
    CALLERS,
    ENTRY,
    GB,
    NEVER,
    Calls,
    Found,
    Totals,
    add_disk_options,
    add_parts,
    add_sizes,
    at_once,
    bytes_written,
    closed_loop,
    counted_snapshots,
    draw,
    entries_of,
    few_rounds,
    fill,
    log_bytes,
    make_location,
    new_folder,
    open_loop,
    point,
    ratios,
    rotated,
    time_appends,
)
from plot import Point
from programs import Sums
from sums import uniform_rows

from examples.kvstore import KeyValueStore

SIZES = (0.25, 0.5, 1.0, 2.0)  # GB of the part `snapshots`
INTERVALS = (1, 2, 5, 10, 30)  # seconds of the part `frequency`
WARM = 0.2  # seconds of calls that do not count
SHARE = 0.7  # of the most that is answered without snapshots
FRAME = 480  # bytes that a put logs
MODES: dict[str, dict[str, Any]] = {
    "no snapshots": NEVER,
    "background": {"snapshot_mode": "background"},
    "sync": {"snapshot_mode": "sync"},
}
COST = ("no checkpoint", "checkpoint")
PUTS: dict[str, dict[str, Any]] = {
    "no checkpoint": {},
    "durability none": {"durability": "none"},
    "durability epoch": {"durability": "epoch"},
}
PEAK, STEADY, MADE = "answered at most", "answered at a fixed rate", "snapshots made meanwhile"
PERCENTILES = {"p50": 50, "p95": 95, "p99": 99, "longest": 100}
CALLED = {
    PEAK: "calls/s",
    STEADY: "calls/s",
    **dict.fromkeys(PERCENTILES, "ms"),
    "written meanwhile": "MB/s",
    MADE: "",
}


# --- cost --------------------------------------------------------------------------------------------------------


def measure_cost(bench: Bench) -> None:
    """Keyed sums, fed as an iterator of batches: all are on disk when it comes back."""
    rows, keys = bench.size("rows of cost", 10_000_000), bench.size("keys of cost", 1_000_000)
    batches = uniform_rows(rows, keys, bench.size("rows a batch", 1_000_000))
    for workers in (1, 2):
        name, found = app_name(workers), _cost(bench, batches, keys, workers)
        seconds = {way: found[way] for way in (*COST, "raw disk")}
        times = bench.timed(Times(rows, seconds), f"cost, {name}")
        ratio = times.ratio("checkpoint", "no checkpoint")
        bench.figure(f"cost, {name}, checkpoint / no checkpoint", ratio, at_least=0.6)
        bench.figure(f"cost, {name}, logged", [size / rows for size in found["logged"]], "bytes a row")
        bench.figure(
            f"cost, {name}, written, snapshots too", per_second(found["written"], seconds["checkpoint"]), "MB/s"
        )
        raw = per_second(found["logged"], seconds["raw disk"])
        bench.figure(f"cost, {name}, raw disk: as much as was logged, synced once a batch", raw, "MB/s")
        bench.figure(f"cost, {name}, checkpoint, time / that of the raw disk", times.ratio("raw disk", "checkpoint"))


def _cost(bench: Bench, batches: Sequence[Any], keys: int, workers: int) -> Found:
    """Seconds of each way and of the raw disk, and bytes, round by round. Every key is there before."""
    found: Found = defaultdict(list)
    totals = Totals(keys)
    with new_folder(bench) as folder:
        options: dict[str, dict[str, Any]] = {"no checkpoint": {}, "checkpoint": {"checkpoint": folder / "saved"}}
        with ExitStack() as stack:
            apps = {way: stack.enter_context(bench.run(Sums(), workers, **options[way])) for way in COST}
            saved = apps["checkpoint"]
            for app in apps.values():
                fill(app, keys)
                app.add.many(iter(batches))  # untimed
            totals.add_batches(batches)
            for n in bench.rounds:
                logged = log_bytes(saved)
                for way in COST if n % 2 else reversed(COST):  # nobody always comes first
                    gc.collect()
                    written, start = bytes_written(), perf_counter()
                    apps[way].add.many(iter(batches))
                    found[way].append(perf_counter() - start)
                    if way == "checkpoint":
                        found["written"].append(bytes_written() - written)
                found["logged"].append(log_bytes(saved) - logged)
                found["raw disk"].append(sum(time_appends(folder, log_bytes(saved) - logged, len(batches))))
                totals.add_batches(batches)
            for way, app in apps.items():
                totals.check(app, f"cost, {way}")
            bench.tiers["add"] = tiers_of(saved, "add")
        with bench.run(Sums(), workers, checkpoint=folder / "saved") as app:
            totals.check(app, "cost, after a restart")
    return found


def per_second(sizes: Sequence[float], seconds: Sequence[float]) -> list[float]:
    """Millions a second."""
    return [size / s / 1e6 for size, s in zip(sizes, seconds, strict=True)]


# --- calls -------------------------------------------------------------------------------------------------------


def measure_calls(bench: Bench) -> None:
    """`put` of the key/value store by one caller, then by eight, who share the syncs of the disk."""
    keys = [f"key-{n}" for n in range(bench.size("keys of calls", 10_000, least=1000))]
    asked = np.random.default_rng(7).choice(keys, bench.size("calls a round", 4_000, least=400)).tolist()
    alone, together, raw = defaultdict(list), defaultdict(list), []
    per_second: Found = defaultdict(list)
    with new_folder(bench) as folder:
        with ExitStack() as stack:
            apps = {}
            for way, options in PUTS.items():
                where = {"checkpoint": folder / way, **options} if options else {}
                app = apps[way] = stack.enter_context(bench.run(KeyValueStore(), 1, **where))
                app.put.many({"key": keys, "value": [0] * len(keys)})
                put_together(app, asked[:100], 0)
                bench.tiers["put"] = tiers_of(app, "put")
            for n in bench.rounds:
                for way, app in apps.items():
                    alone[way].append(time_calls(partial(put, app, -1), asked))
                    seconds, rate = put_together(app, asked, n)
                    together[way].append(seconds)
                    per_second[way].append(rate)
                raw.append(time_appends(folder, FRAME * 200, 200))
            expected = dict.fromkeys(keys, 0) | dict.fromkeys(asked, bench.rounds[-1])
            for way, app in apps.items():
                check_puts(app, expected, way)
        with bench.run(KeyValueStore(), 1, checkpoint=folder / "durability epoch") as app:
            check_puts(app, expected, "after a restart")
    bench.latencies(f"raw disk, {FRAME} bytes appended and synced", raw, None, None)
    for way in PUTS:
        bench.latencies(f"put, {way}, alone", alone[way], None, None)
        bench.latencies(f"put, {way}, {CALLERS} callers", together[way], None, None)
        bench.figure(f"put, {way}, alone", [len(s) / sum(s) for s in alone[way]], "calls/s")
        bench.figure(f"put, {way}, {CALLERS} callers", per_second[way], "calls/s")


def put(app: Any, value: int, key: str) -> None:
    app.put(key, value)


def put_together(app: Any, asked: Sequence[str], value: int) -> tuple[list[float], float]:
    """Seconds of calls of several callers at once, and calls a second of all."""
    seconds: list[list[float]] = [[] for _ in range(CALLERS)]

    def work(caller: int) -> None:
        for key in asked[caller::CALLERS]:
            start = perf_counter()
            app.put(key, value)
            seconds[caller].append(perf_counter() - start)

    gc.collect()
    start = perf_counter()
    at_once(work, CALLERS)
    return [s for of in seconds for s in of], len(asked) / (perf_counter() - start)


def check_puts(app: Any, expected: dict[str, int], who: str) -> None:
    if dict(zip(*app.state.data.to_arrow().to_pydict().values(), strict=True)) != expected:
        raise AssertionError(f"{who}: the store does not hold what was put")


# --- snapshots ---------------------------------------------------------------------------------------------------


def measure_snapshots(bench: Bench) -> None:
    """Calls of eight callers: as many as they can, then at a fixed rate, 0.7 of what was reached with no snapshots."""
    every = max(1.0, 10.0 * float(bench.options.scale))
    bench.sizes["seconds between snapshots"] = round(every)
    modes: dict[str, list[Point]] = defaultdict(list)
    percentiles: dict[str, list[Point]] = defaultdict(list)
    for size in bench.options.sizes:
        keys = entries_of(size, bench)
        what = f"snapshots, {keys * ENTRY / GB:.3g} GB"
        found = _snapshots(bench, keys, every)
        for mode in MODES:
            for figure, unit in CALLED.items():
                bench.figure(f"{what}, {mode}, {figure}", found[f"{mode}, {figure}"], unit)
            modes[mode].append(point(keys * ENTRY, found[f"{mode}, p99"]))
        for figure in (PEAK, STEADY):
            kept = ratios(found, f"background, {figure}", f"no snapshots, {figure}")
            bench.figure(f"{what}, {figure}, background / no snapshots", kept, at_least=0.9)
        limit = 0.1 if size == max(SIZES) else None
        bench.figure(f"{what}, p99, background / sync", ratios(found, "background, p99", "sync, p99"), at_most=limit)
        add_percentiles(percentiles, keys * ENTRY, found, "background", "no snapshots")
    x_name = "bytes of keys and values"
    draw(bench, "durability_snapshots.svg", "Calls while snapshots are made", x_name, "p99 of a call, ms", modes)
    draw(bench, "durability_sizes.svg", "Calls beside background snapshots", x_name, "ms of a call", percentiles)


def _snapshots(bench: Bench, keys: int, every: float) -> Found:
    found: Found = defaultdict(list)
    totals = Totals(keys)
    seconds = 2.5 * every
    with new_folder(bench) as folder:
        where = folder / "saved"
        make_location(bench, where, keys, 1)
        rate = SHARE * peak(bench, where, totals, seconds)
        for n in few_rounds(bench):
            for mode in rotated(MODES, n):
                with bench.run(Sums(), 1, checkpoint=where, **{"snapshot_every": every, **MODES[mode]}) as app:
                    totals.check(app, f"{mode}, at the start")
                    call = Calls(app, totals)
                    found[f"{mode}, {PEAK}"].append(closed_loop(call, seconds))
                    steady(where, call, rate, seconds, found, mode)
                    call.check(f"{mode}, at the end")
                    bench.tiers["add"] = tiers_of(app, "add")
                if (found[f"{mode}, {MADE}"][-1] > 0) == (mode == "no snapshots"):
                    bench.note(f"{keys:,} entries, {mode}: {found[f'{mode}, {MADE}'][-1]:.0f} snapshots were made")
    return found


def peak(bench: Bench, where: Path, totals: Totals, seconds: float) -> float:
    """What is answered at most without snapshots."""
    with bench.run(Sums(), 1, checkpoint=where, **NEVER) as app:
        closed_loop(Calls(app, totals), WARM)
        return closed_loop(Calls(app, totals), seconds)


def steady(where: Path, call: Calls, rate: float, seconds: float, found: Found, name: str) -> None:
    """Calls at a fixed rate: how late they are answered, and what is written meanwhile."""
    with counted_snapshots(where) as made:
        written, start = bytes_written(), perf_counter()
        latencies, answered = open_loop(call, rate, seconds)
        spent = perf_counter() - start
        found[f"{name}, written meanwhile"].append((bytes_written() - written) / spent / 1e6)
    found[f"{name}, {MADE}"].append(made())
    found[f"{name}, {STEADY}"].append(answered)
    for percentile, percent in PERCENTILES.items():
        found[f"{name}, {percentile}"].append(1e3 * float(np.percentile(latencies, percent)))


def add_percentiles(lines: dict[str, list[Point]], x: float, found: Found, name: str, without: str) -> None:
    """Points of the percentiles of `name`; and of `without`, what is there anyway."""
    for percentile in PERCENTILES:
        lines[percentile].append(point(x, found[f"{name}, {percentile}"]))
    lines[f"{without}, p99"].append(point(x, found[f"{without}, p99"]))


# --- frequency ---------------------------------------------------------------------------------------------------


def measure_frequency(bench: Bench) -> None:
    """Snapshots in the background, seldom to often, beside none. One that takes longer than the interval is followed
    by the next when the interval has passed since its end.
    """
    keys = entries_of(0.5, bench)
    bench.sizes["entries of frequency"] = keys
    shrink = min(1.0, max(0.05, float(bench.options.scale)))
    intervals = {f"every {shrink * every:.3g} s": shrink * every for every in INTERVALS}
    found: Found = defaultdict(list)
    totals = Totals(keys)
    least = shrink * 12.0
    with new_folder(bench) as folder:
        where = folder / "saved"
        make_location(bench, where, keys, 1)
        rate = SHARE * peak(bench, where, totals, least)
        for n in few_rounds(bench):
            for name in rotated(("no snapshots", *intervals), n):
                every = intervals.get(name)
                options = NEVER if every is None else {"snapshot_every": every}
                with bench.run(Sums(), 1, checkpoint=where, **options) as app:
                    call = Calls(app, totals)
                    closed_loop(call, WARM)
                    steady(where, call, rate, max(least, 2.5 * (every or 0)), found, name)
                    call.check(f"frequency, {name}")
    lines: dict[str, list[Point]] = defaultdict(list)
    for name in ("no snapshots", *intervals):
        for figure, unit in CALLED.items():
            if figure != PEAK:
                bench.figure(f"frequency, {name}, {figure}", found[f"{name}, {figure}"], unit)
    for name, every in intervals.items():
        add_percentiles(lines, every, found, name, "no snapshots")
    title = f"Calls beside background snapshots of {keys * ENTRY / GB:.3g} GB"
    draw(bench, "durability_frequency.svg", title, "seconds between snapshots", "ms of a call", lines)


# --- parts -------------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Bench], None]] = {
    "cost": measure_cost,
    "calls": measure_calls,
    "snapshots": measure_snapshots,
    "frequency": measure_frequency,
}


def measure(bench: Bench) -> None:
    for part in bench.options.parts or PARTS:
        PARTS[part](bench)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_parts(parser, PARTS)
    add_disk_options(parser)
    add_sizes(parser, "snapshots", SIZES)


if __name__ == "__main__":
    main(measure, __doc__, add_options)
