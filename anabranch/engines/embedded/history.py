"""What an app has done: enough to repeat it on the sequential engine.

Law: `history.replay(P())` gives the answers that the app gave and a sequential app with the state that the app had,
instance by instance.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from anabranch.engines.sequential import SequentialApp
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.runtime.messages import AtWorkers, Committed, Seen
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


@dataclass(frozen=True, slots=True, repr=False)
class History:
    """The requests in the order in which they took effect, and the instance of every bucket, as it was at first and
    after each change of it, from a sequence number on.

    `complete` if it goes back to the start of the app and has the inputs.
    """

    requests: tuple[Numbered, ...]
    assignment: tuple[int, ...]
    instances: int
    complete: bool
    graph: Graph
    changes: tuple[tuple[int, tuple[int, ...], int], ...] = ()

    def __repr__(self) -> str:
        rows = sum(r.rows for r in self.requests)
        kept = "with all inputs" if self.complete else "not to be replayed"
        return f"<history of {self.graph.name}: {len(self.requests):,} requests, {rows:,} rows, {kept}>"

    def replay(self, program: Program) -> tuple[SequentialApp, list[list[Any] | BaseException]]:
        """Repeat it one row after the other: the app, and for every request its results or what it raised.

        The program is made as that of the app was.
        """
        if type(program) is not self.graph.program:
            name = self.graph.name
            raise TypeError(f"this is the history of a {name}, got {program!r}: write history.replay({name}(...))")
        if any(r.inputs is None for r in self.requests) or (not self.complete and not self.requests):
            raise ValueError("the history has no inputs to replay: start the app with ab.run(..., history=True)")
        if not self.complete:
            raise ValueError("state was loaded by hand, which no request can repeat: replay an app that loads nothing")
        app = SequentialApp(program, self.instances, self.assignment.__getitem__, graph=self.graph)
        answers: list[list[Any] | BaseException] = []
        changes = [*self.changes]
        for request in self.requests:
            assert request.inputs is not None
            while changes and changes[0][0] <= request.sequence:
                app.assign(*changes.pop(0)[1:])
            app.sequence = request.sequence
            try:
                answers.append(app.run(request.entry, request.inputs))
            except BaseException as error:
                answers.append(error)
        for _, assignment, instances in changes:
            app.assign(assignment, instances)
        return app, answers


class Recorder:
    """Keeps what has been committed: all with inputs, or the last few without."""

    def __init__(self, graph: Graph, routing: Routing, keep_all: bool) -> None:
        self._graph, self._routing, self._keep_all = graph, routing, keep_all
        self._kept: deque[tuple[Any, ...]] = deque(maxlen=None if keep_all else KEPT)
        self._loaded = False
        self._changes: list[tuple[int, tuple[int, ...], int]] = []

    def switch(self, sequence: int, routing: Routing) -> None:
        """Keys are elsewhere, from this row on."""
        self._changes.append((sequence, routing.instance_of_bucket, routing.instances))

    def add(self, committed: Committed | Seen) -> None:
        for ran in committed.ran:
            at_workers = isinstance(ran.request.rows, AtWorkers)  # nobody here has ever seen them
            self._loaded = self._loaded or at_workers
            inputs = ran.request.rows if self._keep_all and not at_workers else None
            self._kept.append((ran.sequence, ran.request.entry, len(ran.request.rows), ran.epoch, ran.failed, inputs))
        if isinstance(committed, Committed) and not committed.stages:
            self._loaded = True  # by hand: no request can repeat it

    def history(self) -> History:
        routing = self._routing
        complete = self._keep_all and not self._loaded
        requests = []
        for sequence, entry, rows, epoch, failed, inputs in self._kept:
            kept = None if inputs is None else tuple(inputs)  # rows also where they came as columns
            requests.append(Numbered(sequence, entry, rows, epoch, failed, kept))
        changes, first = tuple(self._changes), (routing.instance_of_bucket, routing.instances)
        return History(tuple(requests), *first, complete, self._graph, changes)
