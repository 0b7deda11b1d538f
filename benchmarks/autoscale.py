"""Workers that follow the load: the parts `rising`, `threshold` and `fixed` of scaling.py.

Batches come at a rate that changes with time, whatever became of those before, to workers in processes. Rates are
multiples of what one worker answers at most, which is measured first. There are two kinds of work. Rows that are
`computed` take a core: on a machine with two cores, which the callers need too, a second worker helps and a third does
not. Rows that are `waited` for take none, as if every worker had a machine of its own: that shows how the number of
workers follows the load beyond the cores of this machine, and nothing of how fast anything is computed.
"""

from __future__ import annotations

import gc
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Bench
from hosts import PROCESSES
from locations import Found, Numbers, Totals, few_rounds, rotated
from offered import (
    Answers,
    Work,
    at_most,
    edges_of,
    latency_over_time,
    listed,
    offer,
    per_second,
    varying,
)
from panels import Mark, Panel, draw_panels
from programs import Turns, Waits
from report import Spread

import anabranch as ab

CALLERS = 16  # who wait for the answers to batches
POOL = 20
TURNS = 20_000  # of a computed row, about 50 us
SECONDS = 0.0005  # of a row that is waited for
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
LEAST = 0.2  # of what one worker answers at most: where rates begin
NEAR = 1.5  # times the lowest p95 of any fixed number is as good as that
LATE = "p95 of the last fifth"
PERCENTS = {"p50": 50, "p95": 95, "p99": 99, "longest": 100}

Program = Callable[[], ab.Program]


