"""The stages of an epoch: which tasks run between the same two exchanges.

Laws: the states of one task share a stage, so each state has one stage in an epoch; a task runs no earlier than those
it gets rows from, and later where the rows have to travel or to wait. A state then sees its accesses in sequence order,
whatever entries they come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from anabranch.graph.nodes import Dispatch, Flow, Graph, Task


@dataclass(frozen=True, slots=True)
class Plan:
    """`stage_of` names the stage of each task of the entries; `stages` is their number."""

    entries: frozenset[str]
    stage_of: Mapping[str, int]
    stages: int


def make_plan(graph: Graph, entries: Iterable[str]) -> Plan | None:
    """The stages of an epoch of these entries; None if it would not be straight."""
    names = frozenset(entries)
    if any(not graph.entry(name).straight for name in names):
        return None
    tasks = [t for t in graph.tasks if t.entry in names]
    flows = [f for f in graph.flows if graph.task(f.source).entry in names]
    group = _groups(tasks)
    stage = dict.fromkeys(group.values(), 0)
    # Longest paths by relaxation: a change in the last round means a cycle through an exchange.
    for _ in range(len(stage) + 1):
        changed = False
        for flow in flows:
            source, target = group[flow.source], group[flow.target]
            least = stage[source] + _distance(flow)
            if stage[target] < least:
                stage[target], changed = least, True
        if not changed:
            stage_of = {t.name: stage[group[t.name]] for t in tasks}
            return Plan(names, stage_of, max(stage_of.values(), default=0) + 1)
    return None


def readers(graph: Graph) -> frozenset[str]:
    """The entries that only read."""
    writers = {t.entry for t in graph.tasks if t.writes}
    return frozenset(e.name for e in graph.entries if e.name not in writers)


def _distance(flow: Flow) -> int:
    """A row that stays where it is goes on at once; any other travels or waits."""
    return 0 if flow.dispatch is Dispatch.ANY else 1


def _groups(tasks: list[Task]) -> dict[str, str]:
    """The name of each task's group: tasks that touch a state in common, directly or through others, are one."""
    leader: dict[str, str] = {t.name: t.name for t in tasks}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    first_with: dict[str, str] = {}
    for task in tasks:
        for state in task.states:
            leader[find(task.name)] = find(first_with.setdefault(state, task.name))
    return {t.name: find(t.name) for t in tasks}
