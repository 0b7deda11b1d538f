"""Random programs on random inputs: the graph does what the class does. This is the proof every engine repeats."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import anabranch as ab
from anabranch.engines.sequential import SequentialApp
from anabranch.graph.verify import verify
from anabranch.lang.marks import is_builtin
from anabranch.testing.outcomes import Outcome, assert_same, state_contents
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Request, generate_requests
from tests.generator.plain import answer, loaded, run_plain
from tests.generator.programs import GeneratedProgram, programs
from tests.generator.seeds import generate_seed

CHUNKS, SIZE = 24, 25  # 600 programs


def run_graph(
    program: type[ab.Program], graph: ab.Graph, requests: list[Request], instances: int, whole: bool
) -> Outcome:
    app = SequentialApp(program(), instances=instances, whole=whole, graph=graph)
    answers = tuple(answer(program, app, request) for request in requests)
    # The whole run that replaces a failure must not hide a wrong one: only pieces of a loop may fail in another order.
    fans = {graph.task(f.source).entry for f in graph.flows if f.each}
    assert set(app.replaced) <= fans
    return Outcome(answers, {s.name: _contents(app, s.name) for s in sorted(graph.states, key=lambda s: s.name)})


def _contents(app: SequentialApp, name: str) -> object:
    unmerged = app.store.instances > 1 and app.store.merges.get(name) is None
    state = app.graph.state(name)
    if unmerged and (state.distribution.value == "Partial" or not is_builtin(state.cls)):
        return None  # without a merge there is no one value to compare
    return state_contents(app.state(name))


def check_program(generated: GeneratedProgram, requests: list[Request]) -> None:
    with loaded(generated.source) as program:
        graph = ab.compile(program)
        verify(graph)
        assert str(ab.compile(program)) == str(graph)
        plain = run_plain(program, requests)
        for whole in (False, True):
            assert run_graph(program, graph, requests, 1, whole) == plain
        if "grouping-sensitive" not in generated.features:
            spread = run_graph(program, graph, requests, 3, False)
            assert_same(plain, spread, requests)


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


@settings(max_examples=60)
@given(programs())
def test_random_programs_by_hypothesis(generated: GeneratedProgram) -> None:
    requests = generate_requests(SeededChoices(generated.source), generated)
    check_program(generated, list(requests))


def test_the_programs_are_of_all_kinds() -> None:
    """What is proved above is proved of something: straight and winding, fan-outs, gathers, failures."""
    straight = winding = each = gathers = failures = 0
    for seed in range(120):
        generated = generate_seed(seed)
        with loaded(generated.source) as program:
            graph = ab.compile(program)
            straight += sum(e.straight for e in graph.entries)
            winding += sum(not e.straight for e in graph.entries)
            each += sum(f.each for f in graph.flows)
            gathers += sum(f.over == "instances" for f in graph.flows)
            requests = generate_requests(SeededChoices(f"inputs of {seed}"), generated)
            failures += sum(type(a).__name__ == "Failure" for a in run_plain(program, requests).answers)
    assert min(straight, winding, each, gathers, failures) > 30, (straight, winding, each, gathers, failures)
