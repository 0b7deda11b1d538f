"""Straight or winding: may an epoch run this entry stage by stage?

An entry is straight if each row visits each state in one uninterrupted visit with one key and never returns to a
place it has left. The reason is told in the user's words.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.graph.nodes import Entry, Flow, Graph, Task, Where


def classify(graph: Graph) -> Graph:
    """Set `winding` on every entry."""
    return replace(graph, entries=tuple(replace(e, winding=_reason(graph, e)) for e in graph.entries))


def _reason(graph: Graph, entry: Entry) -> str | None:
    tasks = {t.name: t for t in graph.tasks if t.entry == entry.name}
    leaving: dict[str, list[Flow]] = {name: [] for name in tasks}
    for flow in graph.flows:
        if flow.source in tasks:
            leaving[flow.source].append(flow)
    return _walk(tasks, leaving, [tasks[entry.start]]) or _beside(tasks, leaving)


def _walk(tasks: dict[str, Task], leaving: dict[str, list[Flow]], path: list[Task]) -> str | None:
    """Follow every way through the entry; `path` is the way so far."""
    here = path[-1]
    for flow in leaving[here.name]:
        task = tasks[flow.target]
        if task in path:
            return f"a loop comes back {_to(task)}"
        if task.where in (Where.KEY, Where.HERE):
            for before in path:
                if before.where is task.where and before.number == task.number:
                    return f"it comes back {_to(task)} after it was {_at(here)}"
        for before in path:
            both = sorted(set(before.states) & set(task.states))
            if both:
                return f"it visits {both[0]} {_at(before)} and again {_at(task)}"
        found = _walk(tasks, leaving, [*path, task])
        if found is not None:
            return found
    return None


def _beside(tasks: dict[str, Task], leaving: dict[str, list[Flow]]) -> str | None:
    """A fan-out does not end its task: what else the task starts must not meet the states of the iterations."""
    for flows in leaving.values():
        for flow in flows:
            if not flow.each:
                continue
            own = _reached(tasks, leaving, flow.target)
            for other in flows:
                if other is flow:
                    continue
                for name in _reached(tasks, leaving, other.target) - own:
                    for mine in own - _reached(tasks, leaving, other.target):
                        both = sorted(set(tasks[name].states) & set(tasks[mine].states))
                        if both:
                            where = f"{_at(tasks[mine])} and the entry visits it again {_at(tasks[name])}"
                            return f"a loop visits {both[0]} {where}"
    return None


def _reached(tasks: dict[str, Task], leaving: dict[str, list[Flow]], start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += [f.target for f in leaving[name]]
    return found


def _to(task: Task) -> str:
    return f"to {task.key}" if task.where is Where.KEY else _at(task)


def _at(task: Task) -> str:
    match task.where:
        case Where.KEY:
            return f"at {task.key}"
        case Where.HERE:
            return "here"
        case Where.EVERYWHERE:
            return "everywhere"
    return "without state"
