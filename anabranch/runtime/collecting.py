"""Requests one after the other where state is spread over address spaces: collect what they touch, then write back.

The collector runs its requests on copies that hold what it has fetched. A row that touches something else stops there;
the rows behind it run all the same, to find what they will ask for, and what all of them lack is asked for at once.
Then everything is taken back and runs again from the start, until nothing is missing.

Laws: only a run that lacked nothing has results and effects; there are as many rounds as the longest chain of keys of
which each is found by reading the one before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.runtime.fused import raised
from anabranch.runtime.messages import (
    DRIVER,
    Apply,
    Collect,
    Entries,
    Failed,
    Fetch,
    FinishedFused,
    Outcome,
    Raised,
    Results,
    ToCoordinator,
    ToWorker,
    Version,
    WorkerCommand,
)
from anabranch.runtime.routing import Routing
from anabranch.state.collected import Collected, NotHere, Want

if TYPE_CHECKING:
    from anabranch.runtime.worker import Worker


class Copies(Collected):
    """What a collector has of the states of all instances."""

    def __init__(self, graph: Graph, program: Program, routing: Routing) -> None:
        super().__init__(graph, program, routing.instances, routing.owner)
        self.routing = routing


def questions(
    worker: Worker, version: Version, committed: Version, wants: Iterable[Want]
) -> tuple[list[WorkerCommand], set[int]]:
    """Ask the owners of all that is wanted, as `committed` left it: the messages, and who has to answer."""
    worker.questions += 1
    by_worker: dict[int, list[Want]] = {}
    for want in wants:
        by_worker.setdefault(worker.runner.routing.worker_of(want.instance), []).append(want)
    commands: list[WorkerCommand] = [
        ToWorker(w, Fetch(version, committed, worker.number, worker.questions, tuple(own)))
        for w, own in by_worker.items()
    ]
    return commands, set(by_worker)


class Collecting:
    """An epoch of collected requests, at the worker that collects for it, or beside the coordinator."""

    def __init__(self, worker: Worker, begin: Collect) -> None:
        self.worker, self.version, self.committed, self.placed = worker, begin.version, begin.committed, begin.placed
        assert worker.copies is not None, f"worker {worker.number} has all state at hand and collects"
        self.copies = worker.copies
        self.copies.clear()
        self.runner = worker.runner.elsewhere(self.copies)
        self.beginning = self.copies.mark()
        self.interrupted: dict[int, Raised] = {}  # requests that their caller has cut short
        self.round = 0
        self.asked: set[int] = set()  # workers that have not answered yet
        self._start_over()

    def _start_over(self) -> None:
        self.outcomes: list[Outcome] = []
        self.results: list[object] = []  # of the request at hand
        self.marks = self.copies.mark()
        self.wants: dict[Want, None] = {}

    @property
    def busy(self) -> bool:
        return not self.asked

    def step(self) -> list[WorkerCommand]:
        for _ in range(self.worker.pace.slice):
            if len(self.outcomes) == len(self.placed):
                return self._fetch() if self.wants else self._finish()
            failed = self._run_row()
            if failed and self.worker.number != DRIVER:
                # An exception does not travel: the request alone, beside the coordinator, says which one it is.
                self.worker.job = None
                return [ToCoordinator(Failed(self.worker.number, self.version, self.placed[0].sequence))]
        return []

    def _run_row(self) -> bool:
        """Go on by a row, or to the next request; gives whether a request has failed."""
        at = len(self.outcomes)
        request, sequence = self.placed[at]
        done = len(self.results)
        if at in self.interrupted:
            self._next(self.interrupted[at])
        elif done == len(request.rows):
            self._next(Results(tuple(self.results)))
        else:
            before = self.copies.mark()
            try:
                self.results.append(self.runner.alone(request.entry, sequence + done, request.rows[done]))
                if self.copies.wanted:  # the user's code has swallowed what said so
                    self._lacks(before)
                    self.results[-1] = None
            except NotHere:
                self._lacks(before)
                self.results.append(None)
            except BaseException as error:
                if (self.wants or self.copies.wanted) and isinstance(error, Exception):  # of a state that never was
                    self._lacks(before)
                    self.results.append(None)
                    return False
                outcome = raised(self.runner, request.entry, done, error)
                if not isinstance(error, Exception):
                    self.interrupted[at] = outcome
                self.copies.rollback(self.marks)
                self._next(outcome)
                return True
        return False

    def _lacks(self, before: Any) -> None:
        """A row has touched what is not here: it has not run."""
        self.wants |= self.copies.wanted
        self.copies.rollback(before)

    def _next(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.results, self.marks = [], self.copies.mark()

    def _fetch(self) -> list[WorkerCommand]:
        commands, self.asked = questions(self.worker, self.version, self.committed, self.wants)
        self.round = self.worker.questions
        self.copies.rollback(self.beginning)
        return commands

    def receive(self, entries: Entries) -> None:
        if entries.round != self.round or entries.worker not in self.asked:
            return
        self.asked.discard(entries.worker)
        for want, found in entries.found:
            self.copies.fill(want, found)
        if not self.asked:
            self._start_over()

    def _finish(self) -> list[WorkerCommand]:
        worker, routing = self.worker, self.runner.routing
        worker.job = None
        effects = self.copies.effects()
        commands: list[WorkerCommand] = []
        for peer in range(routing.workers):
            own = tuple((i, tuple(effects[i])) for i in routing.hosted(peer) if effects[i])
            commands.append(ToWorker(peer, Apply(self.version, self.committed, own)))
        commands.append(ToCoordinator(FinishedFused(worker.number, self.version, tuple(self.outcomes))))
        return commands

    @property
    def progress(self) -> float:
        return len(self.outcomes) / max(1, len(self.placed)) if self.busy else 0.0
