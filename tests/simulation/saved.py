"""One run that is saved: a world whose hosts write to a disk before they tell, and read from it what was lost.

Laws: a request is acknowledged after its epoch is on disk and nobody else has opened the location; a run that cannot
write, or was replaced, breaks, and tells all who wait.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from anabranch.drivers.callers import Stopped
from anabranch.drivers.clock import SystemClock
from anabranch.drivers.durable.marks import Marks
from anabranch.drivers.durable.owns import Owns
from anabranch.drivers.durable.run import SavedApart, SavedHere
from anabranch.drivers.durable.settings import Saving
from anabranch.drivers.placing import next_routing, relieved
from anabranch.lang.marks import copy_state
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import DRIVER, Committed, Finished, Hold, Joined, Lost, Outcome, Release, Version
from anabranch.runtime.routing import Routing
from anabranch.runtime.worker import Worker
from anabranch.state.checkpoint.errors import Fenced
from tests.simulation.clients import Content
from tests.simulation.fibers import Fiber
from tests.simulation.mounts import Mount
from tests.simulation.residents import Gone, Orders, Problem, Resident
from tests.simulation.scaled import ScaledApart, ScaledHere
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.ages import Ages

NO_SPACE = (errno.ENOSPC, errno.EIO)
MOST = 4  # workers


def is_clear(error: BaseException) -> bool:
    """May a run break with it, or a snapshot be given up? Each says what is wrong."""
    if isinstance(error, Problem):
        # "is there": files of a snapshot that was given up after a worker had finished them, see `WorkerSaver.keep`
        return any(told in str(error) for told in ("came late", "not begun here", "no space left", "is there"))
    if type(error) is RuntimeError:  # what a worker says
        return "no space left" in str(error)
    return isinstance(error, Fenced | Gone | Stopped) or (isinstance(error, OSError) and error.errno in NO_SPACE)


class Process:
    """The coordinator's, or that of a worker: it has what it has as long as it lives."""

    def __init__(self, run: Run) -> None:
        self._run, self.alive = run, True

    def spawn(self, run: Callable[[], None]) -> Fiber:
        return self._run.spawn(run, self)


