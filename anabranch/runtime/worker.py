"""The worker: hosts instances of every state and runs every task on them.

Laws: it works for the newest version it knows of, and drops what belongs to an older one; between `Begin` and the end
of the epoch it says exactly one of `Finished` and `Failed`; what it wrote can be taken back until the next `Begin` or
`Settle` says that it is committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.lang.entry import add_note, request_note
from anabranch.runtime.exchange import Arrivals
from anabranch.runtime.messages import (
    NOTHING_YET,
    Again,
    Begin,
    BeginColumns,
    BeginFused,
    End,
    Failed,
    Finished,
    FinishedFused,
    IllegalTransition,
    Load,
    Loaded,
    Outcome,
    Placed,
    Raised,
    Results,
    Row,
    Rows,
    Settle,
    Settled,
    ToCoordinator,
    ToWorker,
    Version,
    WorkerCommand,
    WorkerEvent,
)
from anabranch.runtime.rows import Batch, Made, Runner, StageBatch


@dataclass(frozen=True, slots=True)
class Pace:
    """How many rows run between two looks at what has arrived (in a kernel: `fast`), and go in one message at most."""

    slice: int = 32
    parcel: int = 4096
    fast: int = 65_536


class Worker:
    """`handle` takes what arrives, `step` does a slice of work after an `Again`."""

    def __init__(self, number: int, workers: int, runner: Runner, pace: Pace | None = None) -> None:
        self.number = number
        self.pace = pace or Pace()
        self.runner, self.memory = runner, runner.memory
        self.peers = tuple(w for w in range(workers) if w != number)
        self.instances = runner.routing.hosted(number)
        self.latest = NOTHING_YET  # the newest version it was told of
        self.waiting: Settle | None = None  # what it will answer to when its host has loaded
        self.early: dict[Version, list[Rows | End]] = {}  # from workers that began before this one
        self.job: Staged | Columnar | Fused | None = None

    def handle(self, event: WorkerEvent) -> list[WorkerCommand]:
        match event:
            case Begin() | BeginColumns() | BeginFused():
                commands = self._begin(event)
            case Rows() | End():
                commands = self._receive(event)
            case Settle():
                commands = self._settle(event)
            case Loaded(version):
                commands = self._loaded(version)
        return self._and_again(commands)

    def alone(self, batch: Batch, version: Version, committed: Version, placed: Placed) -> Outcome:
        """A request that goes through a kernel, at once, on all instances; see `Coordinator.alone`."""
        self.latest = version
        writes = placed.request.entry not in self.runner.readers
        if writes:
            instances = range(self.memory.routing.instances)
            self.memory.settle(instances, committed, version)
            self.memory.open(instances, version)
        try:
            while batch.done < len(placed.request.rows):
                batch.run(self.pace.fast)
        except BaseException as error:
            if writes:
                self.memory.undo()
            return raised(self.runner, placed.request.entry, batch.done, error)
        return Results(batch.results())

    def step(self) -> list[WorkerCommand]:
        """A slice of the work at hand; nothing if it was taken back meanwhile."""
        return [] if self.job is None else self._and_again(self.job.step())

    def _and_again(self, commands: list[WorkerCommand]) -> list[WorkerCommand]:
        """The last command is `Again` exactly while there is work to do."""
        if self.job is not None and self.job.busy:
            commands.append(Again())
        return commands

    @property
    def progress(self) -> float:
        """How much of the epoch at hand is done, from 0 to 1."""
        job = self.job
        return 1.0 if job is None else job.progress

    def _begin(self, begin: Begin | BeginColumns | BeginFused) -> list[WorkerCommand]:
        fused = isinstance(begin, BeginFused)
        instances = range(self.memory.routing.instances) if fused else self.instances
        if begin.version <= self.latest or not self.memory.holds(instances, begin.committed):
            return []  # late, or an instance was lost since this was sent: the coordinator hears of it and begins again
        self.latest = begin.version
        self.memory.settle(instances, begin.committed, begin.version)
        self.memory.open(instances, begin.version)
        early = self.early.pop(begin.version, [])
        self.early = {v: messages for v, messages in self.early.items() if v > begin.version}
        if isinstance(begin, BeginFused):
            self.job = Fused(self, begin)
            return []
        self.job = Staged(self, begin) if isinstance(begin, Begin) else Columnar(self, begin)
        for message in early:
            self.job.arrivals.receive(message)
        self.job.go_on()
        return []

    def _receive(self, message: Rows | End) -> list[WorkerCommand]:
        if isinstance(self.job, Staged | Columnar) and message.version == self.job.version:
            self.job.arrivals.receive(message)
            self.job.go_on()
        elif message.version > self.latest:
            self.early.setdefault(message.version, []).append(message)
        return []

    def _settle(self, settle: Settle) -> list[WorkerCommand]:
        if settle.latest < self.latest:
            return []
        self.latest = settle.latest
        self.early = {v: messages for v, messages in self.early.items() if v > settle.latest}
        self.job = None
        self.memory.settle(self.instances, settle.committed, settle.latest)
        if not self.memory.holds(self.instances, settle.committed):
            self.waiting = settle
            return [Load(settle.committed)]
        self.waiting = None
        return [ToCoordinator(Settled(self.number, settle.committed, settle.latest))]

    def _loaded(self, version: Version) -> list[WorkerCommand]:
        if self.waiting is None or self.waiting.committed != version:
            return []  # it has been told of another since
        settle, self.waiting = self.waiting, None
        return [ToCoordinator(Settled(self.number, settle.committed, settle.latest))]

    def validate(self) -> None:
        """What always holds."""
        law(self.job is None or self.job.version == self.latest, self, "it works for the newest version")
        law(all(v > self.latest for v in self.early), self, "only what is to come is kept for later")

    def __repr__(self) -> str:
        return f"Worker({self.number}, latest={self.latest}, job={self.job})"


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
        for row in self.rows[self.done : self.done + self.worker.pace.slice]:
            try:
                self.runner.run(row, self.plan, self.made)
            except BaseException:
                # Which exception it is will be told by the request alone: here it is enough that there is one.
                self.worker.job = None
                return [ToCoordinator(Failed(self.worker.number, self.version, row.sequence))]
            self.done += 1
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


def raised(runner: Runner, entry: str, row: int, error: BaseException) -> Raised:
    add_note(error, request_note(entry, row, *runner.code.place(entry, error)))
    return Raised(error)


class Columnar:
    """A request, stage by stage, through kernels."""

    def __init__(self, worker: Worker, begin: BeginColumns) -> None:
        self.worker, self.runner = worker, worker.runner
        self.version, self.plan, self.placed = begin.version, begin.plan, begin.placed
        self.arrivals = Arrivals(begin.version)
        self.stage = 0
        self.batches: list[StageBatch] | None = None  # those of this stage, one per instance, once all rows are here
        self.boxes: list[Any] = []  # of results

    @property
    def busy(self) -> bool:
        return self.batches is not None

    def go_on(self) -> None:
        """Start the stage at hand if it waits and all it waits for is here."""
        if self.batches is not None or not self.arrivals.complete(self.stage, self.worker.peers):
            return
        boxes = self.arrivals.take(self.stage)
        self.batches = [
            self.runner.stage(self.placed, self.plan, self.stage, i, [b for b in boxes if b.instance == i])
            for i in self.worker.instances
        ]

    def step(self) -> list[WorkerCommand]:
        if self.batches is None:
            return []
        batch = next((b for b in self.batches if b.done < b.total), None)
        if batch is not None:
            try:
                batch.run(self.worker.pace.fast)
            except BaseException:
                # As in stages of rows: the request alone, fused, says which exception it is.
                self.worker.job = None
                return [ToCoordinator(Failed(self.worker.number, self.version, self.placed.sequence))]
            if any(b.done < b.total for b in self.batches):
                return []
        return self._end_stage(self.batches)

    def _end_stage(self, batches: list[StageBatch]) -> list[WorkerCommand]:
        number, worker_of = self.worker.number, self.runner.routing.worker_of
        leaving: dict[int, list[tuple[int, Any]]] = {peer: [] for peer in self.worker.peers}
        leaving[number] = []
        for batch in batches:
            for box in batch.boxes():
                if box.flow < 0:
                    self.boxes.append(box)
                else:
                    stage = self.plan.stage_of[self.runner.graph.flow(box.flow).target]
                    leaving[worker_of(box.instance)].append((stage, box))
        self.arrivals.add(leaving.pop(number))
        stage, self.stage, self.batches = self.stage, self.stage + 1, None
        if self.stage == self.plan.stages:
            self.worker.job = None
            return [ToCoordinator(Finished(number, self.version, (), tuple(self.boxes)))]
        self.go_on()
        return parcels(self.version, number, stage, leaving, self.worker.pace.parcel)

    @property
    def progress(self) -> float:
        batches = self.batches  # once: another thread may be at the end of the stage
        total = sum(b.total for b in batches) if batches else 0
        share = sum(b.done for b in batches) / total if batches and total else 0.0
        return (self.stage + share) / self.plan.stages


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
        return Results(tuple(results)) if len(results) == len(request.rows) else None

    def _run_batch(self, placed: Placed, batch: Batch) -> Outcome | None:
        before = batch.done
        try:
            batch.run(self.worker.pace.fast)
        except BaseException as error:
            return self._raised(placed, batch.done, error)
        self.done += batch.done - before
        return Results(batch.results()) if batch.done == len(placed.request.rows) else None

    def _raised(self, placed: Placed, row: int, error: BaseException) -> Outcome:
        self.memory.rollback(self.marks)
        return raised(self.runner, placed.request.entry, row, error)

    @property
    def progress(self) -> float:
        return self.done / self.total


def law(holds: bool, machine: object, text: str) -> None:
    if not holds:
        raise IllegalTransition(f"{text}: {machine!r}")
