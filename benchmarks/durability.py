"""State that is saved: what it costs, single calls, snapshots meanwhile, restarts, and a worker that is killed.

    python benchmarks/durability.py [PART ...] [--json] [--rounds N] [--scale F] [--disk FOLDER] [--plots FOLDER]

Parts (default: all): `cost` is keyed sums with `checkpoint=` beside the same without; `calls` is one `put`, alone and
with eight callers at once; `snapshots` is calls while snapshots of 0.25 to 2 GB are made; `restart` is `ab.run` on a
location of 1 GB beside pyarrow that reads the same files; `recovery` kills one of two worker processes. A gigabyte of
state is one of keys and values. Every part checks that the sums are those of numpy, while it runs and after a restart.
Where nothing else is said, options are the defaults: an answer is given when what was changed is on disk.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import signal
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
from harness import ROOT, Bench, Times, app_name, main, tiers_of, time_calls
from hosts import workers_of
from locations import (
    CALLERS,
    ENTRY,
    GB,
    NEVER,
    Calls,
    Numbers,
    Totals,
    at_once,
    bytes_written,
    closed_loop,
    entries_of,
    fill,
    last_snapshot,
    log_bytes,
    make_location,
    new_folder,
    open_loop,
    read_raw,
    snapshot_files,
    time_appends,
)
from plot import Point, line_plot
from programs import Sums
from report import Spread
from sums import uniform_rows

from examples.kvstore import KeyValueStore

SIZES = (0.25, 0.5, 1.0, 2.0)  # GB of the part `snapshots`
SHARE = 0.7  # of the most that is answered without snapshots
FRAME = 480  # bytes that a put logs
FEW = 3  # rounds, where one takes minutes
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
PEAK, STEADY = "answered at most", "answered at a fixed rate"
CALLED = {PEAK: "calls/s", STEADY: "calls/s", "p50": "ms", "p99": "ms", "longest": "ms", "written meanwhile": "MB/s"}
Found = defaultdict[str, list[float]]


# --- cost --------------------------------------------------------------------------------------------------------


def measure_cost(bench: Bench) -> None:
    """Keyed sums, fed as an iterator of batches: each is on disk before the next begins."""
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
    lines: dict[str, list[Point]] = {}
    for size in SIZES:
        keys = entries_of(size, bench)
        what = f"snapshots, {keys * ENTRY / GB:.3g} GB"
        found = _snapshots(bench, keys, every)
        for mode in MODES:
            for figure, unit in CALLED.items():
                bench.figure(f"{what}, {mode}, {figure}", found[f"{mode}, {figure}"], unit)
            p99 = Spread.of(found[f"{mode}, p99"])
            lines.setdefault(mode, []).append(Point(keys * ENTRY, p99.median, p99.low, p99.high))
        for figure in (PEAK, STEADY):
            kept = ratios(found, f"background, {figure}", f"no snapshots, {figure}")
            bench.figure(f"{what}, {figure}, background / no snapshots", kept, at_least=0.9)
        limit = 0.1 if size == max(SIZES) else None
        bench.figure(f"{what}, p99, background / sync", ratios(found, "background, p99", "sync, p99"), at_most=limit)
    folder: Path = bench.options.plots
    folder.mkdir(parents=True, exist_ok=True)
    picture = line_plot("Calls while snapshots are made", "bytes of keys and values", "p99 of a call, ms", lines)
    (folder / "durability_snapshots.svg").write_text(picture, encoding="utf-8")
    bench.note("the plot is durability_snapshots.svg in the folder of --plots")


def _snapshots(bench: Bench, keys: int, every: float) -> Found:
    found: Found = defaultdict(list)
    totals = Totals(keys)
    seconds = 2.5 * every
    with new_folder(bench) as folder:
        where = folder / "saved"
        make_location(bench, where, keys, 1)
        with bench.run(Sums(), 1, checkpoint=where, **NEVER) as app:
            rate = SHARE * closed_loop(Calls(app, totals), seconds)
        for n in range(min(FEW, len(bench.rounds))):
            names = [*MODES]
            for mode in [*names[n % 3 :], *names[: n % 3]]:  # nobody always comes first
                with bench.run(Sums(), 1, checkpoint=where, **{"snapshot_every": every, **MODES[mode]}) as app:
                    totals.check(app, f"{mode}, at the start")
                    call = Calls(app, totals)
                    found[f"{mode}, {PEAK}"].append(closed_loop(call, seconds))
                    before, written, start = last_snapshot(where), bytes_written(), perf_counter()
                    latencies, answered = open_loop(call, rate, seconds)
                    spent, after = perf_counter() - start, last_snapshot(where)
                    found[f"{mode}, written meanwhile"].append((bytes_written() - written) / spent / 1e6)
                    call.check(f"{mode}, at the end")
                    bench.tiers["add"] = tiers_of(app, "add")
                found[f"{mode}, {STEADY}"].append(answered)
                for name, percent in (("p50", 50), ("p99", 99), ("longest", 100)):
                    found[f"{mode}, {name}"].append(1e3 * float(np.percentile(latencies, percent)))
                if (after > before) == (mode == "no snapshots"):
                    bench.note(f"{keys:,} entries, {mode}: the last snapshot was {before} before, and {after} after")
    return found


def ratios(found: Found, one: str, other: str) -> list[float]:
    return [a / b for a, b in zip(found[one], found[other], strict=True)]


# --- restart -----------------------------------------------------------------------------------------------------


def measure_restart(bench: Bench) -> None:
    """`ab.run` until it returns, beside pyarrow that reads the same files; both in this process, files in the cache."""
    keys = entries_of(1.0, bench)
    bench.sizes["entries of restart"] = keys
    totals = Totals(keys)
    found: Found = defaultdict(list)
    with new_folder(bench) as folder:
        for before, now in ((1, 1), (2, 2), (1, 2), (2, 1)):
            name = f"{before} worker{'s' * (before > 1)} -> {now}"
            make_location(bench, folder / "kept", keys, before)
            for n in range(min(FEW, len(bench.rounds)) + 1):  # the first is not like the others
                shutil.copytree(folder / "kept", folder / "saved")  # what starts with other workers is changed by it
                raw, rows = read_raw(snapshot_files(folder / "saved"))
                if rows != keys:
                    raise AssertionError(f"pyarrow found {rows} rows, not {keys}")
                spent, empty = restarted(bench, folder / "saved", totals, now), started(bench, now)
                shutil.rmtree(folder / "saved")
                if n:
                    for what, value in (("", spent), ("raw, ", raw), ("empty, ", empty)):
                        found[f"{what}{name}"].append(value)
            shutil.rmtree(folder / "kept")
            ways = {"pyarrow reads": found[f"raw, {name}"], "ab.run": found[name]}
            bench.timed(Times(keys, ways), f"restart, {name}")
            limit = 0.3 if before == now else None
            ratio = ratios(found, f"raw, {name}", name)
            bench.figure(f"restart, {name}, speed / that of pyarrow", ratio, at_least=limit)
            bench.figure(f"restart, {name}, of it ab.run without checkpoint", found[f"empty, {name}"], "s")
    measure_replay(bench)


def measure_replay(bench: Bench) -> None:
    """All entries in the log and none in the snapshot, and all in both, beside all in the snapshot."""
    keys = entries_of(0.25, bench)
    bench.sizes["entries of replay"] = keys
    filled, updated = Totals(keys), Totals(keys)
    updated.add(np.arange(keys), 1.0)
    found: Found = defaultdict(list)
    with new_folder(bench) as folder:
        for name in ("log only", "snapshot and log"):
            with bench.run(Sums(), 1, checkpoint=folder / name, **NEVER) as app:
                fill(app, keys)
                if name != "log only":
                    app.checkpoint()
                    fill(app, keys, 1.0)
        make_location(bench, folder / "snapshot only", keys, 1)
        for n in range(min(FEW, len(bench.rounds)) + 1):
            for name in ("snapshot only", "log only", "snapshot and log"):
                totals = updated if name == "snapshot and log" else filled
                spent = restarted(bench, folder / name, totals, 1, **NEVER)
                if n:
                    found[name].append(spent)
    bench.timed(Times(keys, found), "restart, 1 worker")
    for name in ("log only", "snapshot and log"):
        times = ratios(found, name, "snapshot only")
        bench.figure(f"restart, {name}, time / that of a snapshot with as many entries", times)


def started(bench: Bench, workers: int) -> float:
    """Seconds of `ab.run` with nothing to restore."""
    gc.collect()
    start = perf_counter()
    app = bench.run(Sums(), workers)
    spent = perf_counter() - start
    app.stop()
    return spent


def restarted(bench: Bench, where: Path, totals: Totals, workers: int, **options: Any) -> float:
    """Seconds until there is an app with what was saved."""
    gc.collect()
    start = perf_counter()
    app = bench.run(Sums(), workers, checkpoint=where, **options)
    spent = perf_counter() - start
    with app:
        totals.check(app, f"restarted with {workers}")
    return spent


# --- recovery ----------------------------------------------------------------------------------------------------


def measure_recovery(bench: Bench) -> None:
    """Two worker processes with callers of their own; one is killed."""
    keys = entries_of(0.5, bench)
    bench.sizes["entries of recovery"] = keys
    few = 10_000  # keys that are called, of each worker
    at = workers_of(4 * few, 2)
    mine = [np.flatnonzero(at == worker)[:few] for worker in (0, 1)]
    totals = Totals(keys)
    found: Found = defaultdict(list)
    with new_folder(bench) as folder:
        with bench.run(Sums(), 2, checkpoint=folder / "saved", hosts="processes") as app:
            fill(app, keys)
            app.checkpoint()
            for n in range(min(FEW, len(bench.rounds))):
                kill_one(app, n % 2, mine, totals, found)
                totals.check(app, "after a worker was lost")
        with bench.run(Sums(), 2, checkpoint=folder / "saved") as app:
            totals.check(app, "after a restart")
    bench.figure("recovery, until the keys of the killed worker answer again", found["seconds"], "s")
    bench.figure("recovery, keys of the other worker, one caller, before", found["before"], "calls/s")
    bench.figure("recovery, keys of the other worker, answered meanwhile, share of before", found["share"])
    bench.figure("recovery, keys of the other worker, longest call", found["longest"], "s")


def kill_one(app: Any, killed: int, mine: Sequence[Numbers], totals: Totals, found: Found) -> None:
    """Kill a worker while each has a caller. Every call must be answered, and counts once."""
    over = threading.Event()
    calls: list[list[tuple[float, float]]] = [[], []]  # of each worker: when they began and were answered

    def work(worker: int) -> None:
        numbers = mine[worker].tolist()
        while not over.is_set():
            begun = perf_counter()
            app.add(numbers[len(calls[worker]) % len(numbers)], 1.0)
            calls[worker].append((begun, perf_counter()))

    def kill() -> None:
        nonlocal when
        sleep(1.0)
        when = perf_counter()
        os.kill(app._engine.driver._launcher.pids[killed], signal.SIGKILL)
        deadline = when + 120
        while perf_counter() < deadline and not (calls[killed] and calls[killed][-1][0] > when):
            sleep(0.01)
        sleep(0.5)
        over.set()

    when = 0.0
    at_once(lambda n: kill() if n == 2 else work(n), 3)
    for worker in (0, 1):
        totals.add(np.resize(mine[worker], len(calls[worker])), 1.0)
    # Answers may have been on their way: the call that waited longest is the one that waited for the new worker.
    _, back = max((call for call in calls[killed] if call[1] > when), key=lambda call: call[1] - call[0])
    other = calls[1 - killed]
    before = sum(answered < when for _, answered in other)
    meanwhile = sum(when <= answered <= back for _, answered in other)
    first = min(begun for begun, _ in other)
    found["seconds"].append(back - when)
    found["before"].append(before / (when - first))
    found["share"].append(meanwhile / (back - when) / (before / (when - first)))
    found["longest"].append(max(answered - begun for begun, answered in other))


# --- parts -------------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Bench], None]] = {
    "cost": measure_cost,
    "calls": measure_calls,
    "snapshots": measure_snapshots,
    "restart": measure_restart,
    "recovery": measure_recovery,
}


def measure(bench: Bench) -> None:
    for part in bench.options.parts or PARTS:
        PARTS[part](bench)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    temporary = Path(tempfile.gettempdir())
    parser.add_argument("--disk", type=Path, default=temporary, metavar="FOLDER", help="where state is saved")
    folder = ROOT / "docs" / "benchmarks"
    parser.add_argument("--plots", type=Path, default=folder, metavar="FOLDER", help="where the plot goes")


if __name__ == "__main__":
    main(measure, __doc__, add_options)
