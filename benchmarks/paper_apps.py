"""What rows, crossings, restores and moves cost, by small apps. For on_paper.py."""

from __future__ import annotations

import gc
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
from apart import linked, traffic
from harness import Bench, in_batches
from hosts import links_elsewhere, workers_of
from locations import ENTRY, fill, lent, log_bytes, make_location, new_folder
from paper_parts import rounds, seconds, spent
from programs import Links, Sums

import anabranch as ab
from anabranch.state.checkpoint.location import open_location
from anabranch.state.checkpoint.recovery import find

PROCESSES = {"hosts": "processes"}
EPOCHS = 20  # a round
FEW = 3


def batches_of(rows: int, keys: int, count: int) -> list[pa.RecordBatch]:
    rng = np.random.default_rng(7)
    return in_batches({"key": rng.integers(0, keys, count * rows), "value": rng.random(count * rows)}, rows)


def measure_rows(bench: Bench) -> tuple[float, float]:
    """A row of keyed sums on one thread: in a kernel, and in the Python tier."""
    found = []
    for tier, full in (("compiled", 1_000_000), ("python", 30_000)):
        rows, keys = bench.scaled(full, least=1000), bench.scaled(1_000_000, least=1000)
        (batch,) = batches_of(rows, keys, 1)
        with ab.run(Sums(), workers=1, tier=tier) as app:
            values = rounds(bench, lambda app=app, batch=batch, rows=rows: spent(lambda: app.add.many(batch)) / rows)
        bench.figure(f"a row of a keyed sum, {tier}", [1e9 * v for v in values], "ns")
        found.append(median(values))
    return found[0], found[1]


def links_at_home(keys: int, workers: int) -> np.ndarray[Any, Any]:
    """For each key another one of the same worker."""
    rng = np.random.default_rng(7)
    at = workers_of(keys, workers)
    found = np.empty(keys, dtype=np.int64)
    for worker in range(workers):
        own = np.flatnonzero(at == worker)
        found[own] = rng.choice(own, len(own))
    return found


