"""Coordinator and workers without their hosts: all machines in one process, messages by one queue, first in, first out.

What a message costs to carry is no part of it: each goes through the codec of the real connections and is counted, by
its kind, with its bytes. Nothing is lost, late or twice; for that there is `tests/simulation`.

The workers share one memory, as threads do, since a machine touches only its own instances: a thousand memories of a
thousand instances would not fit. The coordinator does not know, and tells them what it tells workers that are apart.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anabranch as ab
from anabranch.drivers.pieces import length_of
from anabranch.drivers.wire import Wire
from anabranch.kernels import PythonCode
from anabranch.lang.spec import describe
from anabranch.runtime.backlog import Backlog, Limits
from anabranch.runtime.collecting import Copies
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import (
    DRIVER,
    Again,
    Collect,
    Joined,
    Load,
    Loaded,
    Lost,
    Outcome,
    Raised,
    Reply,
    Request,
    Results,
    Submit,
    ToCoordinator,
    ToWorker,
)
from anabranch.runtime.routing import spread_evenly
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker

COORDINATOR = -3
HERE = (COORDINATOR, DRIVER)  # one process: what they tell each other is not carried
STRAIGHT = Limits(fused_rows=-1)  # as for workers that are apart: a call runs in stages, as a batch does


@dataclass(slots=True)
class Traffic:
    """Messages that leave a process and their bytes, by kind, and how many the busiest worker has sent or received."""

    messages: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    by_worker: Counter[int] = field(default_factory=Counter)
    at_coordinator: int = 0

    def add(self, source: int, target: int, kind: str, size: int) -> None:
        self.messages[kind] += 1
        self.bytes[kind] += size
        for end in (source, target):
            if end in HERE:
                self.at_coordinator += 1
            else:
                self.by_worker[end] += 1

    @property
    def busiest(self) -> int:
        return max(self.by_worker.values(), default=0)


class Machines:
    """`run` lets one request run to its end; `counted` says what was sent meanwhile."""

    def __init__(self, program: ab.Program, workers: int, wired: bool = True) -> None:
        """Without `wired` messages are handed over as they are, and nothing is counted."""
        self.graph, self.program, self._wired = ab.compile(type(program)), program, wired
        self.routing = spread_evenly(workers)
        self.memory = Memory(self.graph, program, self.routing)
        specs = dict(describe(type(program)).entries)
        self.runner = Runner(self.graph, PythonCode(self.graph, program), self.memory, specs)
        self.wire = Wire(self.graph)
        self.coordinator = Coordinator(workers, Backlog(self.graph, STRAIGHT), self.runner.starts, apart=True)
        self.workers = [Worker(n, workers, self.runner) for n in range(workers)]
        self.driver = Worker(DRIVER, workers, self.runner, None, Copies(self.graph, program, self.routing))
        self.traffic = Traffic()
        self._queue: deque[tuple[int, int, Any]] = deque()
        self._again: deque[int] = deque()
        self._replies: dict[int, Outcome] = {}
        self._number = 0

    def join(self) -> None:
        """All workers have started: the coordinator hears of one after the other, as its host tells it."""
        for worker in range(len(self.workers)):
            self._coordinate(Joined(worker))
        self._carry_on()

    def run(self, entry: str, rows: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """One request, and what it gives."""
        number = self.submit(entry, rows)
        self._carry_on()
        return self._answer(number)

    def submit(self, entry: str, rows: Sequence[tuple[Any, ...]]) -> int:
        self._number += 1
        self._coordinate(Submit(Request(self._number, entry, rows)))
        return self._number

    def run_with_loss(self, entry: str, rows: Sequence[tuple[Any, ...]], lost: int) -> Sequence[Any]:
        """The same, where a worker is lost when the request has begun, and another with its state takes its place."""
        kept = dict(self.memory.of_instance[lost])
        number = self.submit(entry, rows)
        self._queue = deque(message for message in self._queue if lost not in message[:2])
        committed = self.coordinator.committed
        self.memory.settle([lost], committed, committed)
        self.memory.forget([lost])
        self.workers[lost] = Worker(lost, len(self.workers), self.runner)
        self._coordinate(Lost(lost))
        self._carry_on()
        self._restored = kept
        self._coordinate(Joined(lost))
        self._carry_on()
        return self._answer(number)

    @contextmanager
    def counted(self) -> Iterator[Traffic]:
        self.traffic = found = Traffic()
        yield found
        self.traffic = Traffic()

    # -- one thing after the other ------------------------------------------------------------------------------

    def _answer(self, number: int) -> Sequence[Any]:
        outcome = self._replies.pop(number)
        if isinstance(outcome, Raised):
            raise outcome.error
        assert isinstance(outcome, Results)
        return outcome.values  # type: ignore[return-value]

    def _carry_on(self) -> None:
        """Until nobody has anything to do."""
        while self._queue or self._again:
            if self._queue:
                source, target, message = self._queue.popleft()
                self._deliver(target, self._carried(source, target, message))
            else:
                # The last first: a worker looks for the end mark of the first, which then comes last, and not through
                # all that are there at each that comes. That would take the cube of the workers, and counts nothing.
                machine = self._at(self._again.pop())
                self._obey(machine, machine.step())

    def _carried(self, source: int, target: int, message: Any) -> Any:
        if not self._wired or source == target or (source in HERE and target in HERE):
            return message
        data = self.wire.encode(message)
        self.traffic.add(source, target, type(message).__name__, length_of(data))
        return self.wire.decode(data if isinstance(data, bytes) else b"".join(data))

    def _deliver(self, target: int, message: Any) -> None:
        if target == COORDINATOR:
            self._coordinate(message)
            return
        machine = self._at(target)
        if isinstance(message, Collect) and machine.copies is None:
            machine.copies = Copies(self.graph, self.program, self.routing)
        self._obey(machine, machine.handle(message))

    def _at(self, worker: int) -> Worker:
        return self.driver if worker == DRIVER else self.workers[worker]

    def _obey(self, machine: Worker, commands: Sequence[Any]) -> None:
        for command in commands:
            match command:
                case ToWorker(target, message):
                    self._queue.append((machine.number, target, message))
                case ToCoordinator(message):
                    self._queue.append((machine.number, COORDINATOR, message))
                case Again():
                    self._again.append(machine.number)
                case Load(version):
                    self.memory.put(machine.number, self._restored, version)
                    self._obey(machine, machine.handle(Loaded(version)))

    def _coordinate(self, event: Any) -> None:
        for command in self.coordinator.handle(event):
            match command:
                case ToWorker(target, message):
                    self._queue.append((COORDINATOR, target, message))
                case Reply(number, outcome):
                    self._replies[number] = outcome
