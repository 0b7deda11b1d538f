"""What the model says of 10, 100 and 1,000 workers, as figures, plots and tables. For on_paper.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness import Bench
from locations import draw
from paper_model import (
    AS_IS,
    BUCKETS,
    Costs,
    Design,
    Given,
    Work,
    best,
    coordinator,
    epoch,
    first,
    most_linked,
    move,
    recovery,
    share,
)
from plot import Point
from programs import Sums
from report import shown

import anabranch as ab
from anabranch.drivers.durable.copying import FLAT_SLICE
from anabranch.drivers.placing import next_routing
from anabranch.runtime.routing import spread_evenly

SIZES = (10, 100, 1000)
XS = (1, 3, 10, 30, 100, 300, 1000)
ENTRY = 16  # bytes of a key and its value
ROWS_PLOT, CALL_PLOT, TERMS_PLOT = "on_paper_rows.svg", "on_paper_call.svg", "on_paper_terms.svg"
Points = Sequence[tuple[int, float]]
Checks = Mapping[str, tuple[float, float]]

DESIGNS = {
    "as it is": AS_IS,
    "end marks are counted": Design(counted=True),
    "and ride on the rows": Design(counted=True, one_message=True),
    "and go by a tree": Design(counted=True, one_message=True, tree=True),
    "the coordinator has relays": Design(counted=True, one_message=True, tree=True, relays=True),
    "only workers that have rows take part": Design(counted=True, one_message=True, tree=True, involved=True),
}


@dataclass(frozen=True, slots=True)
class Fleet:
    """What was measured at the coordinator, by number of workers."""

    machine: Points
    spent: Points
    walls: Points
    starts: Points
    sizes: tuple[int, ...]


def works_of(rows: int) -> dict[str, Work]:
    return {
        "one stage, from the app": Work(rows),
        "one stage, staged": Work(rows, staged=True),
        "two stages, from the app": Work(rows, stages=2),
        "two stages, staged": Work(rows, stages=2, staged=True),
        "two stages, Python": Work(rows, stages=2, staged=True, python=True),
    }


CALLS = {
    "one stage": Work(1, python=True),
    "two stages": Work(1, stages=2, python=True),
    "winding": Work(1, python=True, collected=True),
}


def given_lines(given: Given, rows: int) -> list[str]:
    return [
        f"Assumed: {given.network * 8 / 1e9:g} Gbit/s in and out of each worker and of the coordinator, "
        f"{given.hop * 1e6:g} us a message for the network, one core and one disk a worker as fast as here, "
        f"{given.files:,} open files a process, {given.state / 1e9:g} GB of keys and values and {given.log / 1e9:g} GB "
        f"of log a worker, batches of {rows:,} rows whose keys are random, each of which changes an entry.",
        "",
    ]


def extrapolate(
    bench: Bench, costs: Costs, given: Given, rows: int, fleet: Fleet, checks: Checks
) -> dict[str, list[str]]:
    works = works_of(rows)
    for name, work in {**works, **{f"a call, {name}": work for name, work in CALLS.items()}}.items():
        for n in SIZES:
            spent = epoch(costs, given, n, work).seconds
            bench.figure(f"model, {name}, {n:,} workers", [1e3 * spent], "ms an epoch")
    plot(bench, costs, given, works)
    return {
        "checks": list(check_lines(costs, fleet, checks)),
        "batches": list(batch_lines(costs, given, works)),
        "calls": list(call_lines(costs, given)),
        "breaks": list(break_lines(costs, given, works)),
        "lifts": list(lift_lines(costs, given, rows)),
        "events": list(event_lines(costs, given)),
    }


def plot(bench: Bench, costs: Costs, given: Given, works: Mapping[str, Work]) -> None:
    def line(work: Work, rate: bool) -> list[Point]:
        found = [(n, epoch(costs, given, n, work).seconds) for n in XS]
        return [Point(n, *[work.rows / s if rate else 1e3 * s] * 3) for n, s in found]

    draw(
        bench,
        ROWS_PLOT,
        "Rows a second, on paper",
        "workers",
        "rows a second",
        {k: line(w, True) for k, w in works.items()},
    )
    calls = {name: line(work, False) for name, work in CALLS.items()}
    draw(bench, CALL_PLOT, "One call, on paper", "workers", "milliseconds", calls)
    terms: dict[str, list[Point]] = {}
    for n in XS:
        for name, spent in epoch(costs, given, n, works["two stages, staged"]).terms.items():
            if spent:
                terms.setdefault(name, []).append(Point(n, *[1e3 * spent] * 3))
    title = "An epoch of two stages, staged: its terms on paper"
    draw(bench, TERMS_PLOT, title, "workers", "milliseconds", terms)


def check_lines(costs: Costs, fleet: Fleet, checks: Checks) -> Iterator[str]:
    yield from ("", "| 2 processes here | measured (ms) | model (ms) |", "|---|---:|---:|")
    for what, (measured, said) in checks.items():
        yield f"| {what} | {shown(1e3 * measured)} | {shown(1e3 * said)} |"
    heads = " | ".join(f"{n:,}" for n in fleet.sizes)
    yield from ("", f"| coordinator, an epoch of one row, workers | {heads} |", "|---|" + "---:|" * len(fleet.sizes))
    for what, points, times in (
        ("its machine alone (ms)", fleet.machine, 1e3),
        ("its process, processor time (ms)", fleet.spent, 1e3),
        ("its process, model (ms)", [(n, coordinator(costs, n)) for n in fleet.sizes], 1e3),
        ("from first to last answer (ms)", fleet.walls, 1e3),
        ("a start: all are there, until all have settled (s)", fleet.starts, 1.0),
    ):
        yield f"| {what} | " + " | ".join(shown(times * y) for _, y in points) + " |"
    yield ""


def batch_lines(costs: Costs, given: Given, works: Mapping[str, Work]) -> Iterator[str]:
    for picture in (ROWS_PLOT, TERMS_PLOT):
        yield from ("", f"![{picture.removesuffix('.svg').replace('_', ' ')}]({picture})")
    yield from ("", "| a batch | workers | million rows/s | of n times one worker | an epoch (ms) | largest term |")
    yield "|---|---:|---:|---:|---:|---|"
    for name, work in works.items():
        alone = epoch(costs, given, 1, work).seconds
        for n in (1, *SIZES):
            found = epoch(costs, given, n, work)
            part = f"{found.largest}, {found.terms[found.largest] / found.seconds:.0%}"
            rate, gain = work.rows / found.seconds / 1e6, alone / found.seconds / n
            yield f"| {name} | {n:,} | {shown(rate)} | {shown(gain)} | {shown(1e3 * found.seconds)} | {part} |"
    names = list(epoch(costs, given, 10, Work(2, stages=2)).terms)
    yield from ("", f"| terms (ms) | workers | {' | '.join(names)} |", "|---|---:|" + "---:|" * len(names))
    for name in ("two stages, from the app", "two stages, staged"):
        for n in SIZES:
            terms = epoch(costs, given, n, works[name]).terms
            yield f"| {name} | {n:,} | " + " | ".join(shown(1e3 * terms[term]) for term in names) + " |"
    yield ""


def call_lines(costs: Costs, given: Given) -> Iterator[str]:
    yield from ("", f"![on paper call]({CALL_PLOT})", "")
    heads = " | ".join(f"{n:,} workers (ms) | largest term" for n in SIZES)
    yield from (f"| one call, alone | {heads} |", "|---|" + "---:|---|" * len(SIZES))
    for name, work in CALLS.items():
        found = [epoch(costs, given, n, work) for n in SIZES]
        cells = " | ".join(f"{shown(1e3 * e.seconds)} | {e.largest}" for e in found)
        yield f"| {name}, logged | {cells} |"
        found = [epoch(costs, given, n, replace(work, logged=False)) for n in SIZES]
        cells = " | ".join(f"{shown(1e3 * e.seconds)} | {e.largest}" for e in found)
        yield f"| {name}, not logged | {cells} |"
    yield ""


def break_lines(costs: Costs, given: Given, works: Mapping[str, Work]) -> Iterator[str]:
    yield ""
    heads = "fastest with | half is coordination from | a worker adds less than half of itself from"
    yield from (f"| | {heads} |", "|---|---:|---:|---:|")
    for name, work in {
        **works,
        **{f"a call, {name}, not logged": replace(w, logged=False) for name, w in CALLS.items()},
    }.items():
        alone = epoch(costs, given, 1, work).seconds

        def half(n: int, work: Work = work) -> bool:
            return epoch(costs, given, n, work).coordination > 0.5

        def poor(n: int, work: Work = work, alone: float = alone) -> bool:
            return alone / epoch(costs, given, n, work).seconds < 0.5 * n

        low = "" if work.rows == 1 else workers(first(BUCKETS, poor))
        yield f"| {name} | {best(costs, given, work):,} | {workers(first(BUCKETS, half))} | {low} |"
    linked, files = most_linked(costs, given), costs.link_files
    yield from (
        "",
        "| hard limits | 10 workers | 100 workers | 1,000 workers | reached at |",
        "|---|---:|---:|---:|---:|",
    )
    per = {
        "open files of a worker for its links": (files, f"{linked:,} workers ({given.files:,} files)"),
        "threads of a worker for its links": (costs.link_threads, ""),
        "memory of a worker for its links (MB)": (costs.link_memory / 1e6, ""),
    }
    for name, (each, reached) in per.items():
        yield f"| {name} | " + " | ".join(shown(each * (n - 1)) for n in SIZES) + f" | {reached} |"
    worst = " | ".join(f"{n * share(n):.2f}" for n in SIZES)
    yield from (
        f"| buckets of the busiest worker, of an even share | {worst} | {BUCKETS:,} workers (one bucket each) |",
        "",
    )


def workers(found: int | None) -> str:
    return f"never up to {BUCKETS:,}" if found is None else f"{found:,} worker{'s' * (found > 1)}"


def lift_lines(costs: Costs, given: Given, rows: int) -> Iterator[str]:
    batch, call = Work(rows, stages=2, staged=True), replace(CALLS["two stages"], logged=False)
    heads = " | ".join(f"{what}, {n:,} workers (ms)" for what in ("batch", "call") for n in (100, 1000))
    yield from ("", f"| two stages | {heads} |", "|---|" + "---:|" * 4)
    for name, design in DESIGNS.items():
        cells = [
            shown(1e3 * epoch(costs, given, n, work, design).seconds) for work in (batch, call) for n in (100, 1000)
        ]
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""


def event_lines(costs: Costs, given: Given) -> Iterator[str]:
    lost = {n: recovery(costs, given, n) for n in SIZES}
    yield from (
        "",
        "| seconds until a lost worker's keys answer | 10 workers | 100 workers | 1,000 workers |",
        "|---|---:|---:|---:|",
    )
    for term in next(iter(lost.values())):
        yield f"| {term} | " + " | ".join(shown(lost[n][term]) for n in SIZES) + " |"
    yield "| together | " + " | ".join(shown(sum(lost[n].values())) for n in SIZES) + " |"
    graph, slices = ab.compile(Sums), max(1, round(given.state / ENTRY / FLAT_SLICE))
    yield from (
        "",
        "| a move | buckets that move | start (s) | state (s) | steps (s) | together (s) |",
        "|---|---:|---:|---:|---:|---:|",
    )
    for now, then in ((10, 11), (10, 20), (100, 101), (100, 200), (500, 1000)):
        old = spread_evenly(now)
        new = next_routing(graph, old, then)
        at = [
            (old.worker_of(a), new.worker_of(b))
            for a, b in zip(old.instance_of_bucket, new.instance_of_bucket, strict=True)
        ]
        moved = [pair for pair in at if pair[0] != pair[1]]
        each = BUCKETS / now
        sent = max(sum(source == w for source, _ in moved) for w in range(now)) / each
        taken = max(sum(target == w for _, target in moved) for w in range(then)) / each
        terms = move(costs, given, max(sent, taken), slices, then)
        cells = " | ".join(shown(value) for value in (*terms.values(), sum(terms.values())))
        yield f"| {now:,} -> {then:,} workers | {len(moved)} of {BUCKETS:,} | {cells} |"
    yield ""
