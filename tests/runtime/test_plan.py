"""The laws of stages, on the corpus and on random programs."""

from __future__ import annotations

import itertools
from random import Random

import pytest

import anabranch as ab
from anabranch.graph.nodes import Dispatch
from anabranch.runtime.plan import Plan, make_plan
from examples.recommender import Recommender
from tests.generator.plain import loaded
from tests.generator.seeds import generate_seed
from tests.programs.load import good, load, program_of


def check_laws(graph: ab.Graph, plan: Plan) -> None:
    tasks = [t for t in graph.tasks if t.entry in plan.entries]
    assert set(plan.stage_of) == {t.name for t in tasks}
    assert plan.stages == max(plan.stage_of.values()) + 1
    stage_of_state: dict[str, int] = {}
    for task in tasks:
        for state in task.states:
            assert stage_of_state.setdefault(state, plan.stage_of[task.name]) == plan.stage_of[task.name], state
    for flow in graph.flows:
        if graph.task(flow.source).entry in plan.entries:
            gap = plan.stage_of[flow.target] - plan.stage_of[flow.source]
            assert gap >= (0 if flow.dispatch is Dispatch.ANY else 1), flow


@pytest.mark.parametrize("path", good(), ids=lambda p: p.stem)
def test_programs_of_the_corpus(path: object) -> None:
    graph = ab.compile(program_of(load(path)))  # type: ignore[arg-type]
    straight = [e.name for e in graph.entries if e.straight]
    for size in (1, 2, 3):
        for entries in itertools.combinations(straight, size):
            plan = make_plan(graph, entries)
            assert plan is not None or size > 1, "a straight entry has stages"
            if plan is not None:
                check_laws(graph, plan)


def test_random_programs() -> None:
    rng, refused = Random(1), 0
    for seed in range(300):
        with loaded(generate_seed(seed).source) as program:
            graph = ab.compile(program)
        straight = [e.name for e in graph.entries if e.straight]
        for entry in straight:
            plan = make_plan(graph, [entry])
            assert plan is not None
            check_laws(graph, plan)
        together = make_plan(graph, straight)
        if together is None:
            refused += 1
        elif straight:
            check_laws(graph, together)
        rng.shuffle(straight)
        assert make_plan(graph, straight) == together, "the order of the entries does not matter"
    assert refused > 0, "some unions of straight entries go round"


def test_a_winding_entry_has_no_stages() -> None:
    graph = ab.compile(program_of(load(next(p for p in good() if p.stem == "transfer"))))
    assert make_plan(graph, ["transfer"]) is None
    assert make_plan(graph, ["deposit", "transfer"]) is None


def test_a_state_is_visited_in_the_latest_stage_at_which_an_entry_reaches_it() -> None:
    graph = ab.compile(Recommender)
    alone, both = make_plan(graph, ["rate"]), make_plan(graph, ["rate", "recommend"])
    assert alone is not None and both is not None
    assert alone.stage_of == {"rate.1": 0, "rate.2": 0}
    assert both.stage_of == {"rate.1": 0, "rate.2": 1, "recommend.1": 0, "recommend.2": 1, "recommend.3": 2}


class Rounds(ab.Program):
    a: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    b: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def there(self, k: int) -> int:
        return self.b[self.a[k]]

    def back(self, k: int) -> int:
        return self.a[self.b[k]]


def test_entries_that_visit_states_in_opposite_orders_share_no_epoch() -> None:
    graph = ab.compile(Rounds)
    assert make_plan(graph, ["there"]) is not None and make_plan(graph, ["back"]) is not None
    assert make_plan(graph, ["there", "back"]) is None
