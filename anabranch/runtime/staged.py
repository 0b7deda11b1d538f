"""An epoch on one worker, stage by stage, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.lang.errors import MemoryFull
from anabranch.runtime.exchange import Arrivals
from anabranch.runtime.messages import (
    UNKNOWN,
    Begin,
    End,
    Failed,
    Finished,
    IllegalTransition,
    Row,
    Rows,
    ToCoordinator,
    ToWorker,
    Version,
    WorkerCommand,
)
from anabranch.runtime.rows import Made

if TYPE_CHECKING:
    from anabranch.runtime.worker import Worker


class Staged:
    """An epoch, stage by stage."""

    def __init__(self, worker: Worker, begin: Begin) -> None:
        self.worker, self.runner = worker, worker.runner
        self.version, self.plan = begin.version, begin.plan
        self.arrivals = Arrivals(begin.version)
        self.arrivals.add((begin.plan.stage_of[row.task], row) for row in begin.rows)
        self.stage = 0
        self.rows: list[Row] | None = None  # those of this stage in order, once all are here
        self.done = 0  # how many of them have run
        self.made = Made()

    @property
    def busy(self) -> bool:
        return self.rows is not None

    def go_on(self) -> None:
        """Start the stage at hand if it waits and all it waits for is here."""
        if self.rows is None and self.arrivals.complete(self.stage, self.worker.peers):
            self.rows, self.done = self.runner.arrange(self.arrivals.take(self.stage)), 0

    def step(self) -> list[WorkerCommand]:
        if self.rows is None:
            return []
        at = UNKNOWN
        try:
            for row in self.rows[self.done : self.done + self.worker.pace.slice]:
                at = row.sequence
                self.runner.run(row, self.plan, self.made)
                self.done += 1
            self.worker.memory.refuse_excess(self.worker.instances)
        except BaseException as error:
            # Which exception it is will be told by the request alone: here it is enough that there is one.
            self.worker.job = None
            return [ToCoordinator(failed(self.worker.number, self.version, at, error))]
        return [] if self.done < len(self.rows) else self._end_stage()

    def _end_stage(self) -> list[WorkerCommand]:
        commands = self._exchange()
        self.stage, self.rows = self.stage + 1, None
        if self.stage < self.plan.stages:
            self.go_on()
            return commands
        self.worker.job = None
        return [ToCoordinator(Finished(self.worker.number, self.version, tuple(self.made.results)))]

    def _exchange(self) -> list[WorkerCommand]:
        """Send what the stage has made to where it goes on, and the end marks."""
        number, worker_of = self.worker.number, self.runner.routing.worker_of
        leaving: dict[int, list[tuple[int, Row]]] = {peer: [] for peer in self.worker.peers}
        leaving[number] = []
        for stage, row in self.made.rows:
            leaving[worker_of(row.instance)].append((stage, row))
        self.made.rows = []
        self.arrivals.add(leaving.pop(number))
        if self.stage + 1 == self.plan.stages:
            if any(leaving.values()):
                raise IllegalTransition(f"rows for a stage after the last: {leaving}")
            return []
        return parcels(self.version, number, self.stage, leaving, self.worker.pace.parcel)

    @property
    def progress(self) -> float:
        rows = self.rows  # once: another thread may be at the end of the stage
        share = self.done / len(rows) if rows else 0.0
        return (self.stage + share) / self.plan.stages


def failed(worker: int, version: Version, sequence: int, error: BaseException) -> Failed:
    return Failed(worker, version, sequence, str(error) if isinstance(error, MemoryFull) else "")


def parcels(
    version: Version, source: int, stage: int, leaving: Mapping[int, Sequence[tuple[int, Any]]], size: int
) -> list[WorkerCommand]:
    """What a worker sends at the end of a stage: parcels of at most this size, and the end marks."""
    commands: list[WorkerCommand] = []
    for peer, rows in leaving.items():
        found = [tuple(rows[i : i + size]) for i in range(0, len(rows), size)]
        for i, parcel in enumerate(found):
            commands.append(ToWorker(peer, Rows(version, source, stage, i, parcel)))
        commands.append(ToWorker(peer, End(version, source, stage, len(found))))
    return commands
