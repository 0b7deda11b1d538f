"""The world in which the machines live: a network, hosts that crash, clients, and one seeded scheduler.

At every step the scheduler does one thing that could happen: deliver a message, let a worker work, let a client ask, or
let something go wrong. The same seed gives the same story.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from anabranch.drivers.wire import Wire
from anabranch.kernels import PythonCode
from anabranch.lang.marks import copy_state
from anabranch.lang.spec import describe
from anabranch.runtime.backlog import Backlog
from anabranch.runtime.collecting import Copies
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import (
    DRIVER,
    NOTHING_YET,
    Again,
    Committed,
    CoordinatorEvent,
    Finished,
    FinishedFused,
    Grant,
    Hold,
    Joined,
    Load,
    Loaded,
    Lost,
    Outcome,
    Ran,
    Release,
    Reply,
    Request,
    Settle,
    Stalled,
    Submit,
    ToCoordinator,
    ToWorker,
    Version,
    Withdraw,
    Withdrawn,
)
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker
from tests.simulation.cases import Case, Rows

MOST_STEPS = 8_000
COORDINATOR = -2
Content = dict[str, Any]  # of one instance, by state


@dataclass
class Client:
    """Asks one request after the other, and sometimes looks at all state."""

    number: int
    todo: list[tuple[str, Rows]]
    waiting: int | None = None


@dataclass
class Asked:
    """A request as its client sees it. `after` is how many requests had been answered when it was asked."""

    request: Request
    after: int
    outcome: Outcome | None = None
    withdrawn: bool = False


@dataclass
class Look:
    """All state as a client saw it, after so many requests had run."""

    ran: int
    instances: list[Content]


class Stuck(AssertionError):
    """Nothing ends any more."""


@dataclass
class World:
    case: Case
    story: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        case, routing = self.case, self.case.routing
        self.rng, self.faults = case.rng, case.faults
        self.budget = self.faults.budget
        self.program = case.program()
        self.code, self.specs = PythonCode(case.graph, self.program), dict(describe(case.program).entries)
        self.memory = Memory(case.graph, self.program, routing)  # of all workers, or what they begin with
        self.runner = Runner(case.graph, self.code, self.memory, self.specs)
        self.workers: list[Worker | None] = [self._machine(w) for w in range(routing.workers)]
        self.driver = self._machine(DRIVER)
        self.wire = Wire(case.graph)
        self.ghosts: list[tuple[Worker, list[Any]]] = []  # workers given up for lost that go on, and their mail
        self.coordinator = Coordinator(
            routing.workers, Backlog(case.graph, case.limits), self.runner.starts, case.apart
        )
        self.network: dict[tuple[int, int], list[Any]] = {}  # (from, to) -> messages on the way
        self.limbo: list[tuple[int, tuple[int, int], Any]] = []  # steps until a delayed message is on the way again
        self.again: set[int] = set()
        self.loading: dict[int, Version] = {}
        self.sleeping: dict[int, int] = {}  # worker -> steps it will not be scheduled
        self.hosts: list[CoordinatorEvent] = []  # what hosts have to tell, in order
        self.disk: dict[Version, dict[int, Content]] = {}
        self.clients = [Client(n, list(todo)) for n, todo in enumerate(case.clients)]
        self.asked: dict[int, Asked] = {}
        self.ran: list[Ran] = []
        self.answered = 0
        self.looks: list[Look] = []
        self.numbers = iter(range(1, 1_000_000))
        self._save(NOTHING_YET, range(routing.instances), self.memory)
        if case.apart:
            self.hosts += [Joined(w) for w in range(routing.workers)]

    def _machine(self, worker: int) -> Worker:
        """A worker that starts: on the memory that all of them share, or with nothing in its own."""
        case = self.case
        if not case.apart:
            return Worker(worker, case.routing.workers, self.runner, case.pace)
        runner = Runner(case.graph, self.code, Memory(case.graph, None, case.routing), self.specs)
        copies = Copies(case.graph, self.program, case.routing)
        return Worker(worker, case.routing.workers, runner, case.pace, copies)

    # -- the scheduler ------------------------------------------------------------------------------------------

    def run(self) -> None:
        for _ in range(MOST_STEPS):
            if self.coordinator.idle and self._all_here() and not any(c.todo or c.waiting for c in self.clients):
                self._at_rest(self.coordinator.committed)
                return
            self._tick()
            self._validate()
        raise Stuck(f"after {MOST_STEPS} steps clients still wait: {self.coordinator!r}")

    def _tick(self) -> None:
        mishap = self._mishap()
        if mishap is not None:
            self.budget -= 1
            mishap()
            return
        late = [(steps - 1, channel, message) for steps, channel, message in self.limbo]
        self.limbo = [item for item in late if item[0] > 0]
        for _, channel, message in (item for item in late if item[0] <= 0):
            self._send(*channel, message)
        self.sleeping = {w: n - 1 for w, n in self.sleeping.items() if n > 1}
        actions: list[Callable[[], None]] = []
        actions += [lambda c=c: self._deliver(c) for c, m in self.network.items() if m and self._reachable(c[1])]
        actions += [lambda w=w: self._work(w) for w in sorted(self.again) if w not in self.sleeping]
        actions += [lambda w=w: self._load(w) for w in sorted(self.loading)]
        actions += [lambda c=c: self._ask(c) for c in self.clients if c.waiting is None and c.todo]
        actions += [self._hear] if self.hosts else []
        actions += [lambda g=g: self._haunt(*g) for g in self.ghosts if g[1] or (g[0].job and g[0].job.busy)]
        actions += [lambda w=w: self._restart(w) for w, m in enumerate(self.workers) if m is None]
        if actions:
            self.rng.choice(actions)()
        elif self.sleeping or self.limbo:
            return  # time goes by
        else:
            self._tell("nothing moves: the coordinator is told")
            self._coordinate(Stalled())

    def _mishap(self) -> Callable[[], None] | None:
        if self.budget <= 0:
            return None
        faults, rng = self.faults, self.rng
        alive = [w for w, machine in enumerate(self.workers) if machine is not None]
        on_the_way = [c for c, messages in self.network.items() if messages]
        orders = [c for c in on_the_way if any(isinstance(m, Settle) for m in self.network[c])]
        waiting = [c for c in self.clients if c.waiting is not None]
        for likelihood, possible, mishap in (
            (faults.drop, on_the_way, self._drop),
            (faults.repeat, on_the_way, self._repeat),
            (faults.delay, on_the_way, self._delay),
            (faults.repeat, orders, self._repeat_order),
            (faults.crash, alive, self._crash),
            (faults.crash if self.case.apart else 0.0, alive, self._give_up_for_lost),
            (faults.drop / 3 if self.case.apart else 0.0, on_the_way, self._break_off),
            (faults.stall, alive, self._sleep),
            (faults.abort * (5 if self.limbo else 1), [True], self._abort),
            (faults.withdraw, waiting, self._give_up),
        ):
            if possible and rng.random() < likelihood:
                return partial(mishap, rng.choice(possible))  # type: ignore[arg-type]
        return None

    def _reachable(self, target: int) -> bool:
        if target in (COORDINATOR, DRIVER):
            return True
        return self.workers[target] is not None and target not in self.sleeping

    # -- what goes well -----------------------------------------------------------------------------------------

    def _deliver(self, channel: tuple[int, int]) -> None:
        messages = self.network[channel]
        at = self.rng.randrange(len(messages)) if self.rng.random() < self.faults.shuffle else 0
        message = messages.pop(at)
        if self.case.apart and max(channel) >= 0:
            message = self.wire.decode(self.wire.encode(message))
        self._tell(f"{_name(channel[0])} -> {_name(channel[1])}: {_brief(message)}")
        if channel[1] == COORDINATOR:
            self._coordinate(message)
        else:
            machine = self._at(channel[1])
            assert machine is not None
            self._obey(machine, machine.handle(message))

    def _at(self, worker: int) -> Worker | None:
        return self.driver if worker == DRIVER else self.workers[worker]

    def _work(self, worker: int) -> None:
        machine = self._at(worker)
        if machine is not None:
            self._tell(f"worker {worker} works")
            self._obey(machine, machine.step())

    def _obey(self, machine: Worker, commands: list[Any]) -> None:
        if machine is self._at(machine.number):
            self.again.discard(machine.number)
        for command in commands:
            match command:
                case ToWorker(target, message):
                    self._send(machine.number, target, message)
                case ToCoordinator(message):
                    if isinstance(message, Finished):
                        self._save(message.version, machine.instances, machine.memory)
                    elif isinstance(message, FinishedFused) and not self.case.apart:
                        self._save(message.version, range(self.case.routing.instances), self.memory)
                    self._send(machine.number, COORDINATOR, message)
                case Again() if machine is self._at(machine.number):
                    self.again.add(machine.number)
                case Load(version) if machine is self._at(machine.number):
                    self.loading[machine.number] = version

    def _coordinate(self, event: CoordinatorEvent) -> None:
        for command in self.coordinator.handle(event):
            match command:
                case ToWorker(target, message):
                    self._send(COORDINATOR, target, message)
                case Committed(version, ran, stages):
                    self._tell(f"version {version} is committed: {[r.request.number for r in ran]}")
                    self.ran += ran
                    if not stages:  # a client has written, and nobody works
                        for memory, instances in self._memories():
                            memory.commit(version)
                            self._save(version, instances, memory)
                    self.disk = {v: saved for v, saved in self.disk.items() if v == version}
                case Reply(number, outcome):
                    self._answer(number, outcome, False)
                case Withdrawn(number):
                    self._answer(number, None, True)
                case Grant(number):
                    self._look(number)

    def _send(self, source: int, target: int, message: Any) -> None:
        self.network.setdefault((source, target), []).append(message)

    # -- clients ------------------------------------------------------------------------------------------------

    def _ask(self, client: Client) -> None:
        number = client.waiting = next(self.numbers)
        if self.rng.random() < 0.12:
            self._tell(f"client {client.number} asks to look at all state ({number})")
            self._coordinate(Hold(number))
            return
        entry, rows = client.todo.pop(0)
        request = Request(number, entry, rows)
        self.asked[number] = Asked(request, self.answered)
        self._tell(f"client {client.number} asks {entry} of {len(rows)} rows ({number})")
        self._coordinate(Submit(request))

    def _answer(self, number: int, outcome: Outcome | None, withdrawn: bool) -> None:
        self._tell(f"request {number} {'is withdrawn' if withdrawn else f'is answered: {_brief(outcome)}'}")
        for client in self.clients:
            if client.waiting == number:
                client.waiting = None
        if number in self.asked:
            asked = self.asked[number]
            assert asked.outcome is None and not asked.withdrawn, f"request {number} is answered twice"
            asked.outcome, asked.withdrawn = outcome, withdrawn
            self.answered = max(self.answered, len(self.ran))

    def _look(self, number: int) -> None:
        self._answer(number, None, False)
        if self._all_here():
            copies = [
                {n: copy_state(p) for n, p in content.items()} for content in self._at_rest(self.coordinator.committed)
            ]
            self.looks.append(Look(len(self.ran), copies))
        self._coordinate(Release(number, self._all_here() and self.rng.random() < 0.5))

    def _all_here(self) -> bool:
        if None in self.workers:
            return False
        return all(memory.of_instance[i] for memory, instances in self._memories() for i in instances)

    def _memories(self) -> list[tuple[Memory, Any]]:
        """All memory, with the instances that are in it."""
        if not self.case.apart:
            return [(self.memory, range(self.case.routing.instances))]
        return [(machine.memory, machine.instances) for machine in self.workers if machine is not None]

    def _at_rest(self, committed: Version) -> list[Content]:
        found: dict[int, Content] = {}
        for memory, instances in self._memories():
            memory.settle(instances, committed, committed)
            found |= {i: memory.of_instance[i] for i in instances}
        return [found[i] for i in range(self.case.routing.instances)]

    # -- hosts --------------------------------------------------------------------------------------------------

    def _save(self, version: Version, instances: Any, memory: Memory) -> None:
        saved = self.disk.setdefault(version, {})
        for i in instances:
            saved[i] = {name: copy_state(part) for name, part in memory.of_instance[i].items()}

    def _load(self, worker: int) -> None:
        version = self.loading.pop(worker)
        machine = self.workers[worker]
        if machine is None or version not in self.disk:
            return  # it asked before the version it will be told of next was decided
        self._tell(f"worker {worker} loads version {version}")
        for i in machine.instances:
            machine.memory.put(i, {name: copy_state(part) for name, part in self.disk[version][i].items()}, version)
        self._obey(machine, machine.handle(Loaded(version)))

    def _hear(self) -> None:
        event = self.hosts.pop(0)
        self._tell(f"the coordinator hears {event}")
        self._coordinate(event)

    def _restart(self, worker: int) -> None:
        self._tell(f"worker {worker} starts again")
        self.workers[worker] = self._machine(worker)
        if self.rng.random() < 0.12:  # back before anyone noticed
            with contextlib.suppress(ValueError):
                self.hosts.remove(Lost(worker))
        self.hosts.append(Joined(worker))

    # -- what goes wrong ----------------------------------------------------------------------------------------

    def _drop(self, channel: tuple[int, int]) -> None:
        message = self.network[channel].pop(self.rng.randrange(len(self.network[channel])))
        self._tell(f"LOST {_name(channel[0])} -> {_name(channel[1])}: {_brief(message)}")

    def _repeat(self, channel: tuple[int, int]) -> None:
        message = self.rng.choice(self.network[channel])
        self.limbo.append((self.rng.choice((1, 1, 5, 40, 200)), channel, message))
        self._tell(f"TWICE {_name(channel[0])} -> {_name(channel[1])}: {_brief(message)}")

    def _repeat_order(self, channel: tuple[int, int]) -> None:
        """There are few of these, and they do harm when they come once more in the middle of what followed."""
        message = next(m for m in self.network[channel] if isinstance(m, Settle))
        self.limbo.append((self.rng.choice((5, 10, 20, 40, 80)), channel, message))
        self._tell(f"TWICE {_name(channel[0])} -> {_name(channel[1])}: {_brief(message)}")

    def _delay(self, channel: tuple[int, int]) -> None:
        message = self.network[channel].pop(self.rng.randrange(len(self.network[channel])))
        self.limbo.append((self.rng.choice((5, 40, 200)), channel, message))
        self._tell(f"LATE {_name(channel[0])} -> {_name(channel[1])}: {_brief(message)}")

    def _crash(self, worker: int) -> None:
        machine = self.workers[worker]
        assert machine is not None
        self._tell(f"CRASH of worker {worker}")
        self.workers[worker] = None
        self.again.discard(worker)
        self.loading.pop(worker, None)
        self.sleeping.pop(worker, None)
        machine.memory.forget(machine.instances)
        self.hosts.append(Lost(worker))

    def _give_up_for_lost(self, worker: int) -> None:
        """Its host starts another one, but it goes on with what it has in its mail."""
        machine = self.workers[worker]
        assert machine is not None
        self._tell(f"SPLIT of worker {worker}")
        mail = [m for channel, messages in self.network.items() if channel[1] == worker for m in messages]
        self.ghosts.append((machine, mail))
        self.workers[worker] = None
        self.again.discard(worker)
        self.loading.pop(worker, None)
        self.sleeping.pop(worker, None)
        self.hosts.append(Lost(worker))

    def _haunt(self, machine: Worker, mail: list[Any]) -> None:
        self._tell(f"the lost worker {machine.number} goes on")
        self._obey(machine, machine.handle(mail.pop(0)) if mail else machine.step())

    def _break_off(self, channel: tuple[int, int]) -> None:
        """A connection breaks in the middle of what is sent: the rest is lost."""
        messages = self.network[channel]
        kept = self.rng.randrange(len(messages))
        self._tell(f"BREAK {_name(channel[0])} -> {_name(channel[1])}: {len(messages) - kept} messages are lost")
        del messages[kept:]

    def _sleep(self, worker: int) -> None:
        self.sleeping[worker] = self.rng.randint(5, 60)
        self._tell(f"STALL of worker {worker} for {self.sleeping[worker]} steps")

    def _abort(self, _: bool) -> None:
        self._tell("ABORT: the coordinator believes that something stalls")
        self._coordinate(Stalled())

    def _give_up(self, client: Client) -> None:
        assert client.waiting is not None
        self._tell(f"client {client.number} WITHDRAWS {client.waiting}")
        self._coordinate(Withdraw(client.waiting))

    # -- telling ------------------------------------------------------------------------------------------------

    def _tell(self, line: str) -> None:
        self.story.append(line)

    def _validate(self) -> None:
        self.coordinator.validate()
        for machine in [*self.workers, self.driver]:
            if machine is not None:
                machine.validate()


def _name(machine: int) -> str:
    return {COORDINATOR: "coordinator", DRIVER: "driver"}.get(machine, f"worker {machine}")


def _brief(message: Any) -> str:
    text = repr(message)
    return text if len(text) < 160 else f"{text[:157]}..."
