"""Random programs on worker threads: any number of workers, in stages or fused, gives what the class gives."""

from __future__ import annotations

from random import Random

import pytest

import anabranch as ab
from anabranch.drivers.callers import Gate
from anabranch.engines.embedded import App
from anabranch.runtime.backlog import Limits
from anabranch.testing.outcomes import Outcome, assert_same
from tests.generator.apps import run_app
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Request, generate_requests
from tests.generator.plain import loaded, run_plain
from tests.generator.programs import GeneratedProgram
from tests.generator.seeds import generate_seed

CHUNKS, SIZE = 24, 15  # 360 programs
FIRST = 50_000  # not those of the other engines
WAYS = (Limits(), Limits(fused_rows=-1), Limits(fused_rows=1))


def run_embedded(
    program: type[ab.Program], graph: ab.Graph, requests: list[Request], workers: int, rng: Random
) -> Outcome:
    gate = Gate(inline_rows=rng.choice((0, 64)))
    with App(program(), workers, history=True, limits=rng.choice(WAYS), gate=gate, graph=graph) as app:
        return run_app(app, program, requests)


def check_program(generated: GeneratedProgram, requests: list[Request], rng: Random) -> None:
    with loaded(generated.source) as program:
        graph = ab.compile(program)
        plain = run_plain(program, requests)
        for workers in (1, 2, 3):
            found = run_embedded(program, graph, requests, workers, rng)
            if workers == 1 or "grouping-sensitive" not in generated.features:
                assert_same(plain, found, requests)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int) -> None:
    for seed in range(FIRST + chunk * SIZE, FIRST + (chunk + 1) * SIZE):
        generated = generate_seed(seed)
        requests = generate_requests(SeededChoices(f"inputs of {seed}"), generated)
        try:
            check_program(generated, list(requests), Random(seed))
        except Exception as error:
            error.add_note(f"seed {seed}: python -m tests.generator --seed {seed} --run")
            raise
