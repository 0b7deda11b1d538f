"""How a program runs, and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol

from anabranch.graph.nodes import Entry, Graph
from anabranch.graph.span import Span
from anabranch.runtime.plan import make_plan

PYTHON, COMPILED = "python", "compiled"


class Tiers(Protocol):
    """What is known of the tiers of an app; see `anabranch.engines.embedded.tiers`."""

    tier: str
    full: dict[str, str]

    def fallback(self, entry: str) -> Any: ...
    def is_fast(self, entry: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class TaskExplained:
    """How a task runs: `where` (at a `key`, here, everywhere), which states it `reads` and `writes`, its `tier` and
    `why`.

    `stage` is that in an epoch of its entry alone; other entries of an epoch can only make it later. None if winding.
    """

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
    """How an entry runs: in so many `stages`, or one row after the other if it is `winding`, which is the reason for
    it.
    """

    name: str
    dispatch: str
    winding: str | None
    stages: int
    tasks: tuple[TaskExplained, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What `app.explain()` gives: `str` for a terminal, `to_dict` for JSON, a picture of the graph in notebooks."""

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
        """The same, for JSON."""
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


def explain(graph: Graph, tiers: Tiers) -> Explanation:
    return Explanation(graph, tuple(_explain(graph, entry, tiers) for entry in graph.entries))


def _tier(entry: str, tiers: Tiers) -> tuple[str, str]:
    """The tier of an entry, and why."""
    if tiers.tier == PYTHON:
        return PYTHON, "as ab.run was told"
    fallback = tiers.fallback(entry)
    if fallback is not None:
        return PYTHON, "; ".join(_placed(reason.why, reason.span) for reason in fallback.reasons)
    if entry in tiers.full:
        return PYTHON, f"there was no memory to lay out its states: {tiers.full[entry]}"
    return COMPILED, "in use" if tiers.is_fast(entry) else "as Python until it has had enough rows"


def _placed(why: str, span: Span | None) -> str:
    return why if span is None else f"{why}, {PurePath(span.file).name}:{span.line}"


def _explain(graph: Graph, entry: Entry, tiers: Tiers) -> EntryExplained:
    plan = make_plan(graph, [entry.name])
    tier, why = _tier(entry.name, tiers)
    tasks = tuple(
        TaskExplained(
            task.name,
            None if plan is None else plan.stage_of[task.name],
            task.where.value,
            task.key,
            task.reads,
            task.writes,
            tier,
            why,
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
