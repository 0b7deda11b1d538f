"""What one seed means: a program, the requests of some clients, a number of workers, and what goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import anabranch as ab
from anabranch.lang.binding import Refused, bind_call
from anabranch.lang.keys import BUCKETS
from anabranch.lang.spec import EntrySpec, describe
from anabranch.runtime.backlog import Limits
from anabranch.runtime.plan import make_plan, readers
from anabranch.runtime.routing import Routing
from anabranch.runtime.worker import Pace
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Batch, Call, generate_requests
from tests.generator.limits import SECONDS, at_most
from tests.generator.plain import arguments as call_arguments
from tests.generator.plain import loaded, rows
from tests.generator.seeds import generate_seed
from tests.programs.load import good, load, program_of
from tests.simulation.values import arguments

GROUPING = {"heavy_hitters", "logistic"}  # their answers depend on how work is spread over instances
MOST_ROWS, MOST_REQUESTS = 12, 28
Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Faults:
    """How likely each mishap is at a step, and how many there are in all."""

    drop: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0
    crash: float = 0.0
    stall: float = 0.0
    abort: float = 0.0
    withdraw: float = 0.0
    shuffle: float = 0.0
    budget: int = 0


@dataclass(frozen=True)
class Case:
    name: str
    program: type[ab.Program]
    graph: ab.Graph
    grouping: bool  # do answers depend on the number of instances?
    clients: tuple[tuple[tuple[str, Rows], ...], ...]
    routing: Routing
    limits: Limits
    faults: Faults
    pace: Pace
    rng: Random = field(repr=False)
    apart: bool = False  # has each worker an address space to itself?


@contextmanager
def make_case(seed: int, apart: bool | None = None) -> Iterator[Case]:
    """Every second seed has an address space for each worker, unless `apart` says otherwise."""
    rng = Random(seed)
    apart = seed % 2 == 1 if apart is None else apart
    if rng.random() < 0.6:
        path = rng.choice(travelling() if rng.random() < 0.7 else good())
        program, graph = _corpus(path)
        yield _case(rng, path.stem, program, graph, path.stem in GROUPING, _random_requests(rng, program), apart)
        return
    number = rng.randrange(1_000_000)
    generated = generate_seed(number)
    with loaded(generated.source) as program, at_most(SECONDS, f"seed {seed}"):
        # A story has so many steps: not for a thousand rows again and again.
        requests = [
            (r.entry, _bound(program, r)[:MOST_ROWS])
            for r in generate_requests(SeededChoices(f"inputs of {number}"), generated, 24)[:MOST_REQUESTS]
        ]
        grouping = "grouping-sensitive" in generated.features
        yield _case(rng, f"generated {number}", program, ab.compile(program), grouping, requests, apart)


@cache
def travelling() -> list[Path]:
    """Programs with straight entries whose rows travel: these have the most that can go wrong."""
    found = []
    for path in good():
        _, graph = _corpus(path)
        plans = [make_plan(graph, [e.name]) for e in graph.entries]
        if any(plan is not None and plan.stages > 1 for plan in plans):
            found.append(path)
    return found


@cache
def _corpus(path: Path) -> tuple[type[ab.Program], ab.Graph]:
    program = program_of(load(path))
    return program, ab.compile(program)


def _case(
    rng: Random,
    name: str,
    program: type[ab.Program],
    graph: ab.Graph,
    grouping: bool,
    requests: list[tuple[str, Rows]],
    apart: bool,
) -> Case:
    clients: list[list[tuple[str, Rows]]] = [[] for _ in range(rng.randint(1, 6))]
    for request in requests:
        rng.choice(clients).append(request)
    if apart:
        clients += _who_only_read(rng, graph, requests)
    return Case(
        name,
        program,
        graph,
        grouping,
        tuple(map(tuple, clients)),
        _routing(rng),
        _limits(rng),
        _faults(rng),
        _pace(rng),
        rng,
        apart,
    )


def _who_only_read(rng: Random, graph: ab.Graph, requests: list[tuple[str, Rows]]) -> list[list[tuple[str, Rows]]]:
    """One or two clients that ask again what others ask: nothing they do has to wait for a worker that is lost."""
    only_read = readers(graph)
    reads = [(entry, rows[:2]) for entry, rows in requests if entry in only_read]
    return [rng.choices(reads, k=rng.randint(1, 12)) for _ in range(rng.choice((0, 1, 2)))] if reads else []


def _routing(rng: Random) -> Routing:
    """One to four workers, each with one to three instances, and buckets anyhow."""
    workers = rng.choice((1, 2, 2, 3, 3, 4))
    hosts = list(range(workers))
    hosts += [rng.randrange(workers) for _ in range(rng.choice((0, 0, 1, 3)))]
    rng.shuffle(hosts)
    return Routing(tuple(rng.randrange(len(hosts)) for _ in range(BUCKETS)), tuple(hosts))


def _limits(rng: Random) -> Limits:
    return Limits(fused_rows=rng.choice((-1, -1, -1, 0, 1, 64)), epoch_rows=rng.choice((3, 20, 1000)))


def _pace(rng: Random) -> Pace:
    return rng.choice((Pace(), Pace(1, 1), Pace(2, 3)))


def _faults(rng: Random) -> Faults:
    """Calm, a bit of everything, or a storm of two or three kinds."""
    most = {"drop": 0.03, "repeat": 0.1, "delay": 0.1, "crash": 0.03, "stall": 0.05, "abort": 0.04, "withdraw": 0.04}
    kind = rng.random()
    if kind < 0.15:
        return Faults()
    if kind < 0.6:
        some = {name: rng.choice((0.0, rate / 4, rate)) for name, rate in most.items()}
        return Faults(**some, shuffle=rng.choice((0.0, 0.1, 0.3)), budget=rng.randint(1, 40))
    storm = {name: 3 * most[name] for name in rng.sample(sorted(most), rng.randint(2, 4))}
    return Faults(**storm, shuffle=rng.choice((0.0, 0.5)), budget=rng.randint(20, 120))


def _random_requests(rng: Random, program: type[ab.Program]) -> list[tuple[str, Rows]]:
    entries = list(describe(program).entries.values())
    liked = rng.sample(entries, rng.randint(1, len(entries)))
    return [_random_request(rng, rng.choice(liked)) for _ in range(rng.randint(1, 40))]


def _random_request(rng: Random, spec: EntrySpec) -> tuple[str, Rows]:
    found: list[tuple[Any, ...]] = []
    for _ in range(rng.choice((1, 1, 2, 5, 12))):
        try:
            found.append(bind_call(spec, arguments(rng, spec), {}))
        except Refused:
            continue
    return spec.name, tuple(found)


def _bound(program: type[ab.Program], request: Call | Batch) -> Rows:
    spec = describe(program).entries[request.entry]
    given = [call_arguments(program, request)] if isinstance(request, Call) else rows(program, request)
    found: list[tuple[Any, ...]] = []
    for row in given:
        try:
            found.append(bind_call(spec, row if type(row) is tuple else (row,), {}))
        except Refused:  # bad input never gets as far as the machines
            continue
    return tuple(found)
