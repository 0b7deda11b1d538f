"""A worker that is slow: the part `straggler` of scaling.py.

Two worker processes, and callers who feed batches as fast as they are answered. After a while one worker is stopped
and let go again, a hundred times a second, so that it has a fifth of its time, as on a slower processor. (Stops that
take longer than an epoch are another thing: every epoch asks every worker, so it waits for them whoever has how many
keys.) An epoch ends when its last worker has, so the slow one holds up the other. Then buckets go to the one that has
time. With a fifth of a worker less there is at best 1.2 / 2 of what there was, if both had a core of their own;
callers and coordinator share the two cores here, so that a worker that is stopped leaves more to the others than it
would elsewhere.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any

from autoscale import CALLERS, Kind, computed, pace
from harness import Bench
from hosts import PROCESSES
from locations import Found, Totals, few_rounds
from offered import Answers, edges_of, offer, per_second
from panels import Mark, Panel, draw_panels

import anabranch as ab

WORKERS = 2
CYCLE, SHARE = 0.01, 0.2  # seconds, and how much of them the slow worker runs
BEFORE, SLOW = 10.0, 40.0  # seconds
SAMPLE = 5.0  # seconds of the load at its end that count as `after`
ANEW, NOTHING = "spread anew", "left as it is"


@dataclass(frozen=True, slots=True)
class Run:
    """What was answered, from when on a worker was slow, and the moves, in seconds since the load began."""

    answers: Answers
    slow: float
    seconds: float
    moves: list[Mark]


@contextmanager
def slowed(pid: int) -> Iterator[None]:
    """A process that is stopped most of the time, in the end it runs again."""
    over = threading.Event()

    def cycle() -> None:
        try:
            while not over.is_set():
                os.kill(pid, signal.SIGSTOP)
                sleep(CYCLE * (1 - SHARE))
                os.kill(pid, signal.SIGCONT)
                sleep(CYCLE * SHARE)
        finally:
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=cycle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def measure_straggler(bench: Bench) -> None:
    kind = computed(bench)
    found: Found = defaultdict(list)
    settings = ab.Autoscale(min=WORKERS, max=WORKERS, threshold=0.5, reports=3, every=pace(bench))
    ways: dict[str, dict[str, Any]] = {ANEW: {"autoscale": settings}, NOTHING: {}}
    runs = {}
    for _ in few_rounds(bench):
        for way, options in ways.items():
            run = runs[way] = one_run(bench, kind, way, options)
            look_at(run, kind.work.rows, pace(bench), found, way)
    report(bench, found)
    draw_runs(bench, runs, kind.work.rows)


def one_run(bench: Bench, kind: Kind, way: str, options: dict[str, Any]) -> Run:
    totals, over = Totals(kind.keys), threading.Event()
    before, slow = BEFORE * pace(bench), SLOW * pace(bench)
    with bench.run(kind.program(), WORKERS, **PROCESSES["processes"], **options) as app:
        kind.fill(app)
        call = kind.work.into(app)
        for n in range(10):
            call(n)
        kind.work.called(totals, 10)
        pid, at = app.where(0), 0.0
        begun, start = app.metrics().seconds, perf_counter()

        def slow_down() -> None:
            nonlocal at
            try:
                sleep(before)
                at = perf_counter() - start
                with slowed(pid):
                    sleep(slow)
            finally:
                over.set()

        thread = threading.Thread(target=slow_down)
        thread.start()
        answers = offer(call, lambda n: 0.0, over, CALLERS, start)
        thread.join()
        seconds = perf_counter() - start
        kind.work.called(totals, len(answers))
        moves = [Mark(m.at - begun, m.at - begun + m.seconds, ANEW) for m in app.metrics().moves]
        totals.check(app, f"straggler, {way}")
    return Run(answers, at, seconds, moves)


def look_at(run: Run, rows: int, unit: float, found: Found, way: str) -> None:
    """Rows a second before, with a slow worker and nothing done about it, and in the end."""
    end = run.slow + SLOW * unit
    moves = [m for m in run.moves if m.first > run.slow]
    first = moves[0].first if moves else end
    before = rows * run.answers.between(run.slow / 2, run.slow)
    slow = rows * run.answers.between(run.slow, first)
    after = rows * run.answers.between(end - SAMPLE * unit, end)
    for name, value in (("before", before), ("slow", slow), ("after", after)):
        found[f"{way}, {name}"].append(value)
    found[f"{way}, kept"].append(after / before)
    found[f"{way}, moves"].append(len(moves))
    if moves:
        found[f"{way}, until"].append(moves[-1].last - run.slow)


def report(bench: Bench, found: Found) -> None:
    for way in (ANEW, NOTHING):
        what = f"straggler, {way}"
        bench.figure(f"{what}, before", found[f"{way}, before"], "rows/s")
        bench.figure(f"{what}, one worker slow, until the first move", found[f"{way}, slow"], "rows/s")
        bench.figure(f"{what}, in the end", found[f"{way}, after"], "rows/s")
        bench.figure(f"{what}, in the end / before", found[f"{way}, kept"])
    bench.figure(f"straggler, {ANEW}, moves", found[f"{ANEW}, moves"], at_least=1)
    if until := found[f"{ANEW}, until"]:
        bench.figure(f"straggler, {ANEW}, from slow to the end of the last move", until, "s")
    gained = [a / b for a, b in zip(found[f"{ANEW}, after"], found[f"{NOTHING}, after"], strict=True)]
    bench.figure(f"straggler, in the end, {ANEW} / {NOTHING}", gained, at_least=1.5)


def draw_runs(bench: Bench, runs: dict[str, Run], rows: int) -> None:
    last = min(run.seconds for run in runs.values())
    lines = {way: per_second(run.answers.answered, edges_of(last, 80), rows) for way, run in runs.items()}
    run = runs[ANEW]
    marks = [Mark(run.slow, run.slow, "one worker is slow"), *run.moves]
    title = "One of two workers has a fifth of its time"
    draw_panels(bench, "scaling_straggler.svg", title, "seconds", [Panel("rows/s", lines)], marks)
