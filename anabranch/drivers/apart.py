"""The coordinator and its callers, where each worker has an address space to itself.

Laws: a run begins when all workers have its program and their part of the state. When one is lost another takes its
place and restores what it had; where nothing is saved the run ends, and whoever waits is told at once. What is read or
written between two epochs goes the way of collected requests.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from anabranch.drivers.answers import Questions, until_all_answer, without_problems
from anabranch.drivers.between import HOLDER, Between, Step
from anabranch.drivers.bringing import Bringing
from anabranch.drivers.callers import ForkLost, Gate, Stop, Stopped
from anabranch.drivers.desk import PULSE, Desk, Watch
from anabranch.drivers.durable.settings import At
from anabranch.drivers.fleet import Fleet, Launcher, Link, Network, Patience
from anabranch.drivers.flight import Security
from anabranch.drivers.forks.at_coordinator import Splitting
from anabranch.drivers.forks.launching import Forked
from anabranch.drivers.host import Errand, Host
from anabranch.drivers.host_messages import (
    Broke,
    Content,
    Copied,
    Copy,
    Done,
    Drop,
    FromDisk,
    Install,
    Installed,
    Keep,
    Kept,
    Parted,
    Ping,
    Report,
    Reported,
    SavedAt,
    Setup,
    Severed,
    Shown,
    SplitOff,
    WantContent,
)
from anabranch.drivers.interrupts import HoldBack
from anabranch.drivers.scaling.at_coordinator import Scaling, setup_under
from anabranch.drivers.streams import Broken, Refused, Remote
from anabranch.drivers.wire import Wire
from anabranch.graph.nodes import State
from anabranch.lang.errors import MemoryFull, ProgramError
from anabranch.runtime.collecting import Copies
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.messages import (
    NOTHING_YET,
    Collect,
    Committed,
    Entries,
    Failed,
    Finished,
    Joined,
    Lost,
    Outcome,
    Seen,
    Stalled,
    Version,
)
from anabranch.runtime.routing import Routing
from anabranch.runtime.worker import Worker

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

T = TypeVar("T")
TRIES = 3  # to start a worker
LEAVING = 2.0  # seconds in which workers leave that have nothing to do
Parts = Callable[[Sequence[int]], tuple[tuple[int, tuple[tuple[str, Any], ...]], ...]]


class Apart:
    """`submit` runs a request and gives its outcome; `look` reads state and `change` writes it between two epochs."""

    def __init__(
        self,
        coordinator: Coordinator,
        machine: Worker,
        copies: Copies,
        wire: Wire,
        program: bytes,
        fingerprint: str,
        beginning: Parts,
        launcher: Launcher,
        committed: Callable[[Committed | Seen], None],
        gate: Gate | None = None,
        patience: Patience | None = None,
        network: Network | None = None,
        saved: SavedAt | None = None,
        memory: int | None = None,
        spares: int = 0,
    ) -> None:
        """`machine` runs what is collected here, `copies` are for reads and writes between two epochs.

        `beginning` is what instances hold before the first epoch. If the run is `saved` a worker that is lost is
        started again, and restores what it had. All workers together have `memory` bytes for their states. `spares`
        more of them are there, with nothing to do.
        """
        self._saved = saved
        # Where not every epoch is logged, what a worker has done since the last snapshot is lost with it.
        self.recovers = saved is not None and saved.always
        self.stands_on = 0 if saved is None else saved.found  # the generation whose history has what is committed
        self._installed: list[str] = []  # entries whose kernels are in use
        self._beginning, self._launcher, self._wire = beginning, launcher, wire
        self._patience = patience or Patience()
        self.routing = copies.routing
        self._stopping = False
        self._ends: dict[int, int] = {}  # by worker: how often one has ended since one was there
        self._heard: list[Reported | None] = []  # what was told last of how busy they are
        self._process = os.getpid()
        self._left = False  # stopped, with forks that live on
        self.desk = Desk(coordinator, committed, gate or Gate(), self._post, self.progress, committed)
        self._host = Host(machine, self._post, self.desk.tell, self.desk.fail, None, self._with_rows)
        self._host.start()
        network = network or Network()
        routing, ports = self.routing, network.ports
        self._fleet = Fleet(
            routing.workers,
            Setup(
                None if launcher.carries else program,
                routing.instance_of_bucket,
                routing.worker_of_instance,
                saved,
                memory,
                routing.version,
            ),
            fingerprint,
            wire,
            self,
            self._patience,
            launcher.security or Security.of_a_run(network.tls),
            launcher.host,
            ports,
        )
        self._bringing = Bringing(self._fleet.links, self._fleet.security, wire.values, lambda: self.routing.workers)
        self._questions = Questions(self._fleet.links, self._post, self._refuse_ended)
        self._between = Between(self.desk, copies, self._questions)
        self._forks = Splitting(
            self.desk, self._fleet, self._questions, routing, launcher.host, lambda: self.addresses, self._last_parted
        )
        self._scaling = Scaling(self.desk, self._fleet, self._questions, launcher, spares)
        self.guests = self._scaling.guests
        atexit.register(self._at_exit)  # before the server's own end, which would look like the loss of all workers
        try:
            launcher.launch(self._fleet.server.address, self._fleet.security, ports, program, self.ended)
            self._wait_for_all()
            self._scaling.keep_spares()
        except BaseException:
            self._end()
            raise

    def _wait_for_all(self) -> None:
        end = monotonic() + self._patience.start
        coordinator = self.desk.coordinator
        with HoldBack() as interrupts, self.desk.locked(interrupts):
            while coordinator.lost or coordinator.unsettled:
                if isinstance(self.desk.broken, ProgramError | MemoryFull):
                    raise self.desk.broken
                self.desk.refuse_closed()
                if monotonic() > end:
                    missing = sorted(set(range(self.routing.workers)) - set(self._fleet.links))
                    raise Stopped(f"workers {missing} have not started within {self._patience.start:g} s")
                self.desk.moved.wait(PULSE)
                interrupts.relent()

    # -- clients ------------------------------------------------------------------------------------------------------

    def submit(
        self,
        entry: str,
        rows: Sequence[tuple[Any, ...]],
        watch: Watch | None = None,
        mark: Any = None,
        durable: bool = True,
    ) -> Outcome:
        """Run a request; who does not want to wait until it is on disk calls `desk.make_durable` later."""
        self.refuse_from_within()
        with HoldBack() as interrupts:
            with self.desk.locked(interrupts):
                outcome = self.desk.submit(entry, rows, interrupts, watch, mark)
            if durable:
                self.desk.make_durable()
            return outcome

    @contextmanager
    def hold(self, writes: bool = False) -> Iterator[HoldBack]:
        """Nothing runs inside the block."""
        self.refuse_from_within()
        with self.desk.hold(writes) as interrupts:
            yield interrupts

    def look(self, read: Callable[[Copies], T]) -> T:
        """What a function of the state gives, between two epochs."""
        self.refuse_from_within()
        return self._between.look(read)

    def change(self, steps: Sequence[Step], check: Step) -> None:
        """Write between two epochs, all steps or none."""
        self.refuse_from_within()
        self._between.change(steps, check)

    def scale(self, routing: Routing, machine: Worker, copies: Copies, switch: Callable[[], None]) -> float:
        """Go over to another routing, while epochs run; `switch` is called when it counts. Gives the seconds in which
        nothing could run.
        """
        self.refuse_from_within()
        if self._forks and routing.workers < self.routing.workers:
            raise TypeError("an app that has forks cannot do with fewer workers, where they live: stop the forks first")

        if isinstance(self._launcher, Forked) and routing.workers != self.routing.workers:
            self._launcher.more(routing.workers)  # says why not, before anything has moved

        def decided() -> None:
            self.routing = self._forks.routing = routing
            self._fleet.setup = setup_under(self._fleet.setup, routing)
            self._fleet.needed = routing.workers
            self._host.mail.put(Errand(lambda: setattr(self._host, "worker", machine)))
            self._between.switch(copies)
            switch()

        return self._scaling.scale(self.routing, routing, lambda: self._installed, decided)

    def renew(self, worker: int, why: str) -> None:
        """Let another take the place of a worker that has no state; comes back when it is there."""
        self.refuse_from_within()
        if self.routing.hosted(worker):
            raise RuntimeError(f"worker {worker} has state: it can only go when that is elsewhere")
        self.lost(worker, why)
        self._scaling.wait_for_all()

    def fork(self, remembered: Callable[[], T]) -> tuple[Forked, At, T]:
        """Let every worker fork itself; see `Splitting.fork`."""
        self.refuse_from_within()
        return self._forks.fork(remembered)

    def refuse_from_within(self) -> None:
        self.desk.refuse_holder()
        if threading.current_thread() is self._host.thread:
            raise RuntimeError(
                "the app was called by an entry that it runs, which would wait for itself for ever; "
                "let the entry read what it needs from state, or call the app with the result"
            )

    def stop(self, patience: float | None = None) -> None:
        """Answer what has been asked, then end the workers."""
        self.refuse_from_within()
        patience = self._patience.stop if patience is None else patience
        desk, end = self.desk, monotonic() + patience
        try:
            with HoldBack() as interrupts, desk.locked(interrupts):
                desk.close(patience, interrupts)
                while desk.coordinator.held is not None and desk.broken is None and monotonic() < end:
                    desk.moved.wait(PULSE)
                    interrupts.relent()
        finally:
            self._end()

    def crash(self, error: BaseException) -> None:
        """For tests: all processes are killed at once, that of the coordinator too."""
        self.desk.crash(error)
        for worker in range(self._fleet.workers):
            self._launcher.kill(worker)

    def lose(self, worker: int) -> None:
        """For tests: kill a worker, and come back when it is known to be lost."""
        desk, links = self.desk, self._fleet.links
        with desk.lock:
            while worker in desk.coordinator.lost:  # of the one before it
                desk.refuse_closed()
                desk.moved.wait(PULSE)
            was = links.get(worker)
        self._launcher.kill(worker)
        with desk.lock:
            while links.get(worker) is was and desk.broken is None:
                desk.moved.wait(PULSE)

    def _end(self, with_forks: bool = False) -> None:
        """Their forks keep the workers where they are, but for the end of this process."""
        self._left = True
        if self._forks and not with_forks:
            return
        with HoldBack():
            self._stopping = True
            self.desk.ended = True
            self._fleet.end()
            self._host.mail.put(Stop())
            # One that is lost may not hear that it is over, and the others have nothing left to do.
            patience = self._patience.stop
            self._launcher.end(patience if self.desk.broken is None else min(LEAVING, patience))
            self._fleet.server.stop()
            atexit.unregister(self._at_exit)

    def _last_parted(self) -> None:
        if self._left:
            self._end()

    def _refuse_ended(self) -> None:
        """Nobody answers any more."""
        if self._stopping or self.desk.broken is not None:
            self.desk.refuse_closed()

    def _at_exit(self) -> None:
        if os.getpid() == self._process:  # and not a copy of it
            self._end(with_forks=True)

    def install(self, entry: str) -> bool:
        """Let every worker use the kernels of an entry, between two epochs; False if one of them cannot."""
        coordinator = self.desk.coordinator

        def ask() -> dict[int, Any]:
            with self.hold():
                order = Install(entry, coordinator.reserved, coordinator.committed)
                return self._questions.ask(entry, dict.fromkeys(range(self.routing.workers), order))

        found = until_all_answer(ask)
        problems = {worker: answer.problem for worker, answer in found.items() if answer.problem is not None}
        for worker, problem in problems.items():
            log.error("worker %s cannot use the kernels of %s, which goes on as Python: %s", worker, entry, problem)
        if not problems:
            self._installed.append(entry)
            self._fleet.setup = replace(self._fleet.setup, entries=tuple(self._installed))
        return not problems

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def copy(self, snapshot: int, workers: Iterable[int]) -> dict[int, Copied]:
        """Let these workers copy a slice, for one who holds the state."""
        coordinator, number = self.desk.coordinator, next(self.desk.numbers)
        order = Copy(number, snapshot, coordinator.reserved, coordinator.committed)
        return without_problems(self._questions.ask(number, dict.fromkeys(workers, order)))

    def keep(self, snapshot: int, wanted: bool) -> dict[int, Kept]:
        """Let all workers put what they copied on disk, or give it up."""
        number = next(self.desk.numbers)
        asked = list(self._fleet.links) if not wanted else range(self.routing.workers)
        found = self._questions.ask(number, dict.fromkeys(asked, Keep(number, snapshot, wanted)))
        return without_problems(found) if wanted else found

    @property
    def closed(self) -> bool:
        return self.desk.closed

    def report(self) -> list[Reported]:
        """What each worker says of itself."""
        return until_all_answer(self._report)

    def _report(self) -> list[Reported]:
        with self.hold() as interrupts:  # else the sizes would be those of states that change meanwhile
            number, workers = next(self.desk.numbers), range(self.routing.workers)
            found = self._questions.ask(number, dict.fromkeys(workers, Report(number)), interrupts)
        return [found[w] for w in workers]

    def busy(self) -> list[float | None] | None:
        """The seconds that each worker has worked, as it has said since it was asked here last; all are asked again."""
        links = [self._fleet.links.get(worker) for worker in range(self.routing.workers)]
        told = [None if link is None else link.reported for link in links]
        new = [reported is not None and all(reported is not old for old in self._heard) for reported in told]
        self._heard = told
        self._fleet.post_all(Report(0))
        if None in links:
            return None
        return [r.busy if r is not None and is_new else None for r, is_new in zip(told, new, strict=True)]

    def rows(self, state: State) -> list[pa.RecordBatch]:
        """All entries of a state, between two epochs."""
        from anabranch.drivers.showing import ask_to_show

        def ask() -> list[pa.RecordBatch]:
            with self.hold() as interrupts:
                return ask_to_show(self.desk, self._questions, self.routing.workers, state, interrupts)

        return until_all_answer(ask)

    def sizes(self) -> dict[str, int]:
        """Bytes by state."""
        found: dict[str, int] = {}
        for reported in self.report():
            for name, size in reported.sizes:
                found[name] = found.get(name, 0) + size
        return found

    def progress(self) -> float:
        """How much of the epoch in flight is done, as the workers said last; they are asked again."""
        self._fleet.post_all(Report(0))
        found = [link.reported.progress for link in self._fleet.links.values() if link.reported is not None]
        return sum(found) / len(found) if found else 0.0

    # -- workers: on the threads that read what they say --------------------------------------------------------------

    def _post(self, worker: int, message: Any) -> None:
        if worker < 0:
            self._host.mail.put(message)
        else:
            self._fleet.post(worker, message)

    def _with_rows(self, event: Any) -> Any:
        """What is collected here and was staged at the workers comes here; None if nobody waits for it any more."""
        if not isinstance(event, Collect):
            return event
        try:
            return self._bringing.with_rows(event)
        except (Broken, Refused, Remote) as error:
            with self.desk.lock:
                if event.version == self.desk.coordinator.latest and isinstance(error, Remote):
                    raise
                self.desk.moved.wait(PULSE)  # if the worker is lost that is known soon
                if event.version == self.desk.coordinator.latest:
                    log.warning("rows could not be brought from a worker: the epoch begins again", exc_info=error)
                    self.desk.tell(Stalled())
            return None

    def drop(self, query: str, batch: int) -> None:
        """Nobody will ask again for what was staged up to this batch, nor for results of those before it."""
        self._fleet.post_all(Drop(query, batch))

    def places(self) -> tuple[Routing, tuple[str, ...]]:
        """What is where, and the addresses of the workers by number; where one is about to take the place of another,
        once it is there.
        """
        with HoldBack() as interrupts, self.desk.locked(interrupts):
            while self.desk.coordinator.lost:
                self.desk.refuse_closed()
                self.desk.moved.wait(PULSE)
                interrupts.relent()
            return self.routing, tuple(self._fleet.links[w].address for w in range(self.routing.workers))

    @property
    def addresses(self) -> tuple[str, ...]:
        return self.places()[1]

    @property
    def security(self) -> Security:
        return self._fleet.security

    def arrived(self, worker: int) -> None:
        """It could be started, whoever else could not yet."""
        self._ends.pop(worker, None)

    def joined(self, workers: Sequence[int]) -> None:
        """All workers are there, these since the last time."""
        for worker in workers:
            if worker not in self.desk.coordinator.workers:  # it will be, when state has moved
                with self.desk.lock:
                    self.desk.moved.notify_all()
                continue
            self.desk.tell(Joined(worker))
            self._forks.gone(worker, None, "the worker it was forked from was lost")

    def take(self, link: Link, message: Any) -> None:
        match message:
            case Ping():
                pass
            case Entries(collector=collector) if collector == HOLDER:
                self._questions.take(message.round, link.number, message)
            case Entries():
                self._host.mail.put(message)
            case Finished() | Failed() if self._questions.take(message.version, link.number, message):
                pass
            case Reported(number):
                link.reported = message
                self._questions.take(number, link.number, message)
            case Installed(entry):
                self._questions.take(entry, link.number, message)
            case Copied(number) | Kept(number) | Shown(number):
                self._questions.take(number, link.number, message)
            case SplitOff(number):
                self._questions.take(number, link.number, message)
            case Done():
                self._scaling.take(link.number, message)
            case Parted(fork):
                self._forks.gone(link.number, fork, "its process ended")
            case WantContent(version):
                self._give(link, version)
            case Severed(peer) if self._stopping or max(link.number, peer) >= self.routing.workers:
                self._scaling.severed()  # of one that comes or goes: no epoch runs there
            case Severed(peer):
                log.warning("the connection of workers %s and %s broke: the epoch begins again", link.number, peer)
                self._scaling.severed()
                self.desk.tell(Stalled())
            case Broke(full=str(full)):
                self.desk.fail(MemoryFull(full))
                with self.desk.lock:
                    self.desk.moved.notify_all()
            case Broke(story):
                self.desk.fail(RuntimeError(f"worker {link.number} has broken:\n{story}"))
            case _:
                self.desk.tell(message)
                with self.desk.lock:
                    self.desk.moved.notify_all()

    def _give(self, link: Link, version: Version) -> None:
        if version == NOTHING_YET and (self._saved is None or self.stands_on != self._saved.generation):
            beginning = self._beginning(self.routing.hosted(link.number))
            link.mail.put(Content(version, beginning, tuple(self._installed)))
        elif self._saved is not None:
            self.desk.make_durable()  # what is committed is to be found where it is looked for
            link.mail.put(FromDisk(version, self.stands_on, tuple(self._installed)))
        else:
            self.lost(link.number, f"it has nothing of version {version}")

    def failed(self, error: BaseException) -> None:
        if not isinstance(error, ProgramError):
            self.desk.fail(error)
            return
        with self.desk.lock:  # whoever starts the run is told, and nobody waits yet
            self.desk.broken = self.desk.broken or error
            self.desk.moved.notify_all()

    def ended(self, worker: int, why: str, life: int) -> bool:
        """What hosted a worker has ended: whether to start another, which has nothing of the state."""
        link = self._fleet.links.get(worker)
        if link is None:
            self._fleet.over(worker, life)
        elif link.life > life:  # another has come since
            return False
        if self._stopping or self.desk.broken is not None or worker >= self._fleet.workers:
            return False
        self._ends[worker] = self._ends.get(worker, 0) + 1
        again = self._saved is not None or self._launcher.lost is not ForkLost  # else its state is with what has ended
        if again and worker not in self._fleet.links and self._ends[worker] < TRIES:
            log.warning("worker %s has not started: %s; it is tried again", worker, why)
            return True
        early = worker >= self.routing.workers  # it has nothing yet
        if (self.recovers or not self.routing.hosted(worker)) and self._ends[worker] < TRIES:
            self.lost(worker, why)
            return True
        if early:
            self._scaling.problems[worker] = why
        else:
            self._give_up(worker, why)
        return False

    def lost(self, worker: int, why: str) -> None:
        """A worker is gone. Where it had no state, or that is saved, another takes its place; else the run ends."""
        if self._stopping or self.desk.broken is not None:
            return
        link = None
        with self.desk.lock:  # else it could count by the time it is forgotten, or count no more
            counts = worker < self.routing.workers  # else it has nothing yet, or nothing any more
            had = counts and bool(self.routing.hosted(worker))
            ends = had and not self.recovers
            if not ends:
                link = self._fleet.forget(worker)
            if link is not None and counts:
                restores = " and restores what it had" if had else ""
                log.warning("worker %s is lost (%s): another takes its place%s", worker, why, restores)
                self.desk.tell(Lost(worker))
        if ends:
            self._give_up(worker, why)
        elif link is not None and counts:
            self._launcher.kill(worker, link.life)

    def _give_up(self, worker: int, why: str) -> None:
        if self._stopping or self.desk.broken is not None:
            return
        saved, kind = self._saved is not None, self._launcher.lost
        lost = "more often than makes sense" if self.recovers else "and with it the state it held"
        way_on = "start it again with the same checkpoint"
        if saved and not self.recovers:
            lost = "and with it what it did since the last snapshot"
            way_on += ', which goes on from there; with durability="epoch" a worker comes back alone'
        if not saved:
            fork, app = "make another with app.fork()", "start it again with ab.run(...) and fill it from its source"
            way_on = fork if kind is ForkLost else app
        self.desk.fail(kind(f"worker {worker} is lost ({why}), {lost}: the run has ended; {way_on}"))