@dataclass(frozen=True, slots=True)
class Kind:
    """What rows do; how many workers there may be; the highest load, as a multiple of what one of them answers."""

    name: str
    program: Program
    work: Work
    keys: int
    effort: str
    most: int
    highest: float
    fixed: tuple[int, ...]

    def fill(self, app: Any) -> None:
        """Every key is there, and nothing was added."""
        nothing = np.zeros(self.keys, dtype=self.work.batches[0][self.effort].type.to_pandas_dtype())
        app.add.many(pa.table({"key": np.arange(self.keys), "value": np.zeros(self.keys), self.effort: nothing}))


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a load that ended after so many seconds, answered or not."""

    answers: Answers
    dues: Numbers
    moves: tuple[Any, ...]  # records of `app.metrics().moves`, `at` is since the app started
    begun: float  # when the load did, on the same clock
    first: int  # workers
    seconds: float

    @property
    def workers(self) -> list[tuple[float, float]]:
        """From which second on there were how many, while the load lasted."""
        ends = [(max(0.0, m.at + m.seconds - self.begun), float(m.after)) for m in self.moves]
        ends = [(second, n) for second, n in ends if second <= self.seconds]
        before = [n for second, n in ends if second == 0.0]
        return [(0.0, before[-1] if before else float(self.first)), *((s, n) for s, n in ends if s > 0.0)]

    @property
    def in_the_end(self) -> float:
        return self.workers[-1][1]

    @property
    def worker_seconds(self) -> float:
        return sum(n * (end - begin) for (begin, n), (end, _) in pairwise([*self.workers, (self.seconds, 0.0)]))

    def percentile(self, percent: float, first: float = 0.0) -> float:
        """Milliseconds of what was due from that second on. What was never answered counts with as long as it had
        waited when the load ended: it is at least that.
        """
        waiting = self.dues[len(self.answers) :]
        due = np.concatenate([self.answers.due, waiting])
        latencies = np.concatenate([self.answers.latencies, self.seconds - waiting])
        return 1e3 * float(np.percentile(latencies[due >= first], percent))

    def marks(self) -> list[Mark]:
        found = []
        for m in self.moves:
            name = f"{m.before} -> {m.after}" if m.before != m.after else "spread anew"
            found.append(Mark(m.at - self.begun, m.at - self.begun + m.seconds, name))
        return found


def computed(bench: Bench) -> Kind:
    keys, rows = bench.size("keys, computed", 100_000, least=10_000), 500
    rng = np.random.default_rng(7)
    values = [rng.random(rows) for _ in range(POOL)]
    batches = [
        pa.table({"key": rng.integers(0, keys, rows), "value": v, "turns": np.full(rows, TURNS)}) for v in values
    ]
    work = Work(batches, [turned(v, TURNS) for v in values])
    return Kind("computed", Turns, work, keys, "turns", most=2, highest=1.3, fixed=(1, 2, 3))


def turned(values: Numbers, turns: int) -> Numbers:
    """What `Turns` adds for them, by numpy."""
    x = values.copy()
    for _ in range(turns):
        x = 3.9 * x * (1.0 - x)
    return np.where(x > 0.5, 1.0, 0.0)


def waited(bench: Bench) -> Kind:
    keys, rows = bench.size("keys, waited", 10_000), 100
    rng = np.random.default_rng(7)
    adds = [rng.integers(0, 10, rows).astype(float) for _ in range(POOL)]
    batches = [
        pa.table({"key": rng.integers(0, keys, rows), "value": v, "seconds": np.full(rows, SECONDS)}) for v in adds
    ]
    return Kind("waited", Waits, Work(batches, adds), keys, "seconds", most=8, highest=3.0, fixed=(1, 2, 3, 4, 6, 8))


# --- a load ------------------------------------------------------------------------------------------------------


def pace(bench: Bench) -> float:
    """How much shorter all is with a small --scale: loads, and the time between two looks at the workers."""
    return min(1.0, max(0.2, float(bench.options.scale)))


def autoscale(bench: Bench, kind: Kind, threshold: float = 0.7) -> dict[str, Any]:
    return {"autoscale": ab.Autoscale(min=1, max=kind.most, threshold=threshold, reports=3, every=pace(bench))}


def peak(bench: Bench, kind: Kind) -> float:
    """Batches a second that one worker answers at most."""
    totals = Totals(kind.keys)
    with bench.run(kind.program(), 1, **PROCESSES["processes"]) as app:
        kind.fill(app)
        call = kind.work.into(app)
        call(0)
        seconds = 5.0 * pace(bench)
        answers = at_most(call, seconds, CALLERS)
        for calls in (1, len(answers)):
            kind.work.called(totals, calls)
        totals.check(app, f"{kind.name}, at most")
    return len(answers) / float(answers.answered[-1])


def up(bench: Bench, kind: Kind, most: float) -> Numbers:
    """When batches are due of a load that rises, and stays."""
    return shaped(bench, kind, most, ((5, LEAST), (30, kind.highest), (50, kind.highest)))


def up_and_down(bench: Bench, kind: Kind, most: float) -> Numbers:
    high = kind.highest
    return shaped(bench, kind, most, ((10, LEAST), (50, high), (80, high), (85, LEAST), (120, LEAST)))


def shaped(bench: Bench, kind: Kind, most: float, points: Sequence[tuple[float, float]]) -> Numbers:
    return varying([(second * pace(bench), share * most) for second, share in ((0.0, LEAST), *points)])


def run_load(bench: Bench, kind: Kind, dues: Numbers, workers: int, who: str, **options: Any) -> Run:
    totals, seconds = Totals(kind.keys), float(dues[-1])
    with bench.run(kind.program(), workers, **PROCESSES["processes"], **options) as app:
        kind.fill(app)
        call = kind.work.into(app)
        call(0)
        gc.collect()
        begun, over = app.metrics().seconds, threading.Event()
        start = perf_counter()
        timer = threading.Timer(seconds, over.set)
        timer.start()
        try:
            answers = offer(call, listed(dues), over, CALLERS, start)
        finally:
            timer.cancel()
        moves = app.metrics().moves
        for calls in (1, len(answers)):
            kind.work.called(totals, calls)
        totals.check(app, who)
    return Run(answers, dues, moves, begun, workers, seconds)


# --- rising ------------------------------------------------------------------------------------------------------


def measure_rising(bench: Bench) -> None:
    """The load rises, stays, and falls again; from one worker on, workers follow, also with a process that is ready."""
    for kind, spares in ((computed(bench), 0), (waited(bench), 0), (waited(bench), 1)):
        name = f"{kind.name}{', one spare' * spares}"
        found: Found = defaultdict(list)
        for _ in few_rounds(bench):
            most = peak(bench, kind)
            dues = up_and_down(bench, kind, most)
            run = run_load(bench, kind, dues, 1, f"rising, {name}", spares=spares, **autoscale(bench, kind))
            look_at_rising(run, kind, most, pace(bench), found)
        report_rising(bench, f"rising, {name}", found)
        draw_rising(bench, name, kind.work.rows, run)


def look_at_rising(run: Run, kind: Kind, most: float, unit: float, found: Found) -> None:
    for name, percent in PERCENTS.items():
        found[name].append(run.percentile(percent))
    found["one worker"].append(most * kind.work.rows)
    found["highest"].append(kind.highest * most * kind.work.rows)
    found["answered"].append(run.answers.between(65 * unit, 80 * unit) / (kind.highest * most))
    found["workers"].append(max(n for _, n in run.workers))
    found["fewer"].append(found["workers"][-1] - run.in_the_end)
    found["pause"].append(1e3 * max((m.pause for m in run.moves), default=0.0))
    found["move"].append(max((m.seconds for m in run.moves), default=0.0))
    found["never"].append(len(run.dues) - len(run.answers))


def report_rising(bench: Bench, what: str, found: Found) -> None:
    bench.figure(f"{what}, one worker at most", found["one worker"], "rows/s")
    bench.figure(f"{what}, offered at most", found["highest"], "rows/s")
    share = f"{what}, answered / offered, second half of the highest rate"
    bench.figure(share, found["answered"], at_least=0.95)
    bench.figure(f"{what}, workers at most", found["workers"], at_least=2)
    bench.figure(f"{what}, fewer than that in the end, when the load has fallen", found["fewer"], at_least=1)
    for name in PERCENTS:
        bench.figure(f"{what}, latency of a batch, {name}", found[name], "ms")
    bench.figure(f"{what}, longest move", found["move"], "s")
    bench.figure(f"{what}, longest pause of a move, by the app's account", found["pause"], "ms")
    bench.figure(f"{what}, batches not answered when the load ended", found["never"])


def draw_rising(bench: Bench, name: str, rows: int, run: Run) -> None:
    edges = edges_of(run.seconds, 90)
    offered, answered = per_second(run.dues, edges, rows), per_second(run.answers.answered, edges, rows)
    panels = [
        Panel("rows/s", {"offered": offered, "answered": answered}),
        Panel("workers", {"workers": [*run.workers, (run.seconds, run.in_the_end)]}, steps=True),
        Panel("ms of a batch, by when it was due", latency_lines(run.answers, edges), log=True),
    ]
    title = f"Workers follow a load that rises and falls ({name})"
    file = f"scaling_rising_{name.replace(', ', '_').replace(' ', '_')}.svg"
    draw_panels(bench, file, title, "seconds", panels, run.marks())


def latency_lines(answers: Answers, edges: Numbers) -> dict[str, list[tuple[float, float]]]:
    return {name: latency_over_time(answers, edges, percent) for name, percent in (("p95", 95), ("p50", 50))}


# --- threshold ---------------------------------------------------------------------------------------------------


def measure_threshold(bench: Bench) -> None:
    """The same rising load for each threshold, with rows that are waited for: there are too few cores for others."""
    kind = waited(bench)
    found: Found = defaultdict(list)
    most = peak(bench, kind)
    dues = up(bench, kind, most)
    bench.figure("threshold, offered at most", [kind.highest * most * kind.work.rows], "rows/s")
    for n in few_rounds(bench):
        for threshold in rotated(THRESHOLDS, n):
            who = f"threshold {threshold}"
            run = run_load(bench, kind, dues, 1, who, **autoscale(bench, kind, threshold))
            found[f"{threshold}, workers"].append(run.in_the_end)
            found[f"{threshold}, moves"].append(len(run.moves))
            for name, percent in PERCENTS.items():
                found[f"{threshold}, {name}"].append(run.percentile(percent))
    for threshold in THRESHOLDS:
        bench.figure(f"threshold, {threshold}, workers in the end", found[f"{threshold}, workers"])
        bench.figure(f"threshold, {threshold}, moves", found[f"{threshold}, moves"])
        for name in PERCENTS:
            bench.figure(f"threshold, {threshold}, latency of a batch, {name}", found[f"{threshold}, {name}"], "ms")

    def line(what: str) -> list[tuple[float, float]]:
        return [(threshold, Spread.of(found[f"{threshold}, {what}"]).median) for threshold in THRESHOLDS]

    panels = [
        Panel("ms of a batch", {name: line(name) for name in ("p95", "p50")}, log=True),
        Panel("workers in the end", {"workers": line("workers")}),
    ]
    title = "Thresholds of utilisation, the same rising load"
    draw_panels(bench, "scaling_threshold.svg", title, "threshold", panels)


# --- fixed -------------------------------------------------------------------------------------------------------


def measure_fixed(bench: Bench) -> None:
    """The same rising load for each fixed number of workers, and for one that follows it from one on."""
    for kind in (computed(bench), waited(bench)):
        found: Found = defaultdict(list)
        most = peak(bench, kind)
        dues = up(bench, kind, most)
        for n in few_rounds(bench):
            for workers in rotated((0, *kind.fixed), n):
                options = {} if workers else autoscale(bench, kind)
                name = str(workers or "autoscale")
                run = run_load(bench, kind, dues, workers or 1, f"fixed, {kind.name}, {name}", **options)
                for percentile, percent in PERCENTS.items():
                    found[f"{name}, {percentile}"].append(run.percentile(percent))
                found[f"{name}, {LATE}"].append(run.percentile(95, 0.8 * run.seconds))
                found[f"{name}, answered"].append(len(run.answers) / len(dues))
                found[f"{name}, worker seconds"].append(run.worker_seconds)
                found[f"{name}, workers"].append(run.in_the_end)
        report_fixed(bench, kind, found)
        draw_fixed(bench, kind, found)


def report_fixed(bench: Bench, kind: Kind, found: Found) -> None:
    for name in (*map(str, kind.fixed), "autoscale"):
        what = f"fixed, {kind.name}, {'autoscale' if name == 'autoscale' else f'workers {name}'}"
        bench.figure(f"{what}, answered before the load ended, share", found[f"{name}, answered"])
        bench.figure(f"{what}, worker seconds", found[f"{name}, worker seconds"], "s")
        for percentile in (*PERCENTS, LATE):
            bench.figure(f"{what}, latency of a batch, {percentile}", found[f"{name}, {percentile}"], "ms")
    bests = [best_fixed(kind, found, n) for n in range(len(found["autoscale, p95"]))]
    what = f"fixed, {kind.name}"
    bench.figure(f"{what}, fewest workers whose p95 is at most {NEAR} times the lowest", bests)
    bench.figure(f"{what}, workers of autoscale in the end", found["autoscale, workers"])
    more = [found["autoscale, workers"][n] / best for n, best in enumerate(bests)]
    bench.figure(f"{what}, workers of autoscale in the end / those fewest", more, at_least=0.75, at_most=1.25)
    for figure in ("p50", "p95", LATE, "worker seconds"):
        beside = [found[f"autoscale, {figure}"][n] / found[f"{best}, {figure}"][n] for n, best in enumerate(bests)]
        limit = 2.0 if figure == LATE else None
        bench.figure(f"{what}, {figure}, autoscale / those fewest", beside, at_most=limit)


def best_fixed(kind: Kind, found: Found, n: int) -> int:
    """The fewest workers that are as good as any, in one round."""
    lowest = min(found[f"{workers}, p95"][n] for workers in kind.fixed)
    return min(workers for workers in kind.fixed if found[f"{workers}, p95"][n] <= NEAR * lowest)


def draw_fixed(bench: Bench, kind: Kind, found: Found) -> None:
    def median(name: str) -> float:
        return Spread.of(found[name]).median

    lines = {}
    for percentile in ("p95", "p50"):
        lines[percentile] = [(float(workers), median(f"{workers}, {percentile}")) for workers in kind.fixed]
        level = median(f"autoscale, {percentile}")
        lines[f"autoscale, {percentile}"] = [(float(kind.fixed[0]), level), (float(kind.fixed[-1]), level)]
    spent = [(float(workers), median(f"{workers}, worker seconds")) for workers in kind.fixed]
    level = median("autoscale, worker seconds")
    panels = [
        Panel("ms of a batch", lines, log=True),
        Panel("worker seconds", {"fixed": spent, "autoscale": [(x, level) for x in (spent[0][0], spent[-1][0])]}),
    ]
    title = f"A fixed number of workers, or one that follows ({kind.name})"
    draw_panels(bench, f"scaling_fixed_{kind.name}.svg", title, "workers", panels)
