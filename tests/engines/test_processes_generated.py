"""Random programs on worker processes: what crosses address spaces, and what is collected, changes nothing."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import App
from tests.conformance.engines import nursery
from tests.generator.apps import run_app
from tests.generator.choices import SeededChoices
from tests.generator.inputs import generate_requests
from tests.generator.plain import loaded, run_plain
from tests.generator.programs import generate_seed

CHUNKS, SIZE = 8, 5  # 40 programs
FIRST = 8_000_000  # not those of the other engines


def check_seed(seed: int, workers: int) -> None:
    generated = generate_seed(seed)
    requests = list(generate_requests(SeededChoices(f"inputs of {seed}"), generated))
    with loaded(generated.source) as program:
        graph = ab.compile(program)
        plain = run_plain(program, requests)
        with App(program(), workers, True, graph=graph, hosts=Processes(workers, nursery())) as app:
            found = run_app(app, program, graph, requests, workers)
        if "grouping-sensitive" not in generated.features:
            assert found.answers == plain.answers
            for name, contents in found.states.items():
                assert contents is None or contents == plain.states[name], name


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int) -> None:
    for seed in range(FIRST + chunk * SIZE, FIRST + (chunk + 1) * SIZE):
        try:
            check_seed(seed, 2 + seed % 2)
        except Exception as error:
            error.add_note(f"seed {seed}: python -m tests.generator --seed {seed} --run")
            raise
