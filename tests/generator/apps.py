"""What a running app gives for generated requests, checked against the oracle with the assignment of the run."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.engines.embedded import App
from anabranch.graph.nodes import Distribution
from anabranch.lang.marks import same_state
from tests.generator.inputs import Request
from tests.generator.plain import Outcome, answer, state_contents


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


def _contents(app: App, name: str, unmerged: bool) -> object:
    if unmerged:
        with pytest.raises(TypeError, match="names no merge"):
            app.state[name].copy()
        return None  # there is no one value to compare
    return state_contents(app.state[name].copy())
