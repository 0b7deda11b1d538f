"""Scaling under load: the parts `live` and `live_on_spark` of scaling.py.

Two loads at once, both open: batches of sums, so many a second, and single calls, 0.7 of the most that eight callers
reach beside the batches with one worker. Every answer is given when what it changed is on disk. While they come, the
app goes from one worker to two, to three, and to one again. What is compared with that is done afterwards with the same
state and no load: a snapshot, which is not timed, then `stop` and `ab.run` with two workers, up to the first answer.
"""

from __future__ import annotations

import gc
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Bench
from hosts import PROCESSES, THREADS
from locations import (
    ENTRY,
    GB,
    NEVER,
    Calls,
    Found,
    Totals,
    at_once,
    entries_of,
    few_rounds,
    lent,
    make_location,
    new_folder,
    ratios,
)
from offered import Answers, Due, Work, edges_of, latency_over_time, offer, per_second, steady
from panels import Mark, Panel, draw_panels
from programs import Sums
from spark_session import start_spark

WORKERS = (1, 2, 3, 1)
SHARE = 0.7  # of the most that is answered
INGEST = 10.0  # batches a second
POOL = 20
TENTH = 0.1
CALLED, INGESTED = "calls", "batches"

Moves = list[tuple[float, float]]  # from when to when


@dataclass(frozen=True, slots=True)
class Stretch:
    """What became of the load, and when the app moved, in seconds since the load began."""

    answers: Mapping[str, Answers]
    moves: Moves
    seconds: float

    @property
    def both(self) -> Answers:
        due = np.concatenate([of.due for of in self.answers.values()])
        answered = np.concatenate([of.answered for of in self.answers.values()])
        order = np.argsort(answered)
        return Answers(due[order], answered[order])


def measure_live(bench: Bench) -> None:
    for host, where in {**THREADS, **PROCESSES}.items():
        _measure(bench, f"live, {host}", dict(where), 1.0, f"scaling_live_{host}.svg")


def measure_live_on_spark(bench: Bench) -> None:
    with start_spark(residents=max(WORKERS)) as spark:
        _measure(bench, "live_on_spark", {"on": spark}, 0.25, "scaling_live_on_spark.svg")


def _measure(bench: Bench, what: str, where: dict[str, Any], gigabytes: float, picture: str) -> None:
    keys = entries_of(gigabytes, bench)
    bench.sizes[f"entries of {what}"] = keys
    work = batches_of(bench, keys)
    found: Found = defaultdict(list)
    with new_folder(bench) as folder:
        make_location(bench, folder / "saved", keys, WORKERS[0])
        for _ in few_rounds(bench):
            with lent(folder / "saved") as location:
                stretch = one_round(bench, location, where, Totals(keys), work, found, what)
    report(bench, f"{what}, {keys * ENTRY / GB:.3g} GB", found)
    draw_stretch(bench, picture, f"Workers come and go: {what}, {keys * ENTRY / GB:.3g} GB", stretch, work.rows)


def batches_of(bench: Bench, keys: int) -> Work:
    rows = bench.size("rows a batch of live", 20_000, least=500)
    rng = np.random.default_rng(7)
    adds = [rng.integers(0, 10, rows).astype(float) for _ in range(POOL)]
    return Work([pa.table({"key": rng.integers(0, keys, rows), "value": value}) for value in adds], adds)


def one_round(
    bench: Bench, location: Path, where: dict[str, Any], totals: Totals, work: Work, found: Found, who: str
) -> Stretch:
    app = bench.run(Sums(), WORKERS[0], checkpoint=location, **NEVER, **where)
    try:
        call, brief = Calls(app, totals), max(1.0, 4.0 * float(bench.options.scale))
        loads = Loads(app, call, work, totals)
        full = loads.beside(lambda n: 0.0, lambda clock: wait(brief))
        rate = SHARE * len(full.answers[CALLED]) / full.seconds
        stretch = loads.beside(steady(rate), lambda clock: move(app, clock, brief))
        totals.check(app, f"{who}, after the moves")
        look_at(stretch, rate, work.rows, found)
        for move_, name in zip(app.metrics().moves, MOVES, strict=True):
            found[f"{name}, pause"].append(1e3 * move_.pause)
        app.checkpoint()
        gc.collect()
        start = perf_counter()
        app.stop()
        app = bench.run(Sums(), WORKERS[1], checkpoint=location, **NEVER, **where)
        app.total(0)
        found["restart"].append(1e3 * (perf_counter() - start))
        totals.check(app, f"{who}, after a restart")
    finally:
        app.stop()
    return stretch


