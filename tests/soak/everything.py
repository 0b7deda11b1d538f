"""Random programs on threads, as Python and as kernels, and on worker processes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import anabranch as ab
from anabranch.drivers.fleet import Launcher
from anabranch.drivers.nursery import Nursery
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import App
from anabranch.testing.outcomes import Outcome, difference
from tests.generator.apps import run_app
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Request, generate_requests
from tests.generator.limits import SECONDS, TooLong, at_most, end_workers
from tests.generator.plain import loaded, run_plain
from tests.generator.seeds import generate_seed
from tests.soak.part import Notes, Part, in_chunks

WHAT = """Each random program runs on random requests as a plain class; on one and two worker threads, as Python and
as kernels; and the same on two worker processes. What differs is a failure, and so is what takes longer than its
limit of time."""
CHUNK = 10


@dataclass(frozen=True)
class Way:
    name: str
    workers: int
    tier: str
    apart: bool = False


WAYS = (
    Way("Python, 1 thread", 1, "python"),
    Way("Python, 2 threads", 2, "python"),
    Way("kernels, 1 thread", 1, "compiled"),
    Way("kernels, 2 threads", 2, "compiled"),
    Way("Python, 2 processes", 2, "python", apart=True),
    Way("kernels, 2 processes", 2, "compiled", apart=True),
)


def soak_everything(first: int, programs: int, jobs: int, notes: Notes) -> Part:
    part = in_chunks(Part("Programs of everything", WHAT), run_chunk, first, programs, jobs, notes, CHUNK)
    runs = part.counts["programs"]
    part.counts["seconds per program"] = round(part.counts["milliseconds"] / 1000 / runs, 1) if runs else 0.0
    return part


def run_chunk(first: int) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    failures: list[str] = []
    nursery = Nursery()
    try:
        for seed in range(first, first + CHUNK):
            start = time.monotonic()
            found = [f"seed {seed}, {told}" for told in differences(seed, nursery)]
            counts["programs"] += 1
            counts["programs that differ"] += bool(found)
            counts["milliseconds"] += round(1000 * (time.monotonic() - start))
            failures += found
    finally:
        nursery.close()
    return counts, failures


def differences(seed: int, nursery: Nursery) -> Iterator[str]:
    """The ways in which the program of a seed is not as its plain run, each with the first difference."""
    generated = generate_seed(seed)
    requests = generate_requests(SeededChoices(f"inputs of {seed}"), generated)
    with loaded(generated.source) as program:
        graph = ab.compile(program)
        try:
            with at_most(SECONDS, "the plain run"):
                plain = run_plain(program, requests)
        except (Exception, TooLong) as error:
            yield f"plain: {shown(error)}"
            return
        for way in WAYS:
            if way.workers > 1 and "grouping-sensitive" in generated.features:
                continue
            launcher = Processes(way.workers, nursery) if way.apart else None
            told = compared(program, graph, requests, plain, way, launcher)
            if told is not None:
                yield f"{way.name}: {told}"


def compared(
    program: type[ab.Program],
    graph: ab.Graph,
    requests: list[Request],
    plain: Outcome,
    way: Way,
    launcher: Launcher | None,
) -> str | None:
    end = (lambda: None) if launcher is None else (lambda: end_workers(launcher))
    try:
        with (
            at_most(SECONDS, way.name, end),
            App(program(), way.workers, True, graph=graph, tier=way.tier, hosts=launcher) as app,
        ):
            found = run_app(app, program, requests)
    except (Exception, TooLong) as error:
        return shown(error)
    told = difference(plain, found, requests)
    return None if told is None else " ".join(told.split())[:400]


def shown(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
