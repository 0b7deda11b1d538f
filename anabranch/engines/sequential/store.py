"""All state of a program, as numbered instances. `assignment` says which bucket belongs to which instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anabranch.graph.nodes import Graph, State
from anabranch.lang import DenseMatrix, DenseVector, Program
from anabranch.lang.distribution import Distribution
from anabranch.lang.journal import Journal
from anabranch.lang.keys import bucket
from anabranch.lang.marks import bind, copy_state
from anabranch.lang.merges import mean
from anabranch.state.parts import entry_keys, place_of, spread, start, together


class Store:
    """Every state has one object per instance, all bound to one journal."""

    def __init__(self, graph: Graph, program: Program, instances: int, assignment: Callable[[int], int]) -> None:
        self.graph, self.instances, self.assignment = graph, instances, assignment
        self.journal = Journal()
        self.merges: dict[str, Any] = dict(program.__anabranch_merges__)
        self._templates: dict[str, Any] = dict(program.__anabranch_templates__)
        self.parts = start(graph, program, instances, self.owner)
        self._bind()

    def _bind(self) -> None:
        for parts in self.parts.values():
            for part in parts:
                bind(part, self.journal)

    def spread_anew(self, change: Callable[[], None], instances: int) -> None:
        """Let the assignment `change`: what is keyed is with its owners, partial instances are what they were."""
        whole = [s for s in self.graph.states if s.distribution is not Distribution.PARTIAL]
        held = {s.name: together(s, self.parts[s.name], self.owner, None) for s in whole}
        change()
        for state in self.graph.states:
            name, parts = state.name, self.parts[state.name]
            template, merge = self._templates.get(name), self.merges.get(name)
            if name in held:
                self.parts[name] = spread(state, held[name], template, merge, instances, self.owner)
                if state.distribution is Distribution.PARTITIONED and isinstance(held[name], DenseVector | DenseMatrix):
                    self._clear_places_of_others(state)
            elif instances < len(parts):
                raise ValueError(f"{name} is partial: its {len(parts)} instances do not become {instances}")
            else:
                new = mean([copy_state(p) for p in parts]) if merge is mean else template
                self.parts[name] = [*parts, *(copy_state(new) for _ in range(len(parts), instances))]
        self.instances = instances
        self._bind()

    def _clear_places_of_others(self, state: State) -> None:
        for i, part in enumerate(self.parts[state.name]):
            for key in entry_keys(part):
                if self.owner(place_of(state, key)) != i:
                    part[key] = 0.0

    def owner(self, key: Any) -> int:
        try:
            return self.assignment(bucket(key))
        except ValueError:  # no key at all (a lone surrogate): the access itself says so
            return 0

    def merged(self, name: str) -> Any:
        """A copy of a state as a user sees it."""
        return together(self.graph.state(name), self.parts[name], self.owner, self.merges.get(name))
