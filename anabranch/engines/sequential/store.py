"""All state of a program, as numbered instances.

Every state has one object per instance: a partial one its instance, a replicated one a copy, a partitioned one the
entries of the buckets that belong to the instance. `assignment` says which bucket belongs to which instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from anabranch.graph.nodes import Graph, State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Program, Table, Vector
from anabranch.lang.distribution import Distribution
from anabranch.lang.journal import Journal
from anabranch.lang.keys import bucket
from anabranch.lang.marks import bind, copy_state


class Store:
    def __init__(self, graph: Graph, program: Program, instances: int, assignment: Callable[[int], int]) -> None:
        self.graph, self.instances, self.assignment = graph, instances, assignment
        self.journal = Journal()
        self.merges: dict[str, Any] = dict(program.__anabranch_merges__)
        self.parts: dict[str, list[Any]] = {}
        for state in graph.states:
            start = program.__anabranch_states__[state.name]
            self.parts[state.name] = self._spread(state, start)
            for part in self.parts[state.name]:
                bind(part, self.journal)

    def _spread(self, state: State, start: Any) -> list[Any]:
        parts = [copy_state(start) for _ in range(self.instances)]
        if state.distribution is Distribution.PARTITIONED and self.instances > 1:
            for i, part in enumerate(parts):
                for key in list(_keys(state, part)):
                    if self.owner(_place(state, key)) != i:
                        _remove(part, key)
        return parts

    def owner(self, key: Any) -> int:
        try:
            return self.assignment(bucket(key))
        except ValueError:  # no key at all (a lone surrogate): the access itself says so
            return 0

    def merged(self, name: str) -> Any:
        """A copy of a state as a user sees it: the union of its parts, the merge of its instances, or one copy."""
        state, parts = self.graph.state(name), self.parts[name]
        if self.instances == 1 or state.distribution is Distribution.REPLICATED:
            return copy_state(parts[0])
        if state.distribution is Distribution.PARTITIONED:
            if state.cls not in (Table, Vector, Matrix, DenseVector, DenseMatrix):
                raise TypeError(
                    f"the parts of {name}, a {state.cls.__name__}, cannot be put together: look at instances()"
                )
            whole = copy_state(parts[0])
            for i, part in enumerate(parts):
                for key in list(_keys(state, part)):
                    if self.owner(_place(state, key)) == i:
                        whole[key] = part[key]
            return whole
        merge = self.merges.get(name)
        if merge is None:
            raise TypeError(
                f"{name} names no merge: look at instances(), or give it one with ab.partial(..., merge=...)"
            )
        return merge([copy_state(p) for p in parts])


def _keys(state: State, part: Any) -> Iterable[Any]:
    if isinstance(part, Table | Vector):
        return [k for k, _ in part.items()]
    if isinstance(part, Matrix):
        return [k for k, _ in part.items()]
    if isinstance(part, DenseVector):
        return range(len(part))
    if isinstance(part, DenseMatrix):
        rows, columns = part.shape
        return [(i, j) for i in range(rows) for j in range(columns)]
    return ()


def _place(state: State, key: Any) -> Any:
    """The part of an entry's key that says where it lives."""
    if state.axis == "row" and isinstance(key, tuple):
        return key[0]
    if state.axis == "column":
        return key[1]
    return key


def _remove(part: Any, key: Any) -> None:
    if isinstance(part, Table):
        del part[key]
    elif not isinstance(part, DenseVector | DenseMatrix):
        part[key] = 0.0