@dataclass(frozen=True, slots=True)
class Loads:
    """Calls and batches at once, and something that happens meanwhile; what they add is counted."""

    app: Any
    call: Calls
    work: Work
    totals: Totals

    def beside(self, due: Due, act: Callable[[Callable[[], float]], Moves]) -> Stretch:
        """Calls come when they are due, batches at a fixed rate, until what happens has happened."""
        over, answers = threading.Event(), {}
        moves: Moves = []
        gc.collect()
        start = perf_counter()

        def run(n: int) -> None:
            try:
                if n == 0:
                    answers[CALLED] = offer(self.call, due, over, start=start)
                elif n == 1:
                    answers[INGESTED] = offer(self.work.into(self.app), steady(INGEST), over, 1, start)
                else:
                    moves.extend(act(lambda: perf_counter() - start))
            finally:
                over.set()

        at_once(run, 3)
        seconds = perf_counter() - start
        self.call.called(len(answers[CALLED]))
        self.work.called(self.totals, len(answers[INGESTED]))
        return Stretch(answers, moves, seconds)


def wait(seconds: float) -> Moves:
    sleep(seconds)
    return []


def move(app: Any, clock: Callable[[], float], brief: float) -> Moves:
    """One number of workers after the other, with a while before each and after the last."""
    moves = []
    sleep(2 * brief)
    for workers in WORKERS[1:]:
        begun = clock()
        app.scale(workers=workers)
        moves.append((begun, clock()))
        sleep(brief)
    return moves


# --- what was found ----------------------------------------------------------------------------------------------

MOVES = tuple(f"{before} -> {after}" for before, after in pairwise(WORKERS))


def look_at(stretch: Stretch, rate: float, rows: int, found: Found) -> None:
    """Milliseconds, but for what is named otherwise."""
    both, calls = stretch.both, stretch.answers[CALLED]
    calm = stretch.moves[0][0]
    found["calm"].append(1e3 * both.longest_silence(calm / 4, calm))
    for name, (first, last) in zip(MOVES, stretch.moves, strict=True):
        found[f"{name}, silence"].append(1e3 * both.longest_silence(first, last))
        found[f"{name}, slowest"].append(1e3 * calls.slowest(first, last))
        found[f"{name}, seconds"].append(last - first)
        found[f"{name}, share"].append(calls.between(first, last) / rate)
    found["longest"].append(max(found[f"{name}, silence"][-1] for name in MOVES))
    found["rate"].append(rate)
    found["added"].append(len(calls) + rows * len(stretch.answers[INGESTED]))


def report(bench: Bench, what: str, found: Found) -> None:
    bench.figure(f"{what}, calls offered", found["rate"], "calls/s")
    bench.figure(f"{what}, rows added meanwhile, all found in the end", found["added"])
    bench.figure(f"{what}, longest time without an answer before the first move", found["calm"], "ms")
    for name in MOVES:
        one = f"{what}, workers {name}"
        bench.figure(f"{one}, longest time without an answer", found[f"{name}, silence"], "ms")
        bench.figure(f"{one}, of it without epochs, by the app's account", found[f"{name}, pause"], "ms")
        bench.figure(f"{one}, slowest call", found[f"{name}, slowest"], "ms")
        bench.figure(f"{one}, the move", found[f"{name}, seconds"], "s")
        bench.figure(f"{one}, calls answered while it moved, share of offered", found[f"{name}, share"])
    bench.figure(f"{what}, stop, restart, restore, no load", found["restart"], "ms")
    bench.figure(f"{what}, longest time without an answer of all moves", found["longest"], "ms")
    share = ratios(found, "longest", "restart")
    bench.figure(f"{what}, that as a share of stop, restart, restore", share, at_most=TENTH)


def draw_stretch(bench: Bench, file: str, title: str, stretch: Stretch, rows: int) -> None:
    edges = edges_of(stretch.seconds)
    calls, batches = stretch.answers[CALLED], stretch.answers[INGESTED]
    panels = [
        Panel("calls/s", {"answered": per_second(calls.answered, edges)}),
        Panel("rows/s in batches", {"answered": per_second(batches.answered, edges_of(stretch.seconds, 60), rows)}),
        Panel(
            "ms of a call, by when it was due",
            {"longest": latency_over_time(calls, edges, 100), "p50": latency_over_time(calls, edges, 50)},
            log=True,
        ),
    ]
    marks = [Mark(*when, f"{name} workers") for name, when in zip(MOVES, stretch.moves, strict=True)]
    draw_panels(bench, file, title, "seconds", panels, marks)
