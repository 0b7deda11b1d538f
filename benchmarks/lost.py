"""A worker that is killed while callers are at work: the part `lost` of recovery.py, in processes and on Spark.

Three callers, each of whom waits for its answer before the next call: one adds to keys of the worker that is killed,
one adds to keys of the other worker, and one reads such keys.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter, sleep
from typing import Any

import numpy as np
from harness import Bench
from hosts import PROCESSES, WORKERS, workers_of
from locations import Found, Numbers, Totals, at_once, entries_of, few_rounds, fill, new_folder
from programs import PlacedSums
from spark_session import start_spark

PLACES = 10_000  # keys that are added to, of each worker, and as many that are only read
WARM = 1.0  # seconds of calls before a worker is killed
AFTER = 0.5
PATIENCE = 120.0
ADDS, READS = "adds", "reads"


@dataclass(slots=True)
class Caller:
    """Calls one key after the other, until it is told to stop."""

    keys: Numbers
    call: Callable[[int], object]
    calls: list[tuple[float, float]] = field(default_factory=list)  # when each began, and when it was answered

    def work(self, over: threading.Event) -> None:
        listed = self.keys.tolist()
        while not over.is_set():
            begun = perf_counter()
            self.call(listed[len(self.calls) % len(listed)])
            self.calls.append((begun, perf_counter()))

    def rates(self, when: float, back: float) -> tuple[float, float]:
        """Answers a second: before it happened, and until all was well again."""
        before = sum(answered < when for _, answered in self.calls)
        meanwhile = sum(when <= answered <= back for _, answered in self.calls)
        return before / (when - self.calls[0][0]), meanwhile / (back - when)

    def longest_after(self, when: float) -> tuple[float, float]:
        """The call that waited longest of those that were answered after this."""
        return max((call for call in self.calls if call[1] > when), key=lambda call: call[1] - call[0])


def measure_lost(bench: Bench) -> None:
    """In processes."""
    _measure(bench, "processes", PROCESSES["processes"])


def measure_lost_on_spark(bench: Bench) -> None:
    """The same with workers that are tasks of Spark."""
    with start_spark(residents=WORKERS) as spark:
        _measure(bench, "Spark", {"on": spark})


def _measure(bench: Bench, host: str, where: Any) -> None:
    keys = entries_of(0.5, bench)
    bench.sizes["entries of lost"] = keys
    at = workers_of(5 * PLACES, WORKERS)
    of = [np.flatnonzero(at == worker)[: 2 * PLACES] for worker in range(WORKERS)]
    totals, found = Totals(keys), defaultdict(list)
    totals.of += np.arange(keys)
    with new_folder(bench) as folder:
        with bench.run(PlacedSums(), WORKERS, checkpoint=folder / "saved", **where) as app:
            fill(app, keys, slope=1.0)
            app.checkpoint()
            for n in few_rounds(bench):
                kill_one(app, n % WORKERS, of, totals, found)
                totals.check(app, f"lost, {host}, after a worker was lost")
        with bench.run(PlacedSums(), WORKERS, checkpoint=folder / "saved") as app:
            totals.check(app, f"lost, {host}, after a restart")
    bench.figure(f"lost, {host}, until the keys of the killed worker answer again", found["seconds"], "s")
    for kind in (READS, ADDS):
        what = f"lost, {host}, {kind} of the other worker's keys"
        bench.figure(f"{what}, one caller, before", found[f"{kind}, before"], "calls/s")
        bench.figure(f"{what}, answered meanwhile, share of before", found[f"{kind}, share"])
        bench.figure(f"{what}, longest call", found[f"{kind}, longest"], "s")


def kill_one(app: Any, killed: int, of: Sequence[Numbers], totals: Totals, found: Found) -> None:
    """Kill a worker while callers are at work. Every call must be answered, and counts once."""
    over, when = threading.Event(), 0.0
    pid = app.where(int(of[killed][0]))

    def add(key: int) -> None:
        app.add(key, 1.0)

    def read(key: int) -> None:
        if (total := app.total(key)) != totals.of[key]:
            raise AssertionError(f"key {key} has {total}, not {totals.of[key]}: nobody adds to it")

    gone = Caller(of[killed][:PLACES], add)
    others = {ADDS: Caller(of[1 - killed][:PLACES], add), READS: Caller(of[1 - killed][PLACES:], read)}

    def kill() -> None:
        nonlocal when
        sleep(WARM)
        when = perf_counter()
        os.kill(pid, signal.SIGKILL)
        while perf_counter() < when + PATIENCE and not (gone.calls and gone.calls[-1][0] > when):
            sleep(0.01)
        sleep(AFTER)

    callers = [gone, *others.values()]

    def work(n: int) -> None:
        try:
            callers[n].work(over) if n < len(callers) else kill()
        finally:
            over.set()

    at_once(work, len(callers) + 1)
    for caller in (gone, others[ADDS]):
        totals.add(np.resize(caller.keys, len(caller.calls)), 1.0)
    # Answers may have been on their way: the call that waited longest is the one that waited for the new worker.
    back = gone.longest_after(when)[1]
    found["seconds"].append(back - when)
    for kind, caller in others.items():
        before, meanwhile = caller.rates(when, back)
        begun, answered = caller.longest_after(when)
        found[f"{kind}, before"].append(before)
        found[f"{kind}, share"].append(meanwhile / before)
        found[f"{kind}, longest"].append(answered - begun)
