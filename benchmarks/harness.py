"""What the benchmarks share: options, interleaved rounds, the check against the plain version, the report.

A benchmark is a function of a `Bench`. The first of its ways is the plain version: Python with dicts and lists that
uses nothing of anabranch. Every way runs once before the timing (it may compile then), and what it gives must equal
what the plain version gives. Each round then times every way in turn, each on state of its own that was made outside
the timing. The garbage collector runs before each timed run and stays on in it; inputs are out of its sight. Ratios
are those of one round; of rounds the median counts.

Importing this module puts the folder of the repository on the path, for `examples`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from report import Figure, Timing, describe_machine, print_report

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import anabranch as ab  # noqa: E402

PLAIN = "plain"

State = Any  # what a way works on
Outcome = tuple[pa.Table, list[Any] | None]  # the state at the end, and the answers if there are any


@dataclass(frozen=True, slots=True)
class Way:
    """One way to do the work: `start` makes its state, `run` is what is timed and gives the answers, if any.

    `clock`: of a way that runs in another process, the seconds that it took by its own account.
    """

    name: str
    start: Callable[[], State]
    run: Callable[[State], Any]
    outcome: Callable[[State, Any], Outcome]
    stop: Callable[[State], object] = lambda _: None
    clock: Callable[[Any], float] | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each way, round by round."""

    rows: int
    seconds: Mapping[str, Sequence[float]]

    def ratio(self, way: str, other: str) -> list[float]:
        """How many times as fast one way is as another, in each round."""
        return [b / a for a, b in zip(self.seconds[way], self.seconds[other], strict=True)]

    def per_second(self, way: str) -> list[float]:
        return [self.rows / seconds for seconds in self.seconds[way]]


