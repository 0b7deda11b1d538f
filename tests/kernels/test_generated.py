"""Random programs on random inputs: emitted Python does what the class does, uncut and task by task."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.sequential import SequentialApp
from anabranch.testing.outcomes import state_contents
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Request, generate_requests
from tests.generator.plain import answer, loaded, run_plain
from tests.generator.programs import GeneratedProgram
from tests.generator.seeds import generate_seed
from tests.kernels.harness import PythonApp

CHUNKS, SIZE = 12, 25  # 300 programs


def check_program(generated: GeneratedProgram, requests: list[Request]) -> None:
    with loaded(generated.source) as program:
        graph = ab.compile(program)
        plain = run_plain(program, requests)
        for whole in (True, False):
            app = PythonApp(program(), 1, whole, graph)
            assert tuple(answers(program, app, requests)) == plain.answers
            assert {name: found[0] for name, found in parts(app).items()} == plain.states
            check_replaced(app)
        check_spread(program, graph, requests)


def check_spread(program: type[ab.Program], graph: ab.Graph, requests: list[Request]) -> None:
    """With three instances the interpreter says which instance has what."""
    interpreted = SequentialApp(program(), instances=3, graph=graph)
    expected = answers(program, interpreted, requests)
    for whole in (True, False):
        app = PythonApp(program(), 3, whole, graph)
        assert answers(program, app, requests) == expected
        assert parts(app) == parts(interpreted)
        check_replaced(app)


def answers(program: type[ab.Program], app: Any, requests: list[Request]) -> list[Any]:
    return [answer(program, app, request) for request in requests]


def parts(app: SequentialApp | PythonApp) -> dict[str, list[Any]]:
    return {name: [state_contents(p) for p in found] for name, found in sorted(app.store.parts.items())}


def check_replaced(app: PythonApp) -> None:
    """Only pieces of a loop may fail in another order than the whole."""
    fans = {app.graph.task(f.source).entry for f in app.graph.flows if f.each}
    assert set(app.replaced) <= fans


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs_by_seed(chunk: int) -> None:
    for seed in range(chunk * SIZE, (chunk + 1) * SIZE):
        generated = generate_seed(seed)
        requests = generate_requests(SeededChoices(f"inputs of {seed}"), generated)
        try:
            check_program(generated, list(requests))
        except Exception as error:
            error.add_note(f"seed {seed}: python -m tests.generator --seed {seed} --run")
            raise
