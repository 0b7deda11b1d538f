"""Under which instances a run is saved.

A run is saved under the routing it began with, also after its keys have moved: so whoever reads a location meets one
routing between two of its runs, whatever happened in them. Law: what is saved of a key is under the instance that had
it when the run began; partial instances keep their numbers, of which there may be more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from anabranch.graph.nodes import Graph
from anabranch.lang import DenseMatrix, DenseVector
from anabranch.lang.distribution import Distribution
from anabranch.runtime.routing import Routing
from anabranch.state.changes import Change


class Labels:
    """`routing` is where keys are now, `first` the instance of every bucket when the run began."""

    def __init__(self, graph: Graph, first: tuple[int, ...], routing: Routing) -> None:
        self._graph, self._first, self.routing = graph, first, routing

    def manifest(self) -> tuple[int, tuple[int, ...]]:
        """How many instances there are, and under which one the keys of a bucket are saved."""
        return max(self.routing.instances, *(i + 1 for i in self._first)), self._first

    def changes(self, changes: Sequence[Change]) -> Sequence[Change]:
        if self.routing.instance_of_bucket == self._first:
            return changes
        found = []
        for change in changes:
            for label, rows in self.rows(change.state, change.instance, change.rows):
                found.append(Change(change.state, label, change.whole and not self._spread(change), rows))
        return found

    def _spread(self, change: Change) -> bool:
        state = self._graph.state(change.state)
        spread = state.distribution is Distribution.PARTITIONED
        if spread and change.whole and state.cls not in (DenseVector, DenseMatrix):  # of which all places are named
            raise AssertionError(f"{change.state} is written as a whole, and it is reached by key")
        return spread

    def rows(self, name: str, instance: int, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Rows of an instance with those under which they are saved."""
        state = self._graph.state(name)
        if state.distribution is not Distribution.PARTITIONED or self.routing.instance_of_bucket == self._first:
            yield instance, rows
            return
        from anabranch.kernels.native.restoring import owners

        first, now = owners(state, rows, self._first), owners(state, rows, self.routing.instance_of_bucket)
        for label in np.unique(first).tolist():
            yield label, rows.take(pa.array(np.flatnonzero((first == label) & (now == instance))))
