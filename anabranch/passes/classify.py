"""Straight or winding: may an epoch run this entry stage by stage?

An entry is straight if each row visits each state in one uninterrupted visit with one key and never returns to a
place it has left. The reason is told in the user's words.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from anabranch.graph.nodes import Entry, Flow, Graph, Task, Where


def classify(graph: Graph) -> Graph:
    """Set `winding` on every entry."""
    return replace(graph, entries=tuple(replace(e, winding=_reason(graph, e)) for e in graph.entries))


def _reason(graph: Graph, entry: Entry) -> str | None:
    tasks = [t for t in graph.tasks if t.entry == entry.name]
    leaving = {t.name: [f for f in graph.flows if f.source == t.name] for t in tasks}
    after = {t.name: _reached([f.target for f in leaving[t.name]], leaving) for t in tasks}
    return _comes_back(tasks, after) or _visits_again(tasks, after) or _beside(tasks, leaving) or _crosses(tasks, after)


def _reached(starts: list[str], leaving: dict[str, list[Flow]]) -> set[str]:
    """The tasks that a row may get to from here, these included."""
    found: set[str] = set()
    todo = list(starts)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += [f.target for f in leaving[name]]
    return found


def _comes_back(tasks: list[Task], after: dict[str, set[str]]) -> str | None:
    for task in sorted(tasks, key=lambda t: t.where is Where.NOWHERE):
        if task.name in after[task.name]:
            return f"a loop comes back {_to(task)}"
    for task in tasks:
        for before in tasks:
            same = before.where is task.where and before.number == task.number
            if same and task.where in (Where.KEY, Where.HERE) and task.name in after[before.name]:
                between = [t for t in tasks if t.name in after[before.name] and task.name in after[t.name]]
                if not between:
                    return f"a loop comes back {_to(task)}"
                return f"it comes back {_to(task)} after it was {_at(between[0])}"
    return None


def _visits_again(tasks: list[Task], after: dict[str, set[str]]) -> str | None:
    for task in tasks:
        for before in tasks:
            both = sorted(set(before.states) & set(task.states))
            if both and task.name in after[before.name]:
                return f"it visits {both[0]} {_at(before)} and again {_at(task)}"
    return None


def _beside(tasks: list[Task], leaving: dict[str, list[Flow]]) -> str | None:
    """A fan-out does not end its task: what else the task starts must not meet the states of the iterations."""
    by_name = {t.name: t for t in tasks}
    for flows in leaving.values():
        for flow in (f for f in flows if f.each):
            own = _reached([flow.target], leaving)
            for other in (f for f in flows if f is not flow):
                others = _reached([other.target], leaving)
                for mine, name in itertools.product(sorted(own - others), sorted(others - own)):
                    both = sorted(set(by_name[mine].states) & set(by_name[name].states))
                    if both:
                        where = f"{_at(by_name[mine])} and the entry visits it again {_at(by_name[name])}"
                        return f"a loop visits {both[0]} {where}"
    return None


def _crosses(tasks: list[Task], after: dict[str, set[str]]) -> str | None:
    """Each state has one stage, the states of one task share theirs: the order of stages must not be a cycle."""
    group = {s: s for t in tasks for s in t.states}

    def find(state: str) -> str:
        while group[state] != state:
            state = group[state]
        return state

    for task in tasks:
        for state in task.states[1:]:
            group[find(state)] = find(task.states[0])
    later: dict[str, set[str]] = {}
    for task in tasks:
        for other in tasks:
            if task.states and other.states and other.name in after[task.name]:
                later.setdefault(find(task.states[0]), set()).add(find(other.states[0]))
    for start in sorted(later):
        found: set[str] = set()
        todo = sorted(later[start])
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += sorted(later.get(name, ()))
        if start in found:
            members = sorted(s for s in group if find(s) in found)
            return f"its ways visit {' and '.join(members)} in different orders"
    return None


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
