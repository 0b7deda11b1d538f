"""What a running app gives for generated requests, checked against the oracle with the assignment of the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import anabranch as ab
from anabranch.drivers.fleet import Launcher
from anabranch.engines.embedded import App
from anabranch.graph.nodes import Distribution
from anabranch.lang.marks import same_state
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Request, generate_requests
from tests.generator.plain import Outcome, answer, loaded, run_plain, state_contents
from tests.generator.programs import generate_seed


def run_app(app: App, program: type[ab.Program], graph: ab.Graph, requests: list[Request], workers: int) -> Outcome:
    """Answers and states; those of partial state that names no merge are None where there are several instances."""
    answers = tuple(answer(program, app, request) for request in requests)
    history = app.history()
    parts = {name: app.state[name].instances() for name in app.state}
    merges = program().__anabranch_merges__
    merged: dict[str, object] = {}
    for state in sorted(graph.states, key=lambda s: s.name):
        partial = state.distribution is Distribution.PARTIAL
        merged[state.name] = _contents(app, state.name, workers > 1 and partial and merges[state.name] is None)
    oracle, _ = history.replay(program())
    for name, instances in parts.items():
        for i, part in enumerate(instances):
            assert same_state(part, oracle.instances(name)[i]), (name, i)
    return Outcome(answers, merged)


def check_apart(seed: int, hosts: Callable[[int], Launcher]) -> None:
    """The program of a seed on two or three workers that are apart, some as kernels, against the plain run."""
    workers, tier = 2 + seed % 2, "compiled" if seed % 7 == 3 else "auto"
    generated = generate_seed(seed)
    requests = list(generate_requests(SeededChoices(f"inputs of {seed}"), generated))
    try:
        with loaded(generated.source) as program:
            graph = ab.compile(program)
            plain = run_plain(program, requests)
            with App(program(), workers, True, graph=graph, tier=tier, hosts=hosts(workers)) as app:
                found = run_app(app, program, graph, requests, workers)
    except Exception as error:
        error.add_note(f"seed {seed}: python -m tests.generator --seed {seed} --run")
        raise
    if "grouping-sensitive" not in generated.features:
        assert found.answers == plain.answers, seed
        for name, contents in found.states.items():
            assert contents is None or contents == plain.states[name], (seed, name)


def _contents(app: App, name: str, unmerged: bool) -> object:
    if unmerged:
        with pytest.raises(TypeError, match="names no merge"):
            app.state[name].copy()
        return None  # there is no one value to compare
    return state_contents(app.state[name].copy())
