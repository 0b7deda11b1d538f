"""All state of a program, as numbered instances. `assignment` says which bucket belongs to which instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.lang.journal import Journal
from anabranch.lang.keys import bucket
from anabranch.lang.marks import bind
from anabranch.state.parts import start, together


class Store:
    """Every state has one object per instance, all bound to one journal."""

    def __init__(self, graph: Graph, program: Program, instances: int, assignment: Callable[[int], int]) -> None:
        self.graph, self.instances, self.assignment = graph, instances, assignment
        self.journal = Journal()
        self.merges: dict[str, Any] = dict(program.__anabranch_merges__)
        self.parts = start(graph, program, instances, self.owner)
        for parts in self.parts.values():
            for part in parts:
                bind(part, self.journal)

    def owner(self, key: Any) -> int:
        try:
            return self.assignment(bucket(key))
        except ValueError:  # no key at all (a lone surrogate): the access itself says so
            return 0

    def merged(self, name: str) -> Any:
        """A copy of a state as a user sees it."""
        return together(self.graph.state(name), self.parts[name], self.owner, self.merges.get(name))