@dataclass(slots=True)
class Bench:
    """A run of one benchmark: gives sizes and timings, takes figures and notes."""

    name: str
    options: argparse.Namespace
    sizes: dict[str, int] = field(default_factory=dict)
    timings: list[Timing] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tiers: dict[str, list[str]] = field(default_factory=dict)

    @property
    def rounds(self) -> range:
        return range(max(1, self.options.rounds))

    def scaled(self, full: int, least: int = 1) -> int:
        return max(least, round(full * float(self.options.scale)))

    def size(self, name: str, full: int, least: int = 1) -> int:
        """How many there are of something: so many at full size, fewer with a smaller --scale; goes into the report."""
        self.sizes[name] = self.scaled(full, least)
        return self.sizes[name]

    def note(self, text: str) -> None:
        self.notes.append(text)

    def figure(
        self,
        what: str,
        values: Sequence[float],
        unit: str = "",
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        """Something measured once in each round, with its target if it has one."""
        self.figures.append(Figure.of(what, unit, values, at_least, at_most))

    def time(self, ways: Sequence[Way], rows: int, group: str = "", keep: bool = False) -> Times:
        """Time the ways in interleaved rounds. With `keep`, each goes on with the state of its round before."""
        gc.collect()
        gc.freeze()
        kept = {way.name: way.start() for way in ways} if keep else {}
        try:
            expected = self._run(ways[0], kept)[1]
            for way in ways[1:]:
                require_same(expected, self._run(way, kept)[1], f"{way.name} and {ways[0].name}")
            seconds: dict[str, list[float]] = {way.name: [] for way in ways}
            for n in self.rounds:
                first = n % len(ways)  # nobody always comes first
                for way in [*ways[first:], *ways[:first]]:
                    seconds[way.name].append(self._run(way, kept, check=False)[0])
        finally:
            for way in ways:
                if way.name in kept:
                    way.stop(kept[way.name])
        return self.timed(Times(rows, seconds), group)

    def timed(self, times: Times, group: str = "") -> Times:
        """Take what was timed into the report."""
        self.timings += [Timing.of(group, way, times.rows, seconds) for way, seconds in times.seconds.items()]
        return times

    def _run(self, way: Way, kept: Mapping[str, State], check: bool = True) -> tuple[float, Outcome | None]:
        state = kept[way.name] if way.name in kept else way.start()
        try:
            gc.collect()
            start = perf_counter()
            answers = way.run(state)
            seconds = perf_counter() - start
            if way.clock is not None:
                seconds = way.clock(answers)
            return seconds, way.outcome(state, answers) if check else None
        finally:
            if way.name not in kept:
                way.stop(state)

    def run(self, program: ab.Program, workers: int, **where: Any) -> Any:
        """An app. By default all of it is compiled now, so that no round pays for it."""
        return ab.run(program, workers=workers, tier=self.options.tier, **where)

    def app_way(
        self,
        program: Callable[[], ab.Program],
        entry: str,
        batches: Sequence[Any],
        state: str,
        workers: int,
        fill: Callable[[Any], object] = lambda app: None,
        name: str | None = None,
        **where: Any,
    ) -> Way:
        """A running program that is fed the batches, one `many` each."""

        def start() -> Any:
            app = self.run(program(), workers, **where)
            fill(app)
            return app

        def outcome(app: Any, answers: list[Any]) -> Outcome:
            self.tiers[entry] = tiers_of(app, entry)
            given = [value for answer in answers if answer is not None for value in answer["result"].to_pylist()]
            return app.state[state].to_arrow(), given or None

        def run(app: Any) -> list[Any]:
            many = app.entries[entry].many
            return [many(batch) for batch in batches]

        return Way(name or app_name(workers), start, run, outcome, stop=lambda app: app.stop())

    def latencies(self, what: str, found: Sequence[Sequence[float]], p50: float | None, p99: float | None) -> None:
        """Figures of calls, from their seconds in each round; the targets are microseconds."""
        for percent, limit in ((50, p50), (99, p99)):
            values = [float(np.percentile(seconds, percent)) * 1e6 for seconds in found]
            self.figure(f"{what}, p{percent}", values, "us", at_most=limit)


def app_name(workers: int) -> str:
    return f"app, {workers} worker{'' if workers == 1 else 's'}"


def tiers_of(app: Any, entry: str) -> list[str]:
    """How the tasks of an entry ran."""
    explained = app.explain().to_dict()["entries"][entry]
    winding = "" if explained["straight"] else "winding, "
    return [f"{name}: {winding}{task['tier']} ({task['why']})" for name, task in explained["tasks"].items()]


# --- equal results -----------------------------------------------------------------------------------------------


def require_same(expected: Outcome | None, found: Outcome | None, who: str) -> None:
    assert expected is not None and found is not None
    one, other = in_order(expected[0]), in_order(found[0])
    if one.num_rows != other.num_rows:
        raise AssertionError(f"{who} differ: {other.num_rows} and {one.num_rows} entries of state")
    for name in one.column_names:
        if not other[name].cast(one[name].type).equals(one[name]):
            raise AssertionError(f"{who} differ in column {name!r} of their state")
    if expected[1] != found[1]:
        raise AssertionError(f"{who} differ in their answers")


def in_order(table: pa.Table) -> pa.Table:
    """Records as columns, rows by key."""
    flat = table.flatten()
    keys = [name for name in flat.column_names if name.partition(".")[0] != "value"]
    return flat.sort_by([(name, "ascending") for name in keys]).combine_chunks()


def dict_table(entries: Mapping[Any, Any]) -> pa.Table:
    """A dict as `app.state.NAME.to_arrow()` gives it."""
    return pa.table({"key": pa.array(entries.keys()), "value": pa.array(entries.values())})


# --- inputs ------------------------------------------------------------------------------------------------------


def in_batches(columns: Mapping[str, Any], size: int) -> list[pa.RecordBatch]:
    """Columns as Arrow record batches of so many rows."""
    batches: list[pa.RecordBatch] = pa.table(dict(columns)).combine_chunks().to_batches(max_chunksize=size)
    return batches


def as_lists(batches: Iterable[pa.RecordBatch]) -> list[list[list[Any]]]:
    """Batches as lists of columns: what a plain version is fed, converted outside the timing."""
    return [[column.to_pylist() for column in batch.columns] for batch in batches]


# --- calls while something else runs -----------------------------------------------------------------------------


def time_calls(call: Callable[[Any], object], arguments: Sequence[Any]) -> list[float]:
    """Seconds of each call, one after the other."""
    gc.collect()
    seconds = []
    for argument in arguments:
        start = perf_counter()
        call(argument)
        seconds.append(perf_counter() - start)
    return seconds


def time_calls_beside(
    feed: Callable[[Any], object], batches: Iterator[Any], call: Callable[[Any], object], arguments: Sequence[Any]
) -> tuple[list[float], float]:
    """Seconds of each call while another thread feeds batches, and how many batches a second it fed meanwhile."""
    stop, fed = threading.Event(), threading.Semaphore(0)
    errors: list[BaseException] = []
    count = 0

    def work() -> None:
        nonlocal count
        try:
            while not stop.is_set():
                feed(next(batches))
                count += 1
                fed.release()
        except BaseException as error:
            errors.append(error)
            fed.release()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        fed.acquire()  # the first batch is warm-up
        before, start = count, perf_counter()
        seconds = time_calls(call, arguments)
        rate = (count - before) / (perf_counter() - start)
    finally:
        stop.set()
        thread.join()
    if errors:
        raise errors[0]
    return seconds, rate


# --- other processes ---------------------------------------------------------------------------------------------


def run_script(
    name: str, *arguments: str, python: str = sys.executable, environment: Mapping[str, str] | None = None
) -> Any:
    """The JSON that a script of this folder prints when run in a process of its own."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [python, str(HERE / name), *arguments],
        env={**os.environ, "PYTHONPATH": path, **(environment or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


# --- the command line --------------------------------------------------------------------------------------------


def add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="timed rounds (default: 9)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="F", help="multiplies all sizes (default: 1)")
    tiers = ("auto", "python", "compiled")
    parser.add_argument("--tier", choices=tiers, default="compiled", help="of the apps (default: compiled)")


def main(
    measure: Callable[[Bench], None],
    about: str | None,
    add_options: Callable[[argparse.ArgumentParser], object] = lambda parser: None,
) -> None:
    """Run a benchmark and print what it found."""
    first_line = (about or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=first_line)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_common_options(parser)
    add_options(parser)
    bench = Bench(Path(sys.argv[0]).stem, parser.parse_args())
    machine = describe_machine()
    measure(bench)
    if bench.options.scale != 1:
        bench.note("not at full size: the targets are meant for --scale 1")
    found = {
        "benchmark": bench.name,
        "about": first_line,
        "rounds": len(bench.rounds),
        "scale": bench.options.scale,
        "tier": bench.options.tier,
        "sizes": bench.sizes,
        "timings": [timing.to_dict() for timing in bench.timings],
        "figures": [figure.to_dict() for figure in bench.figures],
        "tiers": bench.tiers,
        "notes": bench.notes,
        "machine": machine,
    }
    if bench.options.json:
        print(json.dumps(found))
    else:
        print_report(found, bench.timings, bench.figures)
