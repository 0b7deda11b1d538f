"""Requests one after the other on all instances, where all are in one address space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.lang.entry import add_note, request_note
from anabranch.lang.errors import MemoryFull
from anabranch.runtime.messages import (
    BeginFused,
    FinishedFused,
    Outcome,
    Placed,
    Raised,
    Results,
    ToCoordinator,
    WorkerCommand,
)
from anabranch.runtime.rows import Batch, Runner

if TYPE_CHECKING:
    from anabranch.runtime.worker import Worker


def raised(runner: Runner, entry: str, row: int, error: BaseException) -> Raised:
    add_note(error, request_note(entry, row, *runner.code.place(entry, error)))
    return Raised(error)


class Fused:
    """Requests one after the other, each on all instances; one that raises is undone alone."""

    def __init__(self, worker: Worker, begin: BeginFused) -> None:
        self.worker, self.runner, self.memory = worker, worker.runner, worker.memory
        self.version = begin.version
        self.todo = list(reversed(begin.placed))
        self.outcomes: list[Outcome] = []
        self.marks = self.memory.mark()
        self.results: list[object] = []  # of the request at hand
        self.batch: Batch | None = None  # the request at hand, where it goes through a kernel
        self.may_repeat = len(begin.placed) == 1  # once, if memory is full and some can be had back
        self.total = max(1, sum(len(p.request.rows) for p in begin.placed))
        self.done = 0

    busy = True  # until it has finished, and then it is gone

    def step(self) -> list[WorkerCommand]:
        budget = self.worker.pace.slice
        while self.todo:
            placed = self.todo[-1]
            outcome = self._run(placed, budget)
            if outcome is None:
                return []
            budget -= len(self.results)
            self.outcomes.append(outcome)
            self.todo.pop()
            self.batch = None
            if self.todo:
                self.results, self.marks = [], self.memory.mark()
                if budget <= 0:
                    return []
        self.worker.job = None
        if not self.memory.is_open(self.version):
            return []  # an instance was lost on the way: the coordinator hears of it and begins again
        outcomes = tuple(self.outcomes)
        return [ToCoordinator(FinishedFused(self.worker.number, self.version, outcomes))]

    def _run(self, placed: Placed, budget: int) -> Outcome | None:
        """Go on with a request; None if there is more of it."""
        request, results = placed.request, self.results
        first = len(results)
        if self.batch is None and not first:
            self.batch = self.runner.batch(request.entry, request.rows, placed.sequence)
        if self.batch is not None:
            return self._run_batch(placed, self.batch)
        for row in request.rows[first : first + budget]:
            try:
                results.append(self.runner.alone(request.entry, placed.sequence + len(results), row))
            except BaseException as error:
                return self._raised(placed, len(results), error)
            self.done += 1
        try:
            self.memory.refuse_excess()
        except MemoryFull as error:
            return self._raised(placed, max(0, len(results) - 1), error)
        return Results(tuple(results)) if len(results) == len(request.rows) else None

    def _run_batch(self, placed: Placed, batch: Batch) -> Outcome | None:
        before = batch.done
        try:
            batch.run(self.worker.pace.fast)
        except BaseException as error:
            return self._raised(placed, batch.done, error)
        self.done += batch.done - before
        return Results(batch.results()) if batch.done == len(placed.request.rows) else None

    def _raised(self, placed: Placed, row: int, error: BaseException) -> Outcome | None:
        self.memory.rollback(self.marks)
        if isinstance(error, MemoryFull) and self.may_repeat and self.memory.tidy():
            self.may_repeat, self.results, self.batch, self.done = False, [], None, 0
            return None
        return raised(self.runner, placed.request.entry, row, error)

    @property
    def progress(self) -> float:
        return self.done / self.total
