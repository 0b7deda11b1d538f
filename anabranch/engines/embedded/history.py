"""What an app has done: enough to repeat it on the sequential engine.

Law: `history.replay(P())` gives the answers that the app gave and a sequential app with the state that the app had,
instance by instance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from anabranch.engines.sequential import SequentialApp
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.runtime.messages import Committed, Ran
from anabranch.runtime.routing import Routing

KEPT = 1000


@dataclass(frozen=True, slots=True)
class Numbered:
    """A request that was carried out, or undone because it raised: its rows have consecutive sequence numbers.

    `inputs` is None where the history keeps none.
    """

    sequence: int
    entry: str
    rows: int
    epoch: int
    failed: bool
    inputs: tuple[tuple[Any, ...], ...] | None


@dataclass(frozen=True, slots=True)
class History:
    """The requests in the order in which they took effect, and the instance of every bucket.

    `complete` if it goes back to the start of the app and has the inputs.
    """

    requests: tuple[Numbered, ...]
    assignment: tuple[int, ...]
    instances: int
    complete: bool
    graph: Graph

    def replay(self, program: Program) -> tuple[SequentialApp, list[list[Any] | BaseException]]:
        """Repeat it one row after the other: the app, and for every request its results or what it raised."""
        if not self.complete:
            raise ValueError(
                f"the history holds {len(self.requests)} requests and not all inputs: it can be replayed "
                "if the app was started with ab.run(..., history=True) and nothing was loaded"
            )
        app = SequentialApp(program, self.instances, self.assignment.__getitem__, graph=self.graph)
        answers: list[list[Any] | BaseException] = []
        for request in self.requests:
            assert request.inputs is not None
            app.sequence = request.sequence
            try:
                answers.append(app.run(request.entry, request.inputs))
            except BaseException as error:
                answers.append(error)
        return app, answers


class Recorder:
    """Keeps what has been committed: all with inputs, or the last few without."""

    def __init__(self, graph: Graph, routing: Routing, keep_all: bool) -> None:
        self._graph, self._routing, self._keep_all = graph, routing, keep_all
        self._kept: deque[Numbered] = deque(maxlen=None if keep_all else KEPT)
        self._loaded = False

    def add(self, committed: Committed) -> None:
        self._kept.extend(self._numbered(committed.ran))
        if not committed.ran:
            self._loaded = True  # by hand: no request of it can be replayed

    def _numbered(self, ran: Iterable[Ran]) -> Iterable[Numbered]:
        for r in ran:
            inputs = r.request.rows if self._keep_all else None
            yield Numbered(r.sequence, r.request.entry, len(r.request.rows), r.epoch, r.failed, inputs)

    def history(self) -> History:
        routing = self._routing
        complete = self._keep_all and not self._loaded
        return History(tuple(self._kept), routing.instance_of_bucket, routing.instances, complete, self._graph)
