"""Forks: how long they take, how long the app holds still for one, and the memory they cost as they change.

    python benchmarks/forks.py [--json] [--rounds N] [--scale F] [--plots FOLDER]

States of 0.25 to 2 GB of keys and values, 16 bytes an entry; in memory they are more than twice as much. `fork` is
the call of `app.fork()`, `first answer` is from there to that of the fork, beside the same of an app that starts with
nothing. Each is measured alone and beside a caller of the app that never pauses, who takes the interpreter from
everybody else; the longest of its calls is what the app held still. Then the fork adds to a growing share of its keys,
chosen at random, and what only it has in memory is read from the system. Sums are checked in both.
"""

from __future__ import annotations

import argparse
import gc
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Bench, main, tiers_of
from locations import ENTRY, GB, Numbers, Totals, fill
from plot import Point, line_plot
from programs import Sums
from report import Spread

SIZES = (0.25, 0.5, 1.0, 2.0)  # GB
SHARES = (0.0, 0.001, 0.01, 0.1, 1.0)  # of the keys that a fork has added to
LARGEST = 1.0  # GB from which on not every key of the fork is looked at: that would be one answer of more than 1 GB
BATCH = 1_000_000
LIMIT = 0.05  # seconds for the largest


def measure(bench: Bench) -> None:
    points: dict[str, list[Point]] = defaultdict(list)
    for size in SIZES:
        entries = bench.scaled(round(size * GB / ENTRY), least=10_000)
        _measure(bench, size, entries, points)
    if bench.options.plots is not None:
        draw(bench.options.plots, points)


def _measure(bench: Bench, size: float, entries: int, points: dict[str, list[Point]]) -> None:
    totals, found = Totals(entries), defaultdict(list)
    with bench.run(Sums(), 1) as app:
        fill(app, entries)
        app.fork().stop()  # what is imported for the first is not part of the others
        state = app.state.totals.nbytes
        for _ in bench.rounds:
            gc.collect()
            time_fork(app, found, "")
            with calls_meanwhile(app) as longest:
                time_fork(app, found, " beside calls")
            found["longest call of the app meanwhile"].append(longest())
            found["an app with nothing"].append(start_with_nothing(bench))
        bench.tiers["add"] = tiers_of(app, "add")
        memory = diverge(app, totals, entries, size)
        totals.check(app, f"{size} GB, the app")
    limit = LIMIT if size == SIZES[-1] else None
    for what, seconds in found.items():
        most = None if what.startswith(("longest", "an app", "first answer beside")) else limit
        bench.figure(f"{size} GB, {what}", [1e3 * s for s in seconds], "ms", at_most=most and 1e3 * most)
        points[what].append(_point(size, seconds))
    bench.figure(f"{size} GB, state in memory", [state / 1e6], "MB")
    for share, private in memory.items():
        told = f"{size} GB, memory that only the fork has, {share:.1%} of the keys changed"
        bench.figure(told, [private / 1e6], "MB")
        bench.figure(f"{told}, per byte of state", [private / state])
        if share:
            points[f"{size} GB"].append(Point(share, private / state, private / state, private / state))


def time_fork(app: Any, found: dict[str, list[float]], beside: str) -> None:
    begun = perf_counter()
    with app.fork() as fork:
        made = perf_counter() - begun
        fork.total(7)
        found[f"first answer{beside}"].append(perf_counter() - begun)
    found[f"fork{beside}"].append(made)


@contextmanager
def calls_meanwhile(app: Any) -> Iterator[Any]:
    """One caller, who asks again as soon as it is answered; gives its longest call."""
    stop, seconds = threading.Event(), [0.0]

    def work() -> None:
        while not stop.is_set():
            begun = perf_counter()
            app.total(7)
            seconds.append(perf_counter() - begun)

    caller = threading.Thread(target=work)
    caller.start()
    try:
        yield lambda: max(seconds)
    finally:
        stop.set()
        caller.join()


def start_with_nothing(bench: Bench) -> float:
    begun = perf_counter()
    with bench.run(Sums(), 1) as app:
        app.total(7)
        return perf_counter() - begun


def diverge(app: Any, totals: Totals, entries: int, size: float) -> dict[float, int]:
    """Bytes that only the fork has, by the share of its keys that it has added to. The app sees nothing of it."""
    order = np.random.default_rng(7).permutation(entries)
    mine, found, done = Totals(entries), {}, 0
    mine.of += totals.of
    with app.fork() as fork:
        fork.total(7)
        for share in SHARES:
            upto = round(share * entries)
            add_one(fork, order[done:upto], mine)
            done = upto
            found[share] = private(fork._child.pid)
        check = mine.check if size < LARGEST else mine.check_some
        check(fork, "the fork")
    return found


def add_one(app: Any, keys: Numbers, totals: Totals) -> None:
    for i in range(0, len(keys), BATCH):
        batch = keys[i : i + BATCH]
        app.add.many(pa.table({"key": batch, "value": np.ones(len(batch))}))
        totals.add(batch, 1.0)


def private(pid: int) -> int:
    """Bytes of memory that no other process shares."""
    told = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in told if line.startswith("Private_"))


def _point(x: float, seconds: list[float]) -> Point:
    spread = Spread.of([1e3 * s for s in seconds])
    return Point(x, spread.median, spread.low, spread.high)


def draw(folder: Path, points: dict[str, list[Point]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    times = {name: of for name, of in points.items() if not name.endswith("GB")}
    shares = {name: of for name, of in points.items() if name.endswith("GB")}
    (folder / "forks.svg").write_text(line_plot("Forks", "GB of state", "milliseconds", times))
    title = "Memory that only the fork has"
    (folder / "forks-memory.svg").write_text(
        line_plot(title, "share of the keys that it has changed", "per byte of state", shares)
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="write plots there")


if __name__ == "__main__":
    main(measure, __doc__, add_options)
