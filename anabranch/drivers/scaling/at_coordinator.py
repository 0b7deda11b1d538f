"""A move, at the coordinator: it asks all workers, step by step, and decides when they go over.

Laws: until it is decided, a worker that is lost ends the move and nothing has changed; from then on the new routing
counts, whoever is lost, and one that comes back restores what it has under it. It is decided while nobody runs an epoch
and every worker has all that it will have.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

from anabranch.drivers.answers import Gone, Questions, until_all_answer, without_problems
from anabranch.drivers.callers import StateLost, Stopped
from anabranch.drivers.desk import PULSE, Desk
from anabranch.drivers.fleet import Fleet, Launcher
from anabranch.drivers.guests import Guests
from anabranch.drivers.host_messages import CatchUp, Done, Flush, GiveUp, Goodbye, Grow, Prepare, Slice, Switch
from anabranch.drivers.interrupts import HoldBack
from anabranch.lang.errors import MemoryFull
from anabranch.runtime.messages import Version
from anabranch.runtime.routing import Routing

log = logging.getLogger(__name__)

TRIES = 8  # of a move, while workers are lost
CHASES = 8  # of what epochs change meanwhile, before they stop for it
READING = 60.0  # seconds in which results are read that a worker has


class Scaling:
    """`switch` is called when it is decided: whoever has the lock of the desk goes over to the new routing.

    So many `spares` are kept: workers that are there and have nothing. They know the routing under which they came, so
    after a move others take their place.
    """

    def __init__(self, desk: Desk, fleet: Fleet, questions: Questions, launcher: Launcher, spares: int = 0) -> None:
        self._desk, self._fleet, self._questions, self._launcher = desk, fleet, questions, launcher
        self._spares = spares
        self.problems: dict[int, str] = {}  # of workers that do not start
        self.guests = Guests()  # who may read at workers that are about to go
        self._cut = threading.Event()
        self._party: dict[int, Any] = {}  # the connections of those who take part in the move at hand
        self._paused = 0.0

    def severed(self) -> None:
        """A connection between two workers has broken: what was on it may be lost."""
        self._cut.set()

    def take(self, worker: int, done: Done) -> None:
        """What a worker says of its part in a move. If one is late for it, others may wait for what will not come."""
        if self._questions.take(done.number, worker, done) and done.late:
            self._cut.set()

    def scale(
        self, now: Routing, routing: Routing, entries: Callable[[], Iterable[str]], switch: Callable[[], None]
    ) -> float:
        """Let the workers go over from one routing to the other, whose kernels are those of these entries. Gives the
        seconds in which no epoch could run.
        """
        self._start(now.workers, routing.workers)
        decided = False
        self._paused = 0.0

        def decide() -> None:
            nonlocal decided
            switch()
            decided = True

        try:
            for left in reversed(range(TRIES)):
                try:
                    self._move(now, routing, tuple(entries()), decide)
                    break
                except Gone as error:
                    log.warning("worker %s was lost while state was moved: it begins again", error)
                    self._wait_for(routing.workers)
                    if not left:
                        raise Stopped("workers are lost again and again while state is moved") from None
        finally:
            self._leave(routing.workers if decided else now.workers)
        return self._paused

    # -- workers that come and go -------------------------------------------------------------------------------------

    def _start(self, now: int, wanted: int) -> None:
        failed = [worker for worker in self.problems if worker < min(wanted, self._fleet.workers)]
        self.problems.clear()
        if wanted <= now:
            return
        try:
            for worker in failed:  # given up before, while nobody needed it
                self._launcher.more(worker)
            self._launch(wanted)
            self._wait_for(wanted)
        except BaseException:
            self._leave(now)
            raise

    def keep_spares(self) -> None:
        """Start as many as are missing; nobody waits for them."""
        if not self._desk.closed:
            self._launch(self._fleet.needed + self._spares)

    def _launch(self, workers: int) -> None:
        for worker in range(self._fleet.workers, workers):
            self._fleet.workers = worker + 1  # before it can come
            try:
                self._launcher.more(worker)
            except BaseException:
                self._fleet.workers = worker
                raise

    def _wait_for(self, workers: int) -> None:
        """Until so many are there."""
        desk, patience = self._desk, self._fleet.patience.start
        end = monotonic() + patience
        with HoldBack() as interrupts, desk.locked(interrupts):
            while missing := [w for w in range(workers) if w not in self._fleet.links]:
                desk.refuse_closed()
                for worker in missing:
                    if why := self.problems.get(worker):
                        raise Stopped(f"worker {worker} cannot be started, and nothing has changed: {why}")
                if monotonic() > end:
                    raise Stopped(f"workers {missing} have not started within {patience:g} s: nothing has changed")
                desk.moved.wait(PULSE)
                interrupts.relent()

    def _leave(self, workers: int) -> None:
        """Let those go that are not among so many."""
        fleet = self._fleet
        gone = range(workers, fleet.workers)
        if gone and not self.guests.wait(READING):
            log.warning("workers go while results are still read that they have")
        with self._desk.lock:
            for worker in gone:
                fleet.post(worker, Goodbye())
            fleet.workers = fleet.needed = workers
        for worker in gone:
            self._launcher.fewer(worker, fleet.patience.stop)
            fleet.forget(worker)
        try:
            self.keep_spares()
        except Exception as error:  # what has moved has moved
            log.warning("there will be no spare workers: %s", error)

    # -- the move -----------------------------------------------------------------------------------------------------

    def _move(self, now: Routing, routing: Routing, entries: tuple[str, ...], decide: Callable[[], None]) -> None:
        desk, sources = self._desk, range(now.workers)
        move = next(desk.numbers)
        everyone = range(max(now.workers, routing.workers))
        decided = False

        def grow(number: int, at: tuple[Version, Version]) -> Grow:
            places = routing.instance_of_bucket, routing.worker_of_instance
            return Grow(number, move, *at, *places, routing.version, tuple(sources), entries)

        try:
            self._prepare(len(everyone), entries)
            with desk.hold():
                self._cut.clear()
                self._party = {worker: self._fleet.links.get(worker) for worker in everyone}
                self._ask(everyone, grow)
            more: list[int] = list(sources)
            while more:
                with desk.hold():
                    found = self._ask(more, lambda number, at: Slice(number, move, *at))
                more = [worker for worker, told in found.items() if told.more]
                self._catch_up(everyone, move)
            for _ in range(CHASES):
                if self._catch_up(everyone, move):
                    break
            with desk.hold(writes=True, keeps=True):
                start = monotonic()
                self._ask(everyone, lambda number, at: Flush(number, move, *at))
                with desk.lock:
                    if desk.coordinator.lost or desk.coordinator.unsettled:
                        raise Gone("that was to take part")
                    self.relent()
                    decide()
                    decided = True
                self._go_over(move, now, routing)
                self._paused = monotonic() - start
        finally:
            if not decided:
                for worker in list(self._fleet.links):
                    self._fleet.post(worker, GiveUp(move))

    def _catch_up(self, workers: Iterable[int], move: int) -> bool:
        """While epochs run, let the workers place what has come; whether little has come meanwhile. What is left is
        placed while nothing runs.
        """
        return not any(told.more for told in self._ask(workers, lambda number, at: CatchUp(number, move)).values())

    def _prepare(self, workers: int, entries: tuple[str, ...]) -> None:
        """What takes long and can be done before is done while epochs run."""

        def ask() -> Mapping[int, Any]:
            self._wait_for(workers)
            number = next(self._desk.numbers)
            return self._questions.ask(number, dict.fromkeys(range(workers), Prepare(number, entries)))

        without_problems(dict(until_all_answer(ask)))

    def _go_over(self, move: int, now: Routing, routing: Routing) -> None:
        """From here on there is no way back: one who is lost comes back under the new routing, and goes on from there.
        One who cannot go over ends the run: what is on disk is as it was.

        For whoever holds the state.
        """
        desk, coordinator = self._desk, self._desk.coordinator
        while True:
            number = next(desk.numbers)
            at = coordinator.reserved, coordinator.committed
            order = Switch(number, move, *at, routing.version, now.instances)
            try:
                told = without_problems(self._questions.ask(number, dict.fromkeys(range(routing.workers), order)))
                if not any(done.late for done in told.values()):
                    break
            except Gone:
                pass
            except (Stopped, StateLost):  # it has ended already, and says why
                raise
            except RuntimeError as error:
                desk.fail(error)
                raise Stopped(f"a worker could not go over to other workers, and the app has ended: {error}") from error
            self.wait_for_all()
        desk.writers = tuple(sorted({done.writer for done in told.values()} - {""}))

    def wait_for_all(self) -> None:
        """Until all that count are there, and hold what is committed."""
        desk = self._desk
        with HoldBack() as interrupts, desk.locked(interrupts):
            while desk.coordinator.lost or desk.coordinator.unsettled:
                desk.refuse_closed()
                desk.moved.wait(PULSE)

    def _ask(self, workers: Iterable[int], order: Callable[[int, tuple[Version, Version]], Any]) -> Mapping[int, Any]:
        """For whoever holds the state, where the order names a version."""
        self.relent()
        coordinator, number = self._desk.coordinator, next(self._desk.numbers)
        at = coordinator.reserved, coordinator.committed
        found = self._questions.ask(number, dict.fromkeys(workers, order(number, at)), self)
        for worker, told in found.items():
            if told.late:
                raise Gone(worker)
            if told.full is not None:
                raise MemoryFull(f"worker {worker}: {told.full}")
        return without_problems(found)

    def relent(self) -> None:
        """Do not wait for what will not come: of one that has come in the place of another, or was cut off."""
        if self._cut.is_set():
            raise Gone("that was to be reached")
        for worker, link in self._party.items():
            if link is None or self._fleet.links.get(worker) is not link:
                raise Gone(worker)


def setup_under(setup: Any, routing: Routing) -> Any:
    """What a worker is told that comes under another routing."""
    return replace(
        setup,
        instance_of_bucket=routing.instance_of_bucket,
        worker_of_instance=routing.worker_of_instance,
        routing=routing.version,
    )
