"""What the machines of any number of workers tell each other: the real coordinator and workers, without hosts.

Messages are handed over in order, in one process, so a thousand workers take as long as their messages. Those between
two workers, or a worker and the coordinator, would cross a network; they are counted by kind, and what the busiest of
them sends and gets, which is what bounds a run.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import anabranch as ab
from anabranch.kernels import PythonCode
from anabranch.lang.spec import describe
from anabranch.runtime.backlog import Backlog, Limits
from anabranch.runtime.collecting import Copies
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Again, Joined, Load, Loaded, Reply, Request, Submit, ToCoordinator, ToWorker
from anabranch.runtime.routing import spread_evenly
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker

COORDINATOR = -2


@dataclass
class Counted:
    """Messages by kind, and how many each machine sent and got; the coordinator's are under `COORDINATOR`."""

    kinds: Counter[str] = field(default_factory=Counter)
    at: Counter[int] = field(default_factory=Counter)

    def add(self, source: int, target: int, message: Any) -> None:
        self.kinds[type(message).__name__] += 1
        self.at[source] += 1
        self.at[target] += 1

    @property
    def total(self) -> int:
        return self.kinds.total()

    @property
    def coordinator(self) -> int:
        return self.at[COORDINATOR]

    @property
    def busiest_worker(self) -> int:
        return max((n for machine, n in self.at.items() if machine >= 0), default=0)


class Fleet:
    """Workers of a program, each with an address space to itself, and their coordinator."""

    def __init__(self, program: type[ab.Program], workers: int) -> None:
        routing, graph, made = spread_evenly(workers), ab.compile(program), program()
        code, specs = PythonCode(graph, made), dict(describe(program).entries)
        runners = [Runner(graph, code, Memory(graph, made, routing), specs) for _ in range(workers)]
        self.workers = [Worker(n, workers, r, None, Copies(graph, made, routing)) for n, r in enumerate(runners)]
        self.coordinator = Coordinator(workers, Backlog(graph, Limits()), runners[0].starts, True)
        self.counted = Counted()
        self._mail: deque[tuple[int, int, Any]] = deque()
        self._numbers = 0
        self._replies: dict[int, Any] = {}
        for worker in range(workers):
            self._told(self.coordinator.handle(Joined(worker)))
        self._deliver()

    def ask(self, entry: str, rows: Iterable[tuple[Any, ...]]) -> tuple[Any, Counted]:
        """The outcome of a request that is alone, and what it took."""
        self.counted = Counted()
        self._numbers += 1
        self._told(self.coordinator.handle(Submit(Request(self._numbers, entry, tuple(rows)))))
        self._deliver()
        return self._replies.pop(self._numbers), self.counted

    def _send(self, source: int, target: int, message: Any) -> None:
        self.counted.add(source, target, message)
        self._mail.append((source, target, message))

    def _told(self, commands: Iterable[Any]) -> None:
        for command in commands:
            match command:
                case ToWorker(target, message):
                    self._send(COORDINATOR, target, message)
                case Reply(number, outcome):
                    self._replies[number] = outcome

    def _deliver(self) -> None:
        while self._mail:
            _, target, message = self._mail.popleft()
            if target == COORDINATOR:
                self._told(self.coordinator.handle(message))
            else:
                self._work(self.workers[target], self.workers[target].handle(message))

    def _work(self, machine: Worker, commands: list[Any]) -> None:
        while commands:
            again = False
            more: list[Any] = []
            for command in commands:
                match command:
                    case ToWorker(target, message):
                        self._send(machine.number, target, message)
                    case ToCoordinator(message):
                        self._send(machine.number, COORDINATOR, message)
                    case Load(version):
                        more += machine.handle(Loaded(version))
                    case Again():
                        again = True
            commands = [*more, *(machine.step() if again else [])]
