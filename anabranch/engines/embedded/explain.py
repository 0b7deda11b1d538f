"""How a program runs, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.graph.nodes import Entry, Graph
from anabranch.runtime.plan import make_plan

PYTHON = "python"
WHY_PYTHON = "this version has no compiled tier"


@dataclass(frozen=True, slots=True)
class TaskExplained:
    """`stage` in an epoch of its entry alone; other entries of an epoch can only make it later. None if winding."""

    name: str
    stage: int | None
    where: str
    key: str | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    tier: str
    why: str


@dataclass(frozen=True, slots=True)
class EntryExplained:
    """`winding` is the reason why it cannot run in stages, None for a straight entry."""

    name: str
    dispatch: str
    winding: str | None
    stages: int
    tasks: tuple[TaskExplained, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """`str` for a terminal, `to_dict` for JSON, a picture of the graph in notebooks."""

    graph: Graph
    entries: tuple[EntryExplained, ...]

    def __str__(self) -> str:
        lines = [self.graph.draw(), ""]
        for entry in self.entries:
            how = f"straight, {_count(entry.stages, 'stage')}" if entry.winding is None else "winding, runs row by row"
            why = "" if entry.winding is None else f": {entry.winding}"
            lines.append(f"{entry.name}: {how}{why}")
            lines += [f"  {_line(task)}" for task in entry.tasks]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        entries = {
            e.name: {
                "dispatch": e.dispatch,
                "straight": e.winding is None,
                "winding": e.winding,
                "stages": e.stages,
                "tasks": {
                    t.name: {
                        "stage": t.stage,
                        "where": t.where,
                        "key": t.key,
                        "reads": list(t.reads),
                        "writes": list(t.writes),
                        "tier": t.tier,
                        "why": t.why,
                    }
                    for t in e.tasks
                },
            }
            for e in self.entries
        }
        return {"program": self.graph.name, "entries": entries}

    def _repr_html_(self) -> str:
        return self.graph.to_svg()


def explain(graph: Graph) -> Explanation:
    return Explanation(graph, tuple(_explain(graph, entry) for entry in graph.entries))


def _explain(graph: Graph, entry: Entry) -> EntryExplained:
    plan = make_plan(graph, [entry.name])
    tasks = tuple(
        TaskExplained(
            task.name,
            None if plan is None else plan.stage_of[task.name],
            task.where.value,
            task.key,
            task.reads,
            task.writes,
            PYTHON,
            WHY_PYTHON,
        )
        for task in graph.tasks
        if task.entry == entry.name
    )
    return EntryExplained(entry.name, entry.dispatch.value, entry.winding, plan.stages if plan else 1, tasks)


def _line(task: TaskExplained) -> str:
    stage = "" if task.stage is None else f"stage {task.stage}, "
    place = f"at {task.key}" if task.key is not None else {"nowhere": "without state"}.get(task.where, task.where)
    touches = [
        f"{verb} {', '.join(names)}" for verb, names in (("reads", task.reads), ("writes", task.writes)) if names
    ]
    return f"{task.name}: {stage}{'; '.join([place, *touches])}; tier {task.tier} ({task.why})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
