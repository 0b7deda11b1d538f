"""What is remembered of requests whose callers may ask again: the results of calls, the batches of streams."""

from __future__ import annotations

from typing import Any

from anabranch.drivers.durable.marks import CALL, Mark
from anabranch.graph.nodes import Graph
from anabranch.runtime.messages import Boxed, Committed


class Remember:
    """Results as bytes that a later run can read too; see `owns`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._codec: Any = None

    @property
    def _owns(self) -> Any:
        if self._codec is None:
            from anabranch.drivers.durable.owns import Owns

            self._codec = Owns(self._graph)
        return self._codec

    def __call__(self, done: Committed) -> list[Mark]:
        """The marks of what is committed; of a request that has failed nothing is remembered."""
        found: list[Mark] = []
        for ran in done.ran:
            mark = ran.request.mark
            if mark is None or ran.failed:
                continue
            kind, name, value = mark
            if kind == CALL:
                value = self._owns.encode(tuple(self._values(ran.request.entry, ran.results)))
            found.append((kind, name, value))
        return found

    def _values(self, entry: str, results: Any) -> list[Any]:
        if isinstance(results, Boxed):
            from anabranch.kernels.native.stages import gathered

            results = gathered(self._graph.entry(entry).result, results.first, len(results), results.boxes)
        return list(results)

    def results(self, kept: bytes) -> list[Any]:
        return list(self._owns.decode(kept))
