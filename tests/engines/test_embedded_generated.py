"""Random programs on worker threads: any number of workers, in stages or fused, gives what the class gives."""

from __future__ import annotations

from random import Random

import pytest

import anabranch as ab
from anabranch.drivers.callers import Gate
from anabranch.engines.embedded import App
from anabranch.graph.nodes import State
from anabranch.lang.distribution import Distribution
from anabranch.lang.marks import same_state
from anabranch.runtime.backlog import Limits
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Request, generate_requests
from tests.generator.plain import Outcome, answer, loaded, run_plain, state_contents
from tests.generator.programs import GeneratedProgram, generate_seed

CHUNKS, SIZE = 24, 15  # 360 programs
FIRST = 50_000  # not those of the other engines
WAYS = (Limits(), Limits(fused_rows=-1), Limits(fused_rows=1))


def run_app(program: type[ab.Program], graph: ab.Graph, requests: list[Request], workers: int, rng: Random) -> Outcome:
    gate = Gate(inline_rows=rng.choice((0, 64)))
    with App(program(), workers, history=True, limits=rng.choice(WAYS), gate=gate, graph=graph) as app:
        answers = tuple(answer(program, app, request) for request in requests)
        history = app.history()
        parts = {name: app.state[name].instances() for name in app.state}
        merges = program().__anabranch_merges__
        merged = {
            s.name: _contents(app, s.name, workers > 1 and _is_partial(s) and merges[s.name] is None)
            for s in sorted(graph.states, key=lambda s: s.name)
        }
    oracle, _ = history.replay(program())
    for name, instances in parts.items():
        for i, part in enumerate(instances):
            assert same_state(part, oracle.instances(name)[i]), (name, i)
    return Outcome(answers, merged)


def _contents(app: App, name: str, unmerged: bool) -> object:
    if unmerged:
        with pytest.raises(TypeError, match="names no merge"):
            app.state[name].copy()
        return None  # there is no one value to compare
    return state_contents(app.state[name].copy())


def _is_partial(state: State) -> bool:
    return state.distribution is Distribution.PARTIAL


def check_program(generated: GeneratedProgram, requests: list[Request], rng: Random) -> None:
    with loaded(generated.source) as program:
        graph = ab.compile(program)
        plain = run_plain(program, requests)
        for workers in (1, 2, 3):
            found = run_app(program, graph, requests, workers, rng)
            if workers == 1 or "grouping-sensitive" not in generated.features:
                assert found.answers == plain.answers
                for name, contents in found.states.items():
                    assert contents is None or contents == plain.states[name], name


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
