"""Scaling on paper: from costs that are measured here, and messages that are counted, to 10, 100 and 1,000 workers.

    python benchmarks/on_paper.py [PART ...] [--json] [--rounds N] [--scale F] [--disk FOLDER] [--plots FOLDER]
                                  [--report FILE] [--network GBIT] [--hop US] [--files N] [--state GB] [--log GB]
                                  [--rows N]

Parts (default: both): `counts` lets the machines of a coordinator and of 2 to 1,000 workers run without hosts, and
counts what they send (3 minutes); `costs` measures what a row, a message, a worker and a byte cost on this machine
(3 minutes), and then extrapolates. The model is `benchmarks/paper_model.py`; the counts must be what it says, or this
ends with an error. The options after `--report` are what is assumed. With `--report docs/benchmarks/on-paper.md` what
was found is written into that document, between its marks.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filling import lines_of, put_in
from harness import Bench, main
from locations import add_disk_options, add_parts, draw
from machines import Machines, Traffic
from paper_apps import measure_calls, measure_crossing, measure_log, measure_move, measure_restore, measure_rows
from paper_model import Costs, Given, Work, epoch, messages, start_messages
from paper_parts import (
    fit,
    measure_disk,
    measure_feed,
    measure_fleet,
    measure_hop,
    measure_links,
    measure_looks,
    measure_machine,
    measure_message,
    sizes_of,
)
from paper_tables import CALL_PLOT, ROWS_PLOT, TERMS_PLOT, Fleet, extrapolate, given_lines
from plot import Point
from programs import Ways

COUNTED = (2, 10, 100, 1000)
FEW = (2, 10, 30)
COUNTS_PLOT = "on_paper_messages.svg"


# -- counts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A request, with what the model says of its messages; none where there is another rule."""

    name: str
    entry: str
    work: Work


def cases_of(rows: int) -> tuple[Case, ...]:
    return (
        Case("a call, one stage", "add", Work(1)),
        Case(f"{rows:,} rows, one stage", "add", Work(rows)),
        Case(f"{rows:,} rows, two stages", "pass_on", Work(rows, stages=2)),
        Case("a call, everywhere", "times_seen", Work(1, stages=2, gathered=True)),
        Case("a call, winding", "transfer", Work(1, collected=True)),
    )


def measure_counts(bench: Bench) -> None:
    rows = bench.size("rows of counted requests", 10_000, least=100)
    cases = cases_of(rows)
    found: dict[str, dict[int, Traffic]] = {case.name: {} for case in cases}
    found |= {"a start": {}, "a lost worker": {}}
    for workers in COUNTED if bench.options.scale >= 1 else FEW:
        machines = Machines(Ways(), workers)
        with machines.counted() as found["a start"][workers]:
            machines.join()
        require(found["a start"][workers].messages.total(), start_messages(workers), "a start", workers, 0)
        machines.run("link", [(key, key * 7919 + 1) for key in range(rows)])
        for case in cases:
            with machines.counted() as traffic:
                machines.run(case.entry, rows_of(case, rows))
            found[case.name][workers] = traffic
            check(case, workers, traffic)
        with machines.counted() as found["a lost worker"][workers]:
            machines.run_with_loss("add", [(1, 1.0)], workers - 1)
    for name, by_workers in found.items():
        for workers, traffic in by_workers.items():
            bench.figure(f"counts, {name}, {workers:,} workers, messages", [float(traffic.messages.total())])
            bench.figure(f"counts, {name}, {workers:,} workers, bytes", [float(traffic.bytes.total())])
    lines = {
        name: [Point(w, t.messages.total(), t.messages.total(), t.messages.total()) for w, t in by_workers.items()]
        for name, by_workers in found.items()
        if name != cases[1].name  # as many as a call
    }
    draw(bench, COUNTS_PLOT, "What machines tell each other", "workers", "messages", lines)
    if bench.options.report is not None:
        put_in(bench.options.report, "counts", count_lines(found))


def rows_of(case: Case, rows: int) -> list[tuple[float, ...]]:
    rng = np.random.default_rng(11)
    keys = rng.integers(0, rows, case.work.rows).tolist()
    if case.entry == "times_seen":
        return [(key,) for key in keys]
    if case.entry == "transfer":
        return [(key, key + 1, 1.0) for key in keys]
    if case.entry == "pass_on":
        return [(key, 1.0) for key in range(rows)]  # each key leads somewhere else
    return [(key, 1.0) for key in keys]


def check(case: Case, workers: int, traffic: Traffic) -> None:
    """The model says what was counted: exactly, but for what depends on where keys are."""
    for kind, said in messages(workers, case.work).items():
        by_chance = kind in ("Rows", "Fetch", "Entries") and not case.work.gathered
        require(traffic.messages[kind], said, f"{case.name}: {kind}", workers, 0.1 * said + 2 if by_chance else 0)
    if unknown := set(traffic.messages) - set(messages(workers, case.work)):
        raise AssertionError(f"{case.name}: the model knows nothing of {unknown}")


def require(counted: int, said: float, what: str, workers: int, tolerance: float) -> None:
    if abs(counted - said) > tolerance:
        raise AssertionError(f"{what}, {workers} workers: {counted} messages, and the model says {said:.1f}")


