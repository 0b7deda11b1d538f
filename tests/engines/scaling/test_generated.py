"""Random programs that are scaled at random moments give what the class gives: on threads and on processes."""

from __future__ import annotations

from random import Random

import pytest

import anabranch as ab
from anabranch.drivers.callers import Gate
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import App
from tests.conformance.engines import nursery
from tests.conformance.sampling import runs_all
from tests.engines.test_embedded_generated import WAYS
from tests.generator.scaling import Start, check_scaled

CHUNKS, SIZE = 8, 12
FIRST = 90_000  # not those of the other engines
APART = 8_500_000
PROGRAMS, EACH = 60 if runs_all() else 6, 3  # on processes


def threads(tier: str) -> Start:
    def start(program: ab.Program, graph: ab.Graph, rng: Random) -> App:
        gate = Gate(inline_rows=rng.choice((0, 64)))
        return App(program, rng.randint(1, 3), True, rng.choice(WAYS), gate, graph, tier)

    return start


def processes(program: ab.Program, graph: ab.Graph, rng: Random) -> App:
    workers, tier = rng.randint(1, 3), "compiled" if rng.random() < 0.15 else "auto"
    return App(program, workers, True, graph=graph, tier=tier, hosts=Processes(workers, nursery()))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int) -> None:
    first = FIRST + chunk * SIZE
    assert sum(check_scaled(seed, threads("auto")) for seed in range(first, first + SIZE))


def test_random_programs_as_kernels() -> None:
    assert sum(check_scaled(seed, threads("compiled")) for seed in range(FIRST + 1000, FIRST + 1003))


@pytest.mark.parametrize("first", range(APART, APART + PROGRAMS, EACH))
def test_random_programs_on_processes(first: int) -> None:
    assert sum(check_scaled(seed, processes) for seed in range(first, first + EACH))
