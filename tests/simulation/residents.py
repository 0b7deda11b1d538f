"""Workers apart that are saved: each writes what it changes itself, and reads it back itself.

It is as `drivers.resident` and `drivers.apart` have it, around the real `WorkerSaver`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anabranch.drivers.durable.worker import WorkerSaver
from anabranch.drivers.host_messages import Copied, Copy, GiveUp, Goodbye, Keep, Kept, SavedAt
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.scaling.at_worker import Moves
from anabranch.lang.marks import copy_state
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import NOTHING_YET, Finished, Loaded, Version
from anabranch.runtime.routing import Routing
from anabranch.runtime.worker import Worker
from tests.simulation.mounts import Mount

if TYPE_CHECKING:
    from tests.simulation.saved import Run


class Gone(Exception):
    """A worker was lost that was to answer."""


class Problem(Exception):
    """A worker could not do what it was asked."""


class Resident:
    """The process of a worker."""

    def __init__(self, run: Run, machine: Worker) -> None:
        from tests.simulation.saved import Process

        self.run, self.machine, self.process = run, machine, Process(run)
        ages = run.ages
        mount: Any = Mount(ages.disk, lambda operation, name: ages.touch(run, self.process, operation, name))
        at = SavedAt((mount,), "create", run.generation, run.parent or 0, True, run.saved.routing.instance_of_bucket)
        self.saver = WorkerSaver(at, machine.number, run.case.graph, run.case.program(), machine.memory)
        run.cooperate(self.saver._log)
        self.busy = False  # is its machine's thread in the middle of something?
        self.number = machine.number
        scaling = run.scaling
        if scaling is not None:
            scaling.fleet.arrives(self)
            letters, links = scaling.letters, scaling.fleet.links

            def post(peer: int, message: Any) -> None:
                letters.send(self, links.get(peer), peer, message)

            graph, program = run.case.graph, run.case.program()
            self.moves = Moves(self.number, graph, program, post, lambda told: letters.tell(self, told), self)

    @property
    def worker(self) -> Worker:
        return self.machine

    @property
    def reachable(self) -> bool:
        """Would its machine's thread take an order?"""
        world = self.run.world
        assert world is not None
        current = world.workers[self.number] is self.machine
        return self.process.alive and not self.busy and not (current and self.number in world.sleeping)

    # -- another routing ----------------------------------------------------------------------------------------------

    def obey(self, order: Any) -> None:
        """As `drivers.resident.Resident` does, on the thread of the machine."""
        self.run.ages.threads.owner = self.process
        match order:
            case GiveUp():
                self.moves.give_up()
            case Goodbye():
                pass  # its end is made by whoever started it
            case _:
                self._does(lambda: self.moves.obey(order))

    def go_over(self, memory: Memory, kernels: Kernels, version: Version) -> None:
        world, old = self.run.world, self.machine
        assert world is not None
        machine = self.machine = world.machine_with(self.number, memory)
        machine.latest = version
        self.run.residents[machine] = self
        world.become(old, machine)
        self.saver.switch(memory)

    def begun(self, version: Version, before: int) -> str:
        return self.saver.begun(version, before)

    @property
    def idle_log(self) -> bool:
        return not any(f.owner is self.process and not f.done for f in self.run.fibers)

    def end(self, gone: bool) -> None:
        if gone:
            self.process.alive = False
            for fiber in [f for f in self.run.fibers if f.owner is self.process]:
                fiber.kill()

    def _does(self, work: Callable[[], None], waits: bool = False) -> None:
        """On the thread of its machine, which does nothing else meanwhile. If it `waits` it cannot do so at once."""

        def whole() -> None:
            work()
            self.busy = False

        self.busy = True
        self.run.soon(whole, self.process, self.idle_log, waits)

    def finished(self, message: Finished) -> None:
        def save() -> None:
            assert self.run.world is not None
            told = replace(message, writer=self.saver.epoch(message.version))
            self.run.world.tell_coordinator(self.machine, told)

        self._does(save)

    def load(self, version: Version) -> None:
        def restore() -> None:
            run, machine = self.run, self.machine
            if version != NOTHING_YET and run.orders.desk is not None:
                run.make_durable()  # by the coordinator's host, before it says where to look
            waiting = machine.waiting
            if waiting is None or waiting.committed != version:
                return
            assert run.world is not None
            run.world.tell(f"worker {machine.number} loads version {version}")
            if version == NOTHING_YET and not hasattr(run.orders, "stands_on"):
                for i in machine.instances:
                    content = {n: copy_state(p) for n, p in run.world.memory.of_instance[i].items()}
                    machine.memory.put(i, content, version)
            else:
                nothing: Any = None
                self.saver.restore(version, getattr(run.orders, "stands_on", run.parent or 0), nothing)
            run.world.obey(machine, machine.handle(Loaded(version)))

        self._does(restore, waits=self.run.saver.log._leading)

    def copy(self, order: Copy, tell: Callable[[Any], None]) -> None:
        if not self.machine.rest(order.version, order.committed):
            tell(Copied(order.number, False, "", 0, "the order came late"))
            return
        tell(self.saver.copy(order))

    def keep(self, order: Keep, tell: Callable[[Any], None]) -> None:
        """Its thread is a fiber."""
        self.run.ages.threads.owner = self.process
        self.saver.keep(order, tell)