def count_lines(found: dict[str, dict[int, Traffic]]) -> list[str]:
    sizes = list(next(iter(found.values())))
    heads = " | ".join(f"{n:,} workers" for n in sizes)
    lines = ["", f"![messages]({COUNTS_PLOT})", "", f"| messages of one epoch | {heads} | bytes a message |"]
    lines.append("|---|" + "---:|" * (len(sizes) + 1))
    for name, by_workers in found.items():
        cells = " | ".join(f"{by_workers[n].messages.total():,}" for n in sizes)
        last = by_workers[sizes[-1]]
        lines.append(f"| {name} | {cells} | {last.bytes.total() / last.messages.total():.0f} |")
    lines += ["", f"| of {sizes[-1]:,} workers, by kind | messages | at the busiest worker | at the coordinator |"]
    lines.append("|---|---|---:|---:|")
    for name, by_workers in found.items():
        last = by_workers[sizes[-1]]
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in Counter(last.messages).most_common())
        lines.append(f"| {name} | {kinds} | {last.busiest:,} | {last.at_coordinator:,} |")
    return [*lines, ""]


# -- costs and what follows from them ---------------------------------------------------------------------------------


def measure_costs(bench: Bench) -> None:
    before = len(bench.figures)
    machine = measure_machine(bench)
    spent, walls, starts = measure_fleet(bench)
    once, worker, pair = fit(spent)
    _, route_worker, row_bytes = measure_feed(bench)
    message, hop, look = measure_message(bench), measure_hop(bench), measure_looks(bench)
    files, threads, memory = measure_links(bench)
    disk, sync = measure_disk(bench)
    _, python_row = measure_rows(bench)
    crossing = measure_crossing(bench)
    stage, calls = measure_calls(bench)
    effect_bytes, skim = measure_log(bench)
    restore = measure_restore(bench)
    worker_start, move = measure_move(bench)
    costs = Costs(
        stage=stage,
        kernel_row=crossing.stage,
        python_row=python_row,
        crossing_row=crossing.crossing,
        crossing_bytes=crossing.crossing_bytes,
        message=message,
        look=look,
        epoch=once,
        epoch_worker=worker,
        epoch_pair=pair,
        route_row=crossing.fed,
        route_worker=route_worker,
        row_bytes=row_bytes,
        effect_bytes=effect_bytes,
        disk=disk,
        sync=sync,
        hop=hop,
        worker_start=worker_start,
        restore=restore,
        skim=skim,
        move=move,
        link_files=files,
        link_threads=threads,
        link_memory=memory,
    )
    figures = bench.figures[before:]
    here = Given(hop=0.0, network=float("inf"))  # two processes of one machine
    checks = {
        f"an epoch of {crossing.rows:,} rows that cross": (
            crossing.epoch,
            epoch(costs, here, 2, Work(crossing.rows, stages=2, logged=False, crossing=1.0)).seconds,
        ),
        "a call, one stage": (
            calls["one stage"],
            epoch(costs, here, 2, Work(1, python=True, logged=False)).seconds,
        ),
        "a call, two stages": (
            calls["two stages"],
            epoch(costs, here, 2, Work(1, stages=2, python=True, logged=False)).seconds,
        ),
    }
    for what, (measured, said) in checks.items():
        bench.figure(f"model / measured, 2 processes, {what}", [said / measured])
    options = bench.options
    given = Given(
        network=options.network * 1e9 / 8,
        hop=options.hop * 1e-6,
        files=options.files,
        state=options.state * 1e9,
        log=options.log * 1e9,
    )
    tables = extrapolate(
        bench, costs, given, options.rows, Fleet(machine, spent, walls, starts, sizes_of(bench)), checks
    )
    if options.report is not None:
        pictures = lines_of(options.report, "costs", bench, figures, ())
        put_in(options.report, "costs", [*pictures, *given_lines(given, options.rows)])
        for part, lines in tables.items():
            put_in(options.report, part, lines)


PARTS: dict[str, Callable[[Bench], None]] = {"counts": measure_counts, "costs": measure_costs}
PICTURES = (COUNTS_PLOT, ROWS_PLOT, CALL_PLOT, TERMS_PLOT)


def measure(bench: Bench) -> None:
    for part in bench.options.parts or PARTS:
        PARTS[part](bench)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_parts(parser, PARTS)
    add_disk_options(parser)
    parser.add_argument("--report", type=Path, metavar="FILE", help="a document that the figures are written into")
    for name, default, what in (
        ("network", 10.0, "Gbit/s that a worker sends, and receives"),
        ("hop", 50.0, "microseconds that the network adds to a message"),
        ("state", 1.0, "GB of keys and values a worker"),
        ("log", 0.1, "GB of log a worker since the last snapshot"),
    ):
        parser.add_argument(f"--{name}", type=float, default=default, help=f"{what} (default: {default:g})")
    parser.add_argument("--files", type=int, default=1024, help="that a process may have open (default: 1024)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of a batch (default: 1,000,000)")


if __name__ == "__main__":
    main(measure, __doc__, add_options)
