"""`verify` finds graphs that break a law: each test breaks one on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import anabranch as ab
from anabranch.graph.code import Send
from anabranch.graph.nodes import Dispatch, Flow, Task, Variable, Where
from anabranch.graph.verify import BrokenGraph, verify
from anabranch.lang.types import INT, Iter
from tests.programs.load import EXAMPLES, load, program_of

GRAPH = ab.compile(program_of(load(EXAMPLES / "recommender.py")))


def with_flow(number: int, **changes: object) -> ab.Graph:
    flows = tuple(replace(f, **changes) if f.number == number else f for f in GRAPH.flows)  # type: ignore[arg-type]
    return replace(GRAPH, flows=flows)


def with_task(name: str, change: Callable[[Task], Task]) -> ab.Graph:
    return replace(GRAPH, tasks=tuple(change(t) if t.name == name else t for t in GRAPH.tasks))


def without_send(task: Task) -> Task:
    return replace(task, body=tuple(s for s in task.body if not isinstance(s, Send)))


BROKEN = {
    "task names are unique": replace(GRAPH, tasks=(*GRAPH.tasks, GRAPH.tasks[0])),
    "numbered in order": replace(GRAPH, flows=GRAPH.flows[::-1]),
    "starts at a task of its own": replace(GRAPH, entries=(replace(GRAPH.entries[0], start="recommend.1"),)),
    "has a key if dispatched by it": replace(GRAPH, entries=(replace(GRAPH.entries[0], key=None),)),
    "connects two tasks": with_flow(0, target="nowhere"),
    "stays within one entry": with_flow(0, target="recommend.2"),
    "has a key exactly if": with_flow(0, key=GRAPH.entries[0].key),
    "dispatched as its target's place says": with_flow(0, dispatch=Dispatch.ALL),
    "a value type": with_flow(0, carries=(*GRAPH.flow(0).carries, Variable("x", Iter(INT)))),
    "sends on exactly the flows": with_task("rate.1", without_send),
    "at its own place": with_task("rate.2", lambda t: replace(t, where=Where.NOWHERE)),
    "gets what it reads": with_task("rate.1", lambda t: replace(t, inputs=())),
    "carries what rate.2 reads": with_flow(0, carries=()),
    "touches a declared state": replace(GRAPH, states=GRAPH.states[:1]),
}


def test_a_compiled_graph_obeys_the_laws() -> None:
    verify(GRAPH)


@pytest.mark.parametrize("law", BROKEN)
def test_a_broken_law_is_found(law: str) -> None:
    with pytest.raises(BrokenGraph, match=law):
        verify(BROKEN[law])


def test_every_flow_has_a_source_that_sends() -> None:
    lonely = Flow(3, "rate.1", "rate.2", Dispatch.ANY, None, GRAPH.flow(0).carries, GRAPH.span)
    with pytest.raises(BrokenGraph, match="sends on exactly"):
        verify(replace(GRAPH, flows=(*GRAPH.flows, lonely)))
