"""The worker: hosts instances of every state and runs every task on them.

Laws: it works for the newest version it knows of, and drops what belongs to an older one; between `Begin` and the end
of the epoch it says exactly one of `Finished` and `Failed`; what it wrote can be taken back until the next `Begin` or
`Settle` says that it is committed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from anabranch.lang.errors import MemoryFull
from anabranch.runtime.collecting import Collecting, Copies, Guess
from anabranch.runtime.columnar import Columnar
from anabranch.runtime.fused import Fused, raised
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import (
    NOTHING_YET,
    UNKNOWN,
    Again,
    Apply,
    Begin,
    BeginColumns,
    BeginFused,
    Collect,
    End,
    Entries,
    Failed,
    Fetch,
    Finished,
    Load,
    Loaded,
    Numbered,
    Outcome,
    Placed,
    Read,
    Results,
    Rows,
    Settle,
    Settled,
    ToCoordinator,
    ToWorker,
    Version,
    WorkerCommand,
    WorkerEvent,
    law,
)
from anabranch.runtime.reading import Reading
from anabranch.runtime.rows import Batch, Runner
from anabranch.runtime.staged import Staged
from anabranch.state.collected import apply, look_up


@dataclass(frozen=True, slots=True)
class Pace:
    """How many rows run between two looks at what has arrived (in a kernel: `fast`), and go in one message at most."""

    slice: int = 32
    parcel: int = 4096
    fast: int = 65_536


class Worker:
    """`handle` takes what arrives, `step` does a slice of work after an `Again`."""

    def __init__(
        self,
        number: int,
        workers: int,
        runner: Runner,
        pace: Pace | None = None,
        copies: Copies | None = None,
    ) -> None:
        """`copies` are for what others hold, where they are in other address spaces."""
        self.number = number
        self.copies = copies
        self.pace = pace or Pace()
        assert isinstance(runner.memory, Memory)
        self.runner, self.memory = runner, runner.memory
        self.peers = tuple(w for w in range(workers) if w != number)
        self.instances = runner.routing.hosted(number)
        self.latest = NOTHING_YET  # the newest version it was told of
        self.waiting: Settle | None = None  # what it will answer to when its host has loaded
        self.early: dict[Version, list[Rows | End]] = {}  # from workers that began before this one
        self.job: Staged | Columnar | Fused | Collecting | Reading | None = None
        self.questions = 0  # that it has asked others
        self.reads = 0  # the newest order to read that it was given
        self.applied = NOTHING_YET  # the newest version whose effects it has been given

    @cached_property
    def guess(self) -> Guess:
        """For rows that run where what rows before them wrote is not here; see `collecting`."""
        assert self.copies is not None
        return Guess(self.runner, self.copies)

    def handle(self, event: WorkerEvent) -> list[WorkerCommand]:
        match event:
            case Begin() | BeginColumns() | BeginFused():
                commands = self._begin(event)
            case Rows() | End():
                commands = self._receive(event)
            case Collect():
                commands = self._collect(event)
            case Read():
                commands = self._read(event)
            case Fetch():
                commands = self._look_up(event)
            case Entries(version):
                if isinstance(self.job, Collecting | Reading) and version == self.job.version:
                    self.job.receive(event)
                commands = []
            case Apply():
                commands = self._apply(event)
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
        if isinstance(begin, BeginColumns):
            rows: Any = begin.placed.request.rows
            self.job = Staged(self, self._as_rows(begin, rows)) if isinstance(rows, Numbered) else Columnar(self, begin)
        else:
            self.job = Staged(self, begin)
        for message in early:
            self.job.arrivals.receive(message)
        self.job.go_on()
        return []

    # -- collected epochs: see `collecting` ---------------------------------------------------------------------

    def _collect(self, begin: Collect) -> list[WorkerCommand]:
        if begin.version > self.latest and self.rest(begin.version, begin.committed):
            self.job = Collecting(self, begin)
        return []

    def _read(self, order: Read) -> list[WorkerCommand]:
        if order.number > self.reads and self.rest(order.version, order.committed):
            self.reads, self.job = order.number, Reading(self, order)
        return []

    def rest(self, version: Version, committed: Version) -> bool:
        """Hold what is committed and run nothing, for a version of which others know more; False if that is late."""
        if version < self.latest or not self.memory.holds(self.instances, committed):
            return False
        if version > self.latest:
            self.latest, self.job = version, None
            self.early = {v: messages for v, messages in self.early.items() if v > version}
        if self.applied != version:
            self.memory.settle(self.instances, committed, version)
        return True

    def _look_up(self, fetch: Fetch) -> list[WorkerCommand]:
        if self.applied == fetch.version or not self.rest(fetch.version, fetch.committed):
            return []
        of_instance, states = self.memory.of_instance, self.runner.states
        found = tuple((w, look_up(states[w.state], of_instance[w.instance][w.state], w)) for w in fetch.wants)
        return [ToWorker(fetch.collector, Entries(fetch.version, fetch.collector, self.number, fetch.round, found))]

    def _apply(self, given: Apply) -> list[WorkerCommand]:
        if self.applied == given.version or not self.rest(given.version, given.committed):
            return []
        self.applied = given.version
        self.memory.open(self.instances, given.version)
        try:
            for instance, effects in given.effects:
                for effect in effects:
                    self._apply_one(instance, effect)
                    self.memory.refuse_excess([instance])
        except MemoryFull as error:
            return [ToCoordinator(Failed(self.number, given.version, UNKNOWN, str(error)))]
        return [ToCoordinator(Finished(self.number, given.version, ()))]

    def _apply_one(self, instance: int, effect: Any) -> None:
        state = self.runner.states[effect[0]]
        apply(state, self.memory.of_instance[instance][state.name], effect)

    def _as_rows(self, begin: BeginColumns, numbered: Numbered) -> Begin:
        """A request that has no kernels here: of each row what starts at this worker."""
        start = self.runner.starts[begin.placed.request.entry]
        made = [row for sequence, values in numbered.rows for row in start.rows(sequence, values)]
        own = tuple([row for row in made if row.instance in self.instances])
        return Begin(begin.version, begin.committed, begin.plan, own)

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
