"""Requests that only read, at the machine beside the coordinator, while a worker is restored.

They run on copies of what the workers hold that are there. One that touches something else stops, and what it touched
is fetched; one that touches what nobody holds who is there is given up, and waits until all are back.

Laws: a read sees what `committed` left and nothing else; only a read that lacked nothing has an outcome; reads do not
see each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.runtime.collecting import questions
from anabranch.runtime.fused import raised
from anabranch.runtime.messages import (
    Entries,
    FinishedReads,
    Hold,
    Outcome,
    Raised,
    Read,
    Results,
    ToCoordinator,
    WorkerCommand,
)
from anabranch.state.collected import NotHere, Want

if TYPE_CHECKING:
    from anabranch.runtime.worker import Worker


class Reading:
    """Rows run one after the other; those of a request that lacks something run again when that was fetched."""

    def __init__(self, worker: Worker, read: Read) -> None:
        assert worker.copies is not None, f"worker {worker.number} has all state at hand and reads elsewhere"
        self.worker, self.read, self.version, self.copies = worker, read, read.version, worker.copies
        self.copies.clear()
        self.runner = worker.runner.elsewhere(self.copies)
        self.beginning = self.copies.mark()
        self.outcomes: list[Outcome | None] = [None] * len(read.items)
        self.round = 0
        self.asked: set[int] = set()  # workers that have not answered yet
        self._go_through(list(range(len(read.items))))

    def _go_through(self, items: list[int]) -> None:
        self.todo = items[::-1]  # the item at hand is the last
        self.lacking: list[int] = []
        self.wants: dict[Want, None] = {}
        self._next()

    def _next(self) -> None:
        self.results: list[Any] = []  # of the item at hand
        self.wanted: dict[Want, None] = {}  # what its rows have lacked

    @property
    def busy(self) -> bool:
        return not self.asked

    @property
    def progress(self) -> float:
        return 1.0 - (len(self.todo) + len(self.lacking)) / max(1, len(self.outcomes))

    def step(self) -> list[WorkerCommand]:
        for _ in range(self.worker.pace.slice):
            if not self.todo:
                return self._fetch() if self.wants else self._finish()
            self._run_row()
        return []

    def _run_row(self) -> None:
        """Go on by a row, or to the next item."""
        at = self.todo[-1]
        item, done = self.read.items[at], len(self.results)
        if done == (1 if isinstance(item, Hold) else len(item.request.rows)):
            self._end(Results(tuple(self.results)))
            return
        try:
            if isinstance(item, Hold):
                assert item.read is not None
                self.results.append(item.read(self.copies))
            else:
                request, sequence = item
                self.results.append(self.runner.alone(request.entry, sequence + done, request.rows[done]))
        except NotHere:
            self.results.append(None)
        except BaseException as error:
            if not (self.copies.wanted and isinstance(error, Exception)):  # else it comes of what is not here
                self._end(Raised(error) if isinstance(item, Hold) else raised(self.runner, request.entry, done, error))
                return
            self.results.append(None)
        self.wanted |= self.copies.wanted
        self.copies.rollback(self.beginning)
        worker_of = self.runner.routing.worker_of
        if any(worker_of(want.instance) not in self.read.there for want in self.wanted):
            self.todo.pop()
            self._next()

    def _end(self, outcome: Outcome) -> None:
        """All rows of the item at hand have run, or one has raised: that counts if the rows before lacked nothing."""
        self.copies.rollback(self.beginning)
        at = self.todo.pop()
        if self.wanted:
            self.lacking.append(at)
            self.wants |= self.wanted
        else:
            self.outcomes[at] = outcome
        self._next()

    def _fetch(self) -> list[WorkerCommand]:
        commands, self.asked = questions(self.worker, self.version, self.read.committed, self.wants)
        self.round = self.worker.questions
        return commands

    def receive(self, entries: Entries) -> None:
        if entries.round != self.round or entries.worker not in self.asked:
            return
        self.asked.discard(entries.worker)
        for want, found in entries.found:
            self.copies.fill(want, found)
        if not self.asked:
            self._go_through(self.lacking)

    def _finish(self) -> list[WorkerCommand]:
        self.worker.job = None
        return [ToCoordinator(FinishedReads(self.read.number, tuple(self.outcomes)))]