class Run:
    """A generation: from opening the location to its end."""

    def __init__(self, ages: Ages, workers: int) -> None:
        self.ages, self.case = ages, ages.case
        self.process = Process(self)
        self.mount = Mount(ages.disk, lambda operation, name: ages.touch(self, self.process, operation, name))
        self.fibers: list[Fiber] = []
        self.world: World | None = None
        self.open = False
        self.generation = 0
        self.parent: int | None = None  # the generation it goes on from
        self.start: list[Content] | None = None  # what it has restored
        self.residents: dict[Worker, Resident] = {}
        self.orders = Orders(self)
        self._replies: dict[int, Outcome] = {}
        self._granted: set[int] = set()
        self._holds: set[int] = set()
        self._snapshot: Fiber | None = None
        self._scale: Fiber | None = None
        self.scales = ages.scaling is not None
        self.scaling: ScaledApart | None = None  # where workers are apart
        self._engine: ScaledApart | ScaledHere | None = None
        self.broken: BaseException | None = None
        self._opening = self.spawn(lambda: self._open(workers), self.process)

    @property
    def now(self) -> int:
        return self.ages.now

    @property
    def alive(self) -> bool:
        return self.process.alive

    def tell_story(self, line: str) -> None:
        self.ages.story.append(f"[{self.generation or '?'}] {line}")

    # -- from opening to the end --------------------------------------------------------------------------------

    def _open(self, workers: int) -> None:
        case, program = self.case, self.case.program()
        saving = Saving(self.mount, keep=self.ages.keep)
        kind: Any = SavedApart if case.apart else SavedHere
        self.saved: Any = kind(saving, case.graph, program, workers, Marks(), SystemClock())
        self.saver, found = self.saved.saver, self.saved.found
        self.cooperate(self.saver.log)
        self.generation = self.saver.generation.number
        self.parent, self.version = (None, 0) if found is None else (found.history.number, found.version)
        routing = self.saved.routing
        memory = Memory(case.graph, None if found and not case.apart else program, routing)
        if not case.apart:
            self.saved.restore(memory, None)
        self.tell_story(f"OPENS at version {self.saved.version} of {self.parent}, {routing.workers} workers")
        if self.scales and case.apart:
            self.scaling = ScaledApart(self, routing.workers)
        self.world = world = World(
            replace(case, routing=routing),
            lambda world: self,
            memory,
            self.ages.clients,
            self.ages.numbers,
            (self.saved.version, self.saved.sequence),
        )
        world.story = _Story(self)
        world.mishaps.may_crash, world.mishaps.budget = case.apart, self.ages.mishaps_of_a_run()
        coordinator = world.coordinator
        self.ages.fibers.pause(lambda: not (coordinator.lost or coordinator.unsettled) and world.all_here())
        self.start = _copies(world.at_rest(coordinator.committed))
        self.ages.begun(self)
        desk = SimpleNamespace(coordinator=coordinator, saver=None)
        if case.apart:
            self.orders.desk = desk
            self.saved.begin(self.orders)
        else:
            self.saved.begin(desk, self.hold)
        if self.scaling is not None:
            self.scaling.begin()
        self._engine = self.scaling if case.apart or not self.scales else ScaledHere(self)
        self.tell_story("BEGINS")
        self.open = True

    def die(self, why: str) -> None:
        """All its processes end at once; who waits learns nothing."""
        if not self.alive:
            return
        self.tell_story(why)
        self.process.alive = self.open = False
        for resident in self.residents.values():
            resident.process.alive = False
        for fiber in self.fibers:
            fiber.kill()
        if self.world is not None:
            for client in self.ages.clients:
                if client.waiting in self.world.calls:
                    client.waiting = None

    def tick(self) -> None:
        """Something that can happen in it."""
        try:
            if self.world is None:
                if self._opening.ready:
                    self._go_on(self._opening)
            else:
                self.world.tick()
                if self.broken is not None:
                    raise self.broken
                if self.alive:
                    self.world.validate()
        except Exception as error:
            if not is_clear(error):
                raise
            self.die(f"BREAKS: {type(error).__name__}: {error}")

    # -- fibers -------------------------------------------------------------------------------------------------

    def spawn(self, run: Callable[[], None], owner: object) -> Fiber:
        fiber = Fiber(self.ages.fibers, run, owner)
        self.fibers.append(fiber)
        return fiber

    def soon(self, run: Callable[[], None], owner: object, inline: bool, waits: bool = False) -> None:
        """Run it now and without a stop, or step by step, as it must if it `waits` for another."""
        if inline and self.ages.rng.random() < 0.5 and not waits:
            run()
        else:
            self.spawn(run, owner)

    def cooperate(self, log: Any) -> None:
        """Of two that write a log at once one waits for the other: as a fiber, not as a thread."""

        def step_by_step(write: Callable[..., None]) -> Callable[..., None]:
            def run(*given: Any) -> None:
                while log._leading:
                    self.ages.fibers.pause(lambda: not log._leading)
                write(*given)

            return run

        log.sync, log.open_piece = step_by_step(log.sync), step_by_step(log.open_piece)

    def _ended(self) -> None:
        """Let go of fibers that have ended; what one of them says is said by the run."""
        for fiber in [f for f in self.fibers if f.done]:
            if fiber not in self.fibers:  # the run has ended meanwhile
                continue
            self.fibers.remove(fiber)
            if fiber.error is not None and fiber in (self._snapshot, self._scale):
                if not is_clear(fiber.error):
                    raise fiber.error
                self.tell_story(f"NO {'SNAPSHOT' if fiber is self._snapshot else 'SCALING'}: {fiber.error!r}")
            elif fiber.error is not None:
                raise fiber.error

    # -- what a world asks of its hosts -------------------------------------------------------------------------

    def started(self, machine: Worker) -> None:
        if self.case.apart and machine.number != DRIVER:
            self.residents[machine] = Resident(self, machine)

    def lost(self, machine: Worker, gone: bool) -> None:
        resident = self.residents.get(machine)
        if resident is None:  # of a thread that is no longer needed
            return
        resident.end(gone)
        self.orders.lose(machine.number)
        if gone and self.scaling is not None:
            self.scaling.letters.lose(resident)

    def heard(self, event: Joined | Lost) -> None:
        if self.scaling is not None:
            self.scaling.heard(event)

    def tell(self, machine: Worker, message: Any) -> None:
        assert self.world is not None
        if self.case.apart and isinstance(message, Finished):
            self.residents[machine].finished(message)
        else:
            self.world.tell_coordinator(machine, message)

    def committed(self, done: Committed) -> None:
        assert self.world is not None
        coordinator = self.world.coordinator
        before = None if self._engine is None else self._engine.take_before()
        if before is not None:
            writers = (done.writers,) if self.case.apart else ()
            self.saved.begun(done.version, coordinator.sequence, before, *writers)
            if not self.case.apart:
                self.world.memory.commit(done.version)
            return
        if self.case.apart:
            self.saved.epoch(done.version, coordinator.sequence, done.writers, ())
        else:
            memory, saved = self.world.memory, self.saved
            every = range(memory.routing.instances)
            changes = memory.changes(every, Owns(self.case.graph)) if self.saver.logging else []
            saved.epoch(done.version, coordinator.sequence, changes, ())
        if not self.case.apart or not done.stages:
            for memory, _ in self.world.memories():
                memory.commit(done.version)
        if not done.stages:  # what was written by hand went to all workers
            for machine in self.world.workers[: self.world.routing.workers]:
                assert machine is not None
                machine.latest = max(machine.latest, done.version)

    def reply(self, number: int, outcome: Outcome) -> None:
        self._replies[number] = outcome

    def _acknowledge(self, number: int) -> None:
        """What the caller does that was answered: it waits until that is on disk."""
        assert self.world is not None
        outcome = self._replies.pop(number)

        def wait() -> None:
            self.make_durable()
            assert self.world is not None
            self.world.answer(number, outcome, False)

        self.soon(wait, self.process, not self.saver.log._leading)

    def make_durable(self) -> None:
        self.saver.wait(self.saver.ticket)

    def granted(self, number: int) -> bool:
        if number not in self._holds:
            return False
        self._granted.add(number)
        return True

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Nothing runs inside the block."""
        world = self.world
        assert world is not None
        number = next(world.numbers)
        self.wait_for_grant(Hold(number))
        try:
            yield
        finally:
            if self.alive:
                world.coordinate(Release(number, False))

    def wait_for_grant(self, hold: Hold) -> None:
        assert self.world is not None
        self._holds.add(hold.number)
        self.world.coordinate(hold)
        self.ages.fibers.pause(lambda: hold.number in self._granted)

    def load(self, machine: Worker, version: Version) -> None:
        if self.case.apart:  # else it was told late of a version that is no more, and will be told of another
            self.residents[machine].load(version)

    def busy(self, machine: Worker) -> bool:
        resident = self.residents.get(machine)
        return resident is not None and resident.busy

    def actions(self) -> list[Callable[[], None]]:
        found: list[Callable[[], None]] = [lambda f=f: self._go_on(f) for f in self.fibers if f.ready]
        if self.ages.rng.random() < self.ages.prompt:
            found += [lambda n=n: self._acknowledge(n) for n in self._replies]
        found += self.orders.actions()
        if self.open and (self._snapshot is None or self._snapshot.done) and self.ages.rng.random() < 0.3:
            found.append(self._take_snapshot)
        return found if self.ages.scaling is None else [*found, *self._scaling_actions(self.ages.scaling)]

    def _scaling_actions(self, chance: Random) -> list[Callable[[], None]]:
        found = [] if self.scaling is None else self.scaling.actions(chance)
        if self.open and (self._scale is None or self._scale.done) and chance.random() < self.ages.restless:
            found.append(lambda: self._scale_to(chance.randint(1, MOST), chance))
        return found

    def _scale_to(self, workers: int, chance: Random) -> None:
        """With as many workers as there are, keys are spread otherwise, or one of them has nothing any more."""
        engine = self._engine
        assert engine is not None
        wanted = [chance.choice((1.0, 3.0)) for _ in range(workers)] if chance.random() < 0.3 else None
        self.tell_story(f"SCALE to {workers} workers")

        def plan(now: Routing) -> Routing:
            if now.workers == workers and wanted is None:
                return relieved(now, {now.version % workers})
            return next_routing(self.case.graph, now, workers, wanted)

        self._scale = self.spawn(lambda: engine.scale(plan), self.process)

    def _go_on(self, fiber: Fiber) -> None:
        fiber.resume()
        self._ended()

    def _take_snapshot(self) -> None:
        if self.saver.changed > self.saved.snapshots._taken:
            self.tell_story("SNAPSHOT")
        self._snapshot = self.spawn(lambda: self.saved.snapshots.take(), self.process)

    def stalled(self) -> None:
        self.orders.give_up()


class _Story(list[str]):
    """What a world tells is part of the story of all."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def append(self, line: str) -> None:
        self._run.tell_story(line)


def _copies(instances: list[Content]) -> list[Content]:
    return [{name: copy_state(part) for name, part in content.items()} for content in instances]
