"""The world in which the machines live: a network, hosts that crash, clients, and one seeded scheduler.

At every step the scheduler does one thing that could happen: deliver a message, let a worker work, let a client ask, or
let something go wrong. The same seed gives the same story.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
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
    CoordinatorCommand,
    CoordinatorEvent,
    Grant,
    Hold,
    Joined,
    Load,
    Lost,
    Outcome,
    Ran,
    Release,
    Reply,
    Request,
    Results,
    Seen,
    Stalled,
    Submit,
    ToCoordinator,
    ToWorker,
    Version,
    Withdrawn,
)
from anabranch.runtime.routing import Routing
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker
from tests.simulation.cases import Case
from tests.simulation.clients import Asked, Client, Content, Look, Stuck
from tests.simulation.keeping import InMemory, Keeping
from tests.simulation.mishaps import Mishaps
from tests.simulation.telling import COORDINATOR, brief, name

MOST_STEPS = 8_000


class World:
    """One run: its machines, its network and those who ask it."""

    def __init__(
        self,
        case: Case,
        keeping: Callable[[World], Keeping] = InMemory,
        memory: Memory | None = None,
        clients: list[Client] | None = None,
        numbers: Iterator[int] | None = None,
        at: tuple[Version, int] = (NOTHING_YET, 0),
    ) -> None:
        """`memory` is that of all workers, or what they begin with; `at` the version it is of, and the next row."""
        routing = case.routing
        self.case, self.rng, self.faults = case, case.rng, case.faults
        self.routing = self.setup = routing  # that which counts, and that of which workers are told that start
        self.switches: list[tuple[int, Routing]] = []  # the epochs from which others counted
        self.expected = routing.workers  # that may come
        self.story: list[str] = []
        self.program = case.program()
        self.code, self.specs = PythonCode(case.graph, self.program), dict(describe(case.program).entries)
        self.memory = memory or Memory(case.graph, self.program, routing)
        self.runner = Runner(case.graph, self.code, self.memory, self.specs)
        self.wire = Wire(case.graph)
        self.ghosts: list[tuple[Worker, list[Any]]] = []  # workers given up for lost that go on, and their mail
        self.coordinator = Coordinator(
            routing.workers, Backlog(case.graph, case.limits), self.runner.starts, case.apart, None, *at
        )
        self.network: dict[tuple[int, int], list[Any]] = {}  # (from, to) -> messages on the way
        self.limbo: list[tuple[int, tuple[int, int], Any]] = []  # steps until a delayed message is on the way again
        self.again: set[int] = set()
        self.loading: dict[int, Version] = {}
        self.sleeping: dict[int, int] = {}  # worker -> steps it will not be scheduled
        self.away: dict[int, int] = {}  # worker -> steps until another is started in its place
        self.hosts: list[CoordinatorEvent] = []  # what hosts have to tell, in order
        self.clients = [Client(n, list(todo)) for n, todo in enumerate(case.clients)] if clients is None else clients
        self.calls: set[int] = set()  # of clients to this world
        self.asked: dict[int, Asked] = {}
        self.ran: list[Ran] = []
        self.answered = 0
        self.looks: list[Look] = []
        self.glances: dict[int, int] = {}  # numbers of clients that look at one instance only, and which
        self.meanwhile = 0  # requests that were answered while a worker was not there
        self.numbers = numbers or iter(range(1, 1_000_000))
        self.mishaps = Mishaps(self)
        self.keeping: Keeping = keeping(self)
        self.driver = self._machine(DRIVER)
        self.workers: list[Worker | None] = [None] * routing.workers
        for worker in range(routing.workers):
            self._start(worker)
        if case.apart:
            self.hosts += [Joined(w) for w in range(routing.workers)]

    def _start(self, worker: int) -> None:
        machine = self.workers[worker] = self._machine(worker)
        self.keeping.started(machine)

    def _machine(self, worker: int) -> Worker:
        """A worker that starts: on the memory that all of them share, or with nothing in its own."""
        if not self.case.apart:
            return Worker(worker, self.routing.workers, self.runner, self.case.pace)
        return self.machine_with(worker, Memory(self.case.graph, None, self.setup))

    def machine_with(self, worker: int, memory: Memory) -> Worker:
        """A worker that has an address space to itself."""
        runner = Runner(self.case.graph, self.code, memory, self.specs)
        copies = Copies(self.case.graph, self.program, memory.routing)
        return Worker(worker, memory.routing.workers, runner, self.case.pace, copies)

    # -- other workers ------------------------------------------------------------------------------------------

    def switched(self, routing: Routing, setup: Routing) -> None:
        """From now on another routing counts. `setup` is what workers are told of it that start."""
        self.tell(f"SCALED: {routing.workers} workers, {routing.instances} instances")
        self.routing, self.setup = routing, setup
        self.switches.append((self.coordinator.reserved.epoch, routing))

    def share(self, machines: list[Worker]) -> None:
        """These machines, on one memory, are the workers."""
        self.memory, self.runner = machines[0].memory, machines[0].runner
        for worker in range(len(machines), len(self.workers)):
            self.dismiss(worker)
        self.workers, self.expected = [*machines], len(machines)
        self.again.clear()

    def become(self, old: Worker, machine: Worker) -> None:
        """A worker goes on as another."""
        number = machine.number
        if self.workers[number] is old:
            self.workers[number] = machine
            self.again.discard(number)
        self.ghosts = [(machine if ghost is old else ghost, mail) for ghost, mail in self.ghosts]

    def hire(self, worker: int) -> None:
        self.workers += [None] * (worker + 1 - len(self.workers))
        self.away.pop(worker, None)
        self.expected = max(self.expected, worker + 1)

    def dismiss(self, worker: int) -> None:
        """It ends, and nothing of it is on its way any more."""
        machine = self.workers[worker]
        if machine is not None:
            self.forget(worker)
            self.keeping.lost(machine, True)
        self.expected = min(self.expected, worker)
        self.network = {c: messages for c, messages in self.network.items() if worker not in c}
        self.limbo = [item for item in self.limbo if worker not in item[1]]
        self.hosts = [event for event in self.hosts if getattr(event, "worker", None) != worker]

    # -- the scheduler ------------------------------------------------------------------------------------------

    def run(self) -> None:
        for _ in range(MOST_STEPS):
            if self.coordinator.idle and self.all_here() and not any(c.todo or c.waiting for c in self.clients):
                self.at_rest(self.coordinator.committed)
                return
            self.tick()
            self.validate()
        raise Stuck(f"after {MOST_STEPS} steps clients still wait: {self.coordinator!r}")

    def tick(self) -> None:
        mishap = self.mishaps.next()
        if mishap is not None:
            mishap()
            return
        late = [(steps - 1, channel, message) for steps, channel, message in self.limbo]
        self.limbo = [item for item in late if item[0] > 0]
        for _, channel, message in (item for item in late if item[0] <= 0):
            self.send(*channel, message)
        self.sleeping = {w: n - 1 for w, n in self.sleeping.items() if n > 1}
        self.away = {w: n - 1 for w, n in self.away.items() if n > 1}
        actions: list[Callable[[], None]] = []
        actions += [lambda c=c: self.deliver(c) for c, m in self.network.items() if m and self._reachable(c[1])]
        actions += [lambda w=w: self.work(w) for w in sorted(self.again) if w == DRIVER or self._reachable(w)]
        actions += [lambda w=w: self.load(w) for w in sorted(self.loading)]
        if self.keeping.open:
            actions += [lambda c=c: self.ask(c) for c in self.clients if c.waiting is None and c.todo]
        actions += [self.hear] if self.hosts else []
        actions += [lambda g=g: self._haunt(*g) for g in self.ghosts if self._haunts(*g)]
        gone = [w for w in range(self.expected) if self.workers[w] is None and w not in self.away]
        actions += [lambda w=w: self.restart(w) for w in gone]
        actions += self.keeping.actions()
        if actions:
            self.rng.choice(actions)()
        elif self.sleeping or self.away or self.limbo or self.coordinator.idle or self._busy():
            return  # time goes by
        else:
            self.tell("nothing moves: the coordinator is told")
            self.keeping.stalled()
            self.coordinate(Stalled())

    def _reachable(self, target: int) -> bool:
        if target in (COORDINATOR, DRIVER):
            return True
        machine = self.workers[target]
        return machine is not None and target not in self.sleeping and not self.keeping.busy(machine)

    def _busy(self) -> bool:
        """Does a worker do something just now, such as writing to a slow disk, or is there mail for one that is there?

        Whoever is told of a stall every time a disk takes long begins again for ever.
        """
        if any(machine is not None and self.keeping.busy(machine) for machine in self.workers):
            return True
        targets = {target for (_, target), mail in self.network.items() if mail and target not in (COORDINATOR, DRIVER)}
        return any(self.workers[target] is not None for target in targets)

    # -- what goes well -----------------------------------------------------------------------------------------

    def deliver(self, channel: tuple[int, int]) -> None:
        messages = self.network[channel]
        at = self.rng.randrange(len(messages)) if self.rng.random() < self.faults.shuffle else 0
        message = messages.pop(at)
        if self.case.apart and max(channel) >= 0:
            message = self.wire.decode(self.wire.encode(message))
        self.tell(f"{name(channel[0])} -> {name(channel[1])}: {brief(message)}")
        if channel[1] == COORDINATOR:
            self.coordinate(message)
        else:
            machine = self._at(channel[1])
            assert machine is not None
            self.obey(machine, machine.handle(message))

    def _at(self, worker: int) -> Worker | None:
        return self.driver if worker == DRIVER else self.workers[worker]

    def work(self, worker: int) -> None:
        machine = self._at(worker)
        if machine is not None:
            self.tell(f"worker {worker} works")
            self.obey(machine, machine.step())

    def obey(self, machine: Worker, commands: list[Any]) -> None:
        if machine is self._at(machine.number):
            self.again.discard(machine.number)
        for command in commands:
            match command:
                case ToWorker(target, message):
                    self.send(machine.number, target, message)
                case ToCoordinator(message):
                    self.keeping.tell(machine, message)
                case Again() if machine is self._at(machine.number):
                    self.again.add(machine.number)
                case Load(version) if machine is self._at(machine.number):
                    self.loading[machine.number] = version

    def coordinate(self, event: CoordinatorEvent) -> None:
        self.carry_out(self.coordinator.handle(event))

    def carry_out(self, commands: list[CoordinatorCommand]) -> None:
        for command in commands:
            match command:
                case ToWorker(target, message):
                    self.send(COORDINATOR, target, message)
                case Committed(version, ran):
                    self.tell(f"version {version} is committed: {[r.request.number for r in ran]}")
                    self.ran += ran
                    self.keeping.committed(command)
                case Seen(version, ran):
                    self.tell(f"READ at version {version} meanwhile: {[r.request.number for r in ran]}")
                    self.ran += ran
                    self.meanwhile += len(ran)
                case Reply(number, Results(values)) if number in self.glances:
                    (content,) = values
                    self.tell(f"READ of instance {self.glances[number]} meanwhile")
                    self.looks.append(Look(len(self.ran), {self.glances[number]: content}, self._epoch))
                    self.answer(number, None, False)
                case Reply(number, outcome):
                    self.keeping.reply(number, outcome)
                case Withdrawn(number):
                    self.answer(number, None, True)
                case Grant(number):
                    if not self.keeping.granted(number):
                        self._look(number)

    def send(self, source: int, target: int, message: Any) -> None:
        self.network.setdefault((source, target), []).append(message)

    def tell_coordinator(self, machine: Worker, message: Any) -> None:
        self.send(machine.number, COORDINATOR, message)

    # -- clients ------------------------------------------------------------------------------------------------

    def ask(self, client: Client) -> None:
        number = client.waiting = next(self.numbers)
        self.calls.add(number)
        if self.rng.random() < 0.12:
            self._ask_to_look(client, number)
            return
        entry, rows = client.todo.pop(0)
        request = Request(number, entry, rows)
        self.asked[number] = Asked(request, self.answered, at=self.keeping.now)
        self.tell(f"client {client.number} asks {entry} of {len(rows)} rows ({number})")
        self.coordinate(Submit(request))

    def _ask_to_look(self, client: Client, number: int) -> None:
        """At all state, or at an instance that may be seen while others are not there."""
        if not self.case.apart or self.rng.random() < 0.5:
            self.tell(f"client {client.number} asks to look at all state ({number})")
            self.coordinate(Hold(number))
            return
        instance = self.glances[number] = self.rng.randrange(self.routing.instances)
        self.tell(f"client {client.number} asks to look at instance {instance} ({number})")
        self.coordinate(Hold(number, lambda held: copies_of(held.of_instance[instance])))

    def answer(self, number: int, outcome: Outcome | None, withdrawn: bool) -> None:
        self.tell(f"request {number} {'is withdrawn' if withdrawn else f'is answered: {brief(outcome)}'}")
        for client in self.clients:
            if client.waiting == number:
                client.waiting = None
        if number in self.asked:
            asked = self.asked[number]
            assert asked.outcome is None and not asked.withdrawn, f"request {number} is answered twice"
            asked.outcome, asked.withdrawn, asked.told = outcome, withdrawn, self.keeping.now
            self.answered = max(self.answered, len(self.ran))

    def _look(self, number: int) -> None:
        self.answer(number, None, False)
        if self.all_here():
            all_of_it = self.at_rest(self.coordinator.committed)
            looked = {i: copies_of(content) for i, content in enumerate(all_of_it)}
            self.looks.append(Look(len(self.ran), looked, self._epoch))
        self.coordinate(Release(number, self.all_here() and self.rng.random() < 0.5))

    @property
    def _epoch(self) -> int:
        return self.coordinator.committed.epoch

    def all_here(self) -> bool:
        if None in self.workers[: self.routing.workers]:
            return False
        return all(memory.of_instance[i] for memory, instances in self.memories() for i in instances)

    def memories(self) -> list[tuple[Memory, Any]]:
        """All memory that counts, with the instances that are in it; workers that are to go may still be there."""
        if not self.case.apart:
            return [(self.memory, range(self.routing.instances))]
        counting = self.workers[: self.routing.workers]
        return [(machine.memory, machine.instances) for machine in counting if machine is not None]

    def at_rest(self, committed: Version) -> list[Content]:
        found: dict[int, Content] = {}
        for memory, instances in self.memories():
            memory.settle(instances, committed, committed)
            found |= {i: memory.of_instance[i] for i in instances}
        return [found[i] for i in range(self.routing.instances)]

    # -- hosts --------------------------------------------------------------------------------------------------

    def load(self, worker: int) -> None:
        version = self.loading.pop(worker)
        machine = self.workers[worker]
        if machine is not None:
            self.keeping.load(machine, version)

    def hear(self) -> None:
        event = self.hosts.pop(0)
        self.tell(f"the coordinator hears {event}")
        assert isinstance(event, Joined | Lost)
        self.keeping.heard(event)
        if event.worker in self.coordinator.workers:
            self.coordinate(event)

    def restart(self, worker: int) -> None:
        self.tell(f"worker {worker} starts again")
        self._start(worker)
        if self.rng.random() < 0.12 and not self.keeping.scales:  # back before anyone noticed
            with contextlib.suppress(ValueError):
                self.hosts.remove(Lost(worker))
        self.hosts.append(Joined(worker))

    def forget(self, worker: int) -> Worker:
        """A worker is no longer the one of its number."""
        machine = self.workers[worker]
        assert machine is not None
        self.workers[worker] = None
        self.again.discard(worker)
        self.loading.pop(worker, None)
        self.sleeping.pop(worker, None)
        if self.case.apart:
            self.away[worker] = self.rng.choice((0, 0, 20, 60, 200))
        return machine

    def _haunts(self, machine: Worker, mail: list[Any]) -> bool:
        return not self.keeping.busy(machine) and bool(mail or (machine.job and machine.job.busy))

    def _haunt(self, machine: Worker, mail: list[Any]) -> None:
        self.tell(f"the lost worker {machine.number} goes on")
        self.obey(machine, machine.handle(mail.pop(0)) if mail else machine.step())

    # -- telling ------------------------------------------------------------------------------------------------

    def tell(self, line: str) -> None:
        self.story.append(line)

    def validate(self) -> None:
        self.coordinator.validate()
        for machine in [*self.workers, self.driver]:
            if machine is not None:
                machine.validate()


def copies_of(content: Content) -> Content:
    return {name: copy_state(part) for name, part in content.items()}