@dataclass
class Waiting:
    """For answers of some workers."""

    missing: set[int]
    found: dict[int, Any] = field(default_factory=dict)
    lost: bool = False

    @property
    def over(self) -> bool:
        return self.lost or not self.missing


class Orders:
    """What the coordinator's host asks workers to do for a snapshot; as `drivers.apart.Apart`."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.desk: Any = None
        self._numbers = iter(range(1, 1_000_000))
        self._waiting: dict[int, Waiting] = {}
        self._mail: list[tuple[int, Copy | Keep]] = []

    @property
    def routing(self) -> Routing:
        assert self._run.world is not None
        return self._run.world.routing

    def hold(self) -> AbstractContextManager[None]:
        return self._run.hold()

    def copy(self, snapshot: int, workers: Iterable[int]) -> dict[int, Copied]:
        coordinator, number = self.desk.coordinator, next(self._numbers)
        order = Copy(number, snapshot, coordinator.reserved, coordinator.committed)
        return _without_problems(self._ask(number, list(workers), order))

    def keep(self, snapshot: int, wanted: bool) -> dict[int, Kept]:
        number = next(self._numbers)
        world = self._run.world
        assert world is not None
        workers = world.workers[: self.routing.workers]
        asked = [w for w, machine in enumerate(workers) if wanted or machine is not None]
        found = self._ask(number, asked, Keep(number, snapshot, wanted))
        return _without_problems(found) if wanted else found

    def _ask(self, number: int, workers: list[int], order: Copy | Keep) -> dict[int, Any]:
        world = self._run.world
        assert world is not None
        waiting = self._waiting[number] = Waiting(set(workers))
        waiting.lost = any(world.workers[w] is None for w in workers)
        self._mail += [(w, order) for w in workers if world.workers[w] is not None]
        self._run.ages.fibers.pause(lambda: waiting.over)
        del self._waiting[number]
        if waiting.lost:
            raise Gone(f"a worker was lost that was to answer to {order}")
        return waiting.found

    def actions(self) -> list[Callable[[], None]]:
        world = self._run.world
        assert world is not None
        first = {worker: at for at, (worker, _) in reversed(list(enumerate(self._mail)))}
        return [lambda a=at: self._deliver(a) for w, at in sorted(first.items()) if world._reachable(w)]

    def _deliver(self, at: int) -> None:
        worker, order = self._mail.pop(at)
        world = self._run.world
        assert world is not None
        machine = world.workers[worker]
        assert machine is not None
        given = world.wire.decode(world.wire.encode(order))
        resident = self._run.residents[machine]
        world.tell(f"worker {worker} is asked: {given}")

        def told(answer: Any) -> None:
            waiting = self._waiting.get(answer.number)
            if waiting is not None and worker in waiting.missing:
                waiting.missing.discard(worker)
                waiting.found[worker] = world.wire.decode(world.wire.encode(answer))

        if isinstance(given, Copy):
            resident.copy(given, told)
        else:
            resident.keep(given, told)

    def lose(self, worker: int) -> None:
        self._mail = [(w, order) for w, order in self._mail if w != worker]
        for waiting in self._waiting.values():
            waiting.lost = waiting.lost or worker in waiting.missing

    def give_up(self) -> None:
        for waiting in self._waiting.values():
            waiting.lost = True


def _without_problems(found: dict[int, Any]) -> dict[int, Any]:
    for worker, told in found.items():
        if told.problem is not None:
            raise Problem(f"worker {worker}: {told.problem}")
    return found
