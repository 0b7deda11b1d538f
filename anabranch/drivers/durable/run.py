"""A run that is saved, from opening the location to closing it: with all state in this process, or at its workers."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from anabranch.drivers.apart import Apart
from anabranch.drivers.clock import Clock
from anabranch.drivers.desk import Desk
from anabranch.drivers.durable.copying import Copying
from anabranch.drivers.durable.labels import Labels
from anabranch.drivers.durable.marks import Mark, Marks, in_json
from anabranch.drivers.durable.opening import open_checkpoint, open_new
from anabranch.drivers.durable.owns import Owns
from anabranch.drivers.durable.restoring import restore
from anabranch.drivers.durable.saver import COORDINATOR, Saver
from anabranch.drivers.durable.settings import At, Recovery, Saving
from anabranch.drivers.durable.snapshots import Here, Hold, Snapshots, Source
from anabranch.drivers.host_messages import SavedAt
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.shipping import fingerprint
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.lang.distribution import Distribution
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Version
from anabranch.runtime.routing import Routing
from anabranch.state.changes import Change
from anabranch.state.checkpoint.errors import Fenced
from anabranch.state.checkpoint.recovery import Found, find
from anabranch.state.checkpoint.snapshots import Chunk

log = logging.getLogger(__name__)


class Saved:
    """What all of them have in common."""

    def __init__(
        self,
        saving: Saving,
        graph: Graph,
        program: Program,
        workers: int,
        marks: Marks,
        clock: Clock,
        at: At | None = None,
    ) -> None:
        """With `at` the state is there already, and the location is to be a new one."""
        self._saving, self._graph, self._program, self._marks, self._clock = saving, graph, program, marks, clock
        self._start = perf_counter()
        self._opened = opened = open_new(saving, graph, at) if at else open_checkpoint(saving, graph, program, workers)
        self.found = opened.found
        self.routing, self.version, self.sequence = opened.routing, opened.version, opened.sequence
        self.recovery: Recovery | None = None
        self._own = Owns(graph)
        self.saver = Saver(saving, opened.location, opened.generation, graph)
        self.labels = Labels(graph, opened.routing.instance_of_bucket, opened.routing)
        for mark in _marks_in(opened.found):
            marks.add(mark)

    def _restored(self) -> None:
        opened, found = self._opened, self.found
        if found is not None:
            rows = sum([chunk.rows for chunk in found.snapshot.chunks])
            epochs = sum([len(span.commits) for span in found.spans])
            spent, instances = perf_counter() - self._start, found.instances
            where, version = opened.location.name, opened.version.epoch
            self.recovery = Recovery(where, version, rows, epochs, instances, spent, tuple(opened.notes))
            log.info("%s", self.recovery)

    def _begin(self, desk: Desk, hold: Hold, source: Source) -> None:
        opened, coordinator, graph = self._opened, desk.coordinator, self._graph

        def now() -> tuple[Version, int]:
            return coordinator.committed, coordinator.sequence

        desk.saver = self.saver
        self.snapshots = Snapshots(
            self.saver, source, self.labels, graph.name, fingerprint(graph), hold, now, self._marks, self._clock
        )
        made = self.snapshots.first() if opened.must_save(graph) else None
        self.saver.log.open_piece()  # before the base says that it is there
        opened.generation.check()
        opened.generation.begin(opened.base(made))
        self.saver.changed = opened.version.epoch
        self.snapshots.start(self.saver.changed if self.found is None or made else self.found.snapshot.version)

    def past(self, name: str, version: int) -> Memory:
        """A state as it was after an epoch, as far back as snapshots and logs are kept."""
        found = find(self._opened.location, to_version=version)
        if found is None or (found.version < version and not self.saver.always):
            kept = "none" if found is None else f"{found.version}"
            raise ValueError(f"version {version} is not saved; the last before it is {kept}")
        instances = found.instances
        memory = Memory(self._graph, None, Routing(found.snapshot.instance_of_bucket, (0,) * instances))
        at = Version(found.version, found.attempt)
        restore(found, at, self._graph, self._program, memory, self._own, None, range(instances), only=name)
        return memory

    def stop(self, in_peace: bool) -> None:
        """The last snapshot, if there is to be one: an end in peace loses nothing."""
        self.snapshots.stop(in_peace)

    def close(self, in_peace: bool) -> None:
        """Nothing more comes. What ended in peace says where its log ends, so that what is cut off later is missed."""
        self.saver.log.close()
        if in_peace:
            try:
                self.saver.end()
            except (Fenced, OSError) as error:  # what was acknowledged is on disk without it
                log.warning("the end of the run could not be noted: %s", error)


class SavedHere(Saved):
    """All state is in this process."""

    def restore(self, memory: Memory, kernels: Kernels | None) -> None:
        self._memory = memory
        if self.found is not None:
            hosted = range(self.routing.instances)
            restore(self.found, self.version, self._graph, self._program, memory, self._own, kernels, hosted, True)
        self._restored()

    def begin(self, desk: Desk, hold: Hold) -> None:
        """From now on epochs are logged."""
        self._begin(desk, hold, Here(self.saver, self._memory, self._own, self.labels))

    def epoch(self, version: Version, sequence: int, changes: Sequence[Change], marks: Sequence[Mark]) -> None:
        """Before it is committed."""
        self.saver.commit(version, sequence, self.labels.changes(changes), (), marks)

    def switch(self, memory: Memory) -> None:
        """From now on state is there. For whoever holds it, while no snapshot is made."""
        self._memory, self.labels.routing = memory, memory.routing
        self.snapshots.source = Here(self.saver, memory, self._own, self.labels)

    def begun(self, version: Version, sequence: int, before: int) -> None:
        """Log what new partial instances start from, if there are any."""
        memory = self._memory
        new = range(before, memory.routing.instances)
        changes = [*Copying(self._graph, memory, self._own, new).all_of(Distribution.PARTIAL)]
        self.saver.commit(version, sequence, changes, (), (), memory.routing.instances if new else 0)


class SavedApart(Saved):
    """Each worker saves its own."""

    @property
    def at(self) -> SavedAt:
        where = self._saving.where
        paths = tuple([_absolute(path) for path in (where if isinstance(where, list | tuple) else [where])])
        found = 0 if self.found is None else self.found.history.number
        labels = self._opened.routing.instance_of_bucket
        return SavedAt(paths, self._saving.fence, self._opened.generation.number, found, self.saver.always, labels)

    def begin(self, driver: Apart) -> None:
        """All workers have their state: from now on epochs are logged."""
        self._restored()
        self._begin(driver.desk, driver.hold, _AtWorkers(driver))
        driver.stands_on = self._opened.generation.number

    def epoch(self, version: Version, sequence: int, writers: Sequence[str], marks: Sequence[Mark]) -> None:
        self.saver.commit(version, sequence, (), writers, marks)

    def switch(self, routing: Routing) -> None:
        """From now on keys are there. For whoever holds the state, while no snapshot is made."""
        self.labels.routing = routing

    def begun(self, version: Version, sequence: int, before: int, writers: Sequence[str]) -> None:
        """New partial instances start from what is in these logs, if there are any."""
        instances = self.labels.routing.instances
        self.saver.commit(version, sequence, (), writers, (), instances if instances > before else 0)


def _marks_in(found: Found | None) -> Iterator[Mark]:
    """What was remembered, the last of a name last."""
    if found is None:
        return
    yield from in_json(found.snapshot.extra.get("marks", ()))
    for frame in found.frames([COORDINATOR]):
        yield from frame.head.get("marks", ())


def _absolute(path: Any) -> str:
    named: str = os.fspath(path)
    return named if "://" in named else str(Path(named).absolute())


class _AtWorkers:
    """A snapshot to which every worker contributes what it has."""

    def __init__(self, driver: Apart) -> None:
        self._driver = driver

    def begin(self, epoch: int) -> None:
        self._epoch, self._pieces = epoch, dict[str, int]()
        self._spent, self._spent_by = 0.0, dict[int, float]()  # seconds of writing
        self._more = set(range(self._driver.routing.workers))
        self._copy(beginning=True)

    def copy(self) -> bool:
        return self._copy(beginning=False)

    def _copy(self, beginning: bool) -> bool:
        for worker, told in self._driver.copy(self._epoch, self._more).items():
            # One that has come in the place of another since: all of its log is after the beginning.
            self._pieces.setdefault(told.writer, told.piece if beginning else 0)
            self._spent_by[worker] = told.spent
            if not told.more:
                self._more.discard(worker)
        return bool(self._more)

    def write(self) -> float:
        """They do so themselves; gives what it took the slowest of them."""
        before, self._spent = self._spent, max(self._spent_by.values(), default=0.0)
        return max(0.0, self._spent - before)

    def finish(self) -> tuple[list[Chunk], dict[str, int]]:
        told = self._driver.keep(self._epoch, True)
        return [Chunk(*chunk) for kept in told.values() for chunk in kept.chunks], self._pieces

    def abandon(self) -> None:
        self._driver.keep(self._epoch, False)