def worked(app: Any) -> float:
    """Processor seconds that the worker processes of an app have taken so far."""
    found = 0.0
    for pid in app._engine.driver._launcher.pids.values():
        numbers = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        found += (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
    return found


@dataclass(frozen=True, slots=True)
class Crossing:
    """Seconds and bytes a row, of apps with two worker processes."""

    fed: float  # processor time of the coordinator's process
    stage: float  # of the workers, for each stage
    crossing: float  # of both ends, beyond a row that stays
    crossing_bytes: float
    rows: int
    epoch: float  # seconds, of so many rows that all cross


def measure_crossing(bench: Bench) -> Crossing:
    """Rows that visit two keys, which one worker has or both."""
    rows, keys, workers = bench.size("rows that cross", 200_000, least=2000), bench.scaled(100_000, least=1000), 2
    batches = batches_of(rows, keys, EPOCHS)
    ways = {"cross": links_elsewhere(keys, workers), "stay": links_at_home(keys, workers)}
    walls, fed, times = ({name: list[float]() for name in ways} for _ in range(3))
    with ExitStack() as stack:
        apps = {name: stack.enter_context(linked(bench, to, workers, PROCESSES)) for name, to in ways.items()}
        for n in range(len(bench.rounds) + 1):
            for name, app in apps.items():
                gc.collect()
                before, here, start = worked(app), process_time(), perf_counter()
                for batch in batches:
                    app.pass_on.many(batch)
                if n:
                    walls[name].append((perf_counter() - start) / EPOCHS)
                    fed[name].append((process_time() - here) / EPOCHS)
                    times[name].append((worked(app) - before) / EPOCHS)
        sent = traffic(apps["cross"])
        apps["cross"].pass_on.many(batches[0])
        size = float((traffic(apps["cross"]) - sent)[1])
    for name in ways:
        bench.figure(f"an epoch of {rows:,} rows that {name}, 2 processes", [1e3 * v for v in walls[name]], "ms")
    extra = [(a - b) / rows for a, b in zip(times["cross"], times["stay"], strict=True)]
    each = [v / rows / 2 for v in times["stay"]]
    told = [v / rows for v in fed["stay"]]
    bench.figure("a row of a batch at the coordinator, processor time", [1e9 * v for v in told], "ns")
    bench.figure("a row in a stage of a worker process, processor time", [1e9 * v for v in each], "ns")
    bench.figure(
        "a row that crosses, beyond one that stays, processor time of both ends", [1e9 * v for v in extra], "ns"
    )
    bench.figure("bytes a row that crosses", [size / rows])
    return Crossing(median(told), median(each), max(0.0, median(extra)), size / rows, rows, median(walls["cross"]))


def measure_calls(bench: Bench) -> tuple[float, dict[str, float]]:
    """One call of two worker processes, to one of them and by way of both: what a worker takes for one, in processor
    seconds, and how long each lasts.
    """
    calls = bench.size("calls a round", 300, least=30)
    found = {}
    stages: list[float] = []
    with bench.run(Links(), 2, **PROCESSES) as app:
        for what, call in (
            ("one stage", lambda n: app.link(n, n + 1)),
            ("two stages", lambda n: app.pass_on(n, 1.0)),
        ):

            def ask(call: Any = call, what: str = what) -> float:
                before = worked(app)
                taken = median([seconds(lambda n=n: call(n)) for n in range(calls)])
                if what == "one stage":
                    stages.append((worked(app) - before) / calls / 2)
                return taken

            values = rounds(bench, ask)
            bench.figure(f"a call, {what}, 2 processes, p50", [1e3 * v for v in values], "ms")
            found[what] = median(values)
    bench.figure("a worker's part of a call of one stage, processor time", [1e6 * v for v in stages[1:]], "us")
    return median(stages[1:]), found


def measure_log(bench: Bench) -> tuple[float, float]:
    """Bytes that a changed entry has in the log, and seconds a byte of the log that is read and not used."""
    rows = bench.size("entries in the log", 2_000_000, least=60_000)
    with new_folder(bench) as folder:
        with bench.run(Sums(), 1, checkpoint=folder / "saved", snapshot_every=1e9, snapshot_bytes=1 << 60) as app:
            before = log_bytes(app)
            fill(app, rows)
            size = log_bytes(app) - before
        location = open_location(folder / "saved", writing=False)

        def skim() -> float:
            found = find(location)
            assert found is not None
            begun = process_time()
            for _ in found.frames():
                pass
            return (process_time() - begun) / size

        values = rounds(bench, skim, FEW)
    bench.figure("bytes of the log an effect", [size / rows])
    bench.figure("log that is read", [1e-6 / v for v in values], "MB/s")
    return size / rows, median(values)


def measure_restore(bench: Bench) -> float:
    """Processor seconds a byte of keys and values that a snapshot brings back."""
    keys = bench.size("entries that are restored", 15_625_000, least=60_000)

    def start(where: Path | None) -> float:
        begun = process_time()
        app = bench.run(Sums(), 1, **({} if where is None else {"checkpoint": where}))
        taken = process_time() - begun
        app.stop()
        return taken

    with new_folder(bench) as folder:
        make_location(bench, folder / "saved", keys, 1)

        def restored() -> float:
            with lent(folder / "saved") as where:
                return (start(where) - start(None)) / (keys * ENTRY)

        values = rounds(bench, restored, FEW)
    bench.figure("restore of keys and values, processor time", [1e9 * v for v in values], "s/GB")
    return median(values)


def measure_move(bench: Bench) -> tuple[float, float]:
    """From one process to two: seconds with little to move, which is the start of a worker; and seconds a byte."""
    keys, few = (
        bench.size("entries of which half move", 6_250_000, least=120_000),
        60_000,
    )  # fewer are not in flat memory
    walls: list[float] = []
    taken: dict[int, list[float]] = {few: [], keys: []}
    for _ in bench.rounds[:FEW]:
        for entries, values in taken.items():
            with bench.run(Sums(), 1, **PROCESSES) as app:
                fill(app, entries)
                before = worked(app)
                wall = seconds(lambda app=app: app.scale(workers=2))
                values.append(worked(app) - before)
                if entries == few:
                    walls.append(wall)
    each = [(a - b) / ((keys - few) * ENTRY / 2) for a, b in zip(taken[keys], taken[few], strict=True)]
    bench.figure("one worker more, with little to move", walls, "s")
    bench.figure("a move of keys and values, processor time of both ends", [1e9 * v for v in each], "s/GB")
    return median(walls), max(0.0, median(each))
