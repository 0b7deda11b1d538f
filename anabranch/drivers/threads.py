"""Threads around the machines: one for each worker, all in one address space.

A small request that finds nothing in its way runs all machines on its own thread, without a hand-over.

Laws: a worker's machine is touched by its own thread, or, while nothing is in flight, by whoever has the lock; no user
code of a batch runs under the lock; a machine that breaks ends the run and tells every waiting caller.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from anabranch.drivers.callers import Gate, Stop, Stopped
from anabranch.drivers.desk import Desk, Watch
from anabranch.drivers.host import Host
from anabranch.drivers.interrupts import HoldBack
from anabranch.lang.errors import MemoryFull
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.messages import (
    Again,
    Committed,
    CoordinatorCommand,
    Outcome,
    Raised,
    Reply,
    Request,
    Submit,
    ToCoordinator,
    ToWorker,
    WorkerCommand,
)
from anabranch.runtime.worker import Worker

HEADROOM = 150  # frames of the stack


class Threads:
    """`submit` runs a request and gives its outcome; `hold` gives all state to the caller between two epochs."""

    def __init__(
        self,
        coordinator: Coordinator,
        workers: Sequence[Worker],
        committed: Callable[[Committed], None],
        gate: Gate | None = None,
    ) -> None:
        self.desk = Desk(coordinator, committed, gate or Gate(), self._post, self.progress)
        self._inline_by: int | None = None  # the thread that runs the machines itself
        self.hosts = [Host(w, self._post, self.desk.tell, self.desk.fail) for w in workers]
        for host in self.hosts:
            host.start()

    def _post(self, worker: int, message: Any) -> None:
        self.hosts[worker].mail.put(message)

    # -- clients ------------------------------------------------------------------------------------------------

    def submit(
        self,
        entry: str,
        rows: Sequence[tuple[Any, ...]],
        watch: Watch | None = None,
        mark: Any = None,
        durable: bool = True,
    ) -> Outcome:
        """Run a request; `watch` is told from time to time how much of the epoch is done. Who does not want to wait
        until it is on disk calls `desk.make_durable` later.
        """
        self.refuse_from_within()
        desk = self.desk
        with HoldBack(_SUBMIT) as interrupts:
            desk.acquire(interrupts)
            try:
                if desk.coordinator.idle and len(rows) <= desk.gate.inline_rows:
                    desk.refuse_closed()
                    request = Request(next(desk.numbers), entry, rows, mark)
                    outcome = self._express(request, interrupts) or self._inline(request, interrupts)
                else:
                    outcome = desk.submit(entry, rows, interrupts, watch, mark)
            finally:
                desk.lock.release()
            if durable and desk.saver is not None:
                desk.make_durable()
            return outcome

    @contextmanager
    def hold(self, writes: bool = False) -> Iterator[HoldBack]:
        """All state is the caller's inside the block: see `Desk.hold`."""
        self.refuse_from_within()
        with self.desk.hold(writes) as interrupts:
            yield interrupts

    def switch(self, workers: Sequence[Worker]) -> None:
        """Let these machines do the work from now on; for whoever holds the state."""
        hosts = self.hosts
        for host, worker in zip(hosts, workers, strict=False):
            host.worker = worker
        more = [Host(w, self._post, self.desk.tell, self.desk.fail) for w in workers[len(hosts) :]]
        for host in more:
            host.start()
        for host in hosts[len(workers) :]:
            host.mail.put(Stop())
            host.thread.join()
        self.hosts = [*hosts[: len(workers)], *more]

    def stop(self, patience: float = 10.0) -> None:
        """Answer what has been asked, then end the threads. What takes longer than the patience is taken back."""
        self.refuse_from_within()
        with HoldBack() as interrupts, self.desk.locked(interrupts):
            try:
                self.desk.close(patience, interrupts)
            finally:
                for host in self.hosts:
                    host.mail.put(Stop())  # after what is on its way: a worker that was told to settle still does
        for thread in self.threads:
            thread.join(patience)
        stuck = [h for h in self.hosts if h.thread.is_alive()]
        if stuck and self.desk.broken is None:
            raise Stopped(f"{stuck[0].where} after {patience:g} s; what was not answered is not in the state")

    def crash(self, error: BaseException) -> None:
        """For tests: see `Desk.crash`."""
        self.desk.crash(error)

    @property
    def threads(self) -> list[threading.Thread]:
        return [host.thread for host in self.hosts]

    @property
    def busy(self) -> list[float]:
        """How many seconds each worker has worked."""
        return [host.busy for host in self.hosts]

    @property
    def closed(self) -> bool:
        """Does it take no more requests?"""
        return self.desk.closed

    def progress(self) -> float:
        """How much of the epoch in flight is done."""
        leader = self.desk.coordinator.leader
        if leader is not None:  # a fused run is the work of one
            return self.hosts[leader].worker.progress
        return sum(host.worker.progress for host in self.hosts) / len(self.hosts)

    def refuse_from_within(self) -> None:
        """An entry that waits for the app waits for itself. A machine must not run out of stack in the middle."""
        self.desk.refuse_holder()
        if self._inline_by == threading.get_ident() or threading.current_thread() in self.threads:
            raise RuntimeError(
                "the app was called by an entry that it runs, which would wait for itself for ever; "
                "let the entry read what it needs from state, or call the app with the result"
            )
        try:
            sys._getframe(sys.getrecursionlimit() - HEADROOM)
        except ValueError:
            return
        raise RecursionError(f"fewer than {HEADROOM} frames are left of the stack: an app needs as many for a call")

    # -- all machines on the caller's thread ----------------------------------------------------------------------

    def _express(self, request: Request, interrupts: HoldBack) -> Outcome | None:
        """A request that has a kernel, on this thread, without messages; None if it has none."""
        self._inline_by = threading.get_ident()
        try:
            coordinator, worker = self.desk.coordinator, self.hosts[0].worker
            batch = worker.runner.batch(request.entry, request.rows, coordinator.sequence)
            if batch is None:
                return None
            start = perf_counter()
            committed = coordinator.committed
            version, placed = coordinator.alone(request)
            interrupts.let_through = True
            outcome = worker.alone(batch, version, committed, placed)
            if isinstance(outcome, Raised) and isinstance(outcome.error, MemoryFull) and worker.memory.tidy():
                again = worker.runner.batch(request.entry, request.rows, placed.sequence)
                assert again is not None, f"{request.entry} has lost its kernel"
                outcome = worker.alone(again, version, committed, placed)
            interrupts.let_through = False
            self.desk.committed(coordinator.alone_done(placed, outcome))
            self.hosts[0].worked(perf_counter() - start)
            return outcome
        except BaseException as error:
            self.desk.fail(error)
            raise
        finally:
            self._inline_by = None

    def _inline(self, request: Request, interrupts: HoldBack) -> Outcome:
        """All machines on this thread; by the law of `idle` no other thread has anything to do."""
        self._inline_by = threading.get_ident()
        try:
            todo: deque[tuple[int, CoordinatorCommand | WorkerCommand]] = deque()
            todo += [(0, c) for c in self.desk.coordinator.handle(Submit(request))]
            # Only a fused run can be cut short by an exception; in stages one would only make the epoch begin again.
            interrupts.let_through = self.desk.coordinator.leader is not None
            outcome: Outcome | None = None
            while todo:
                at, command = todo.popleft()
                match command:
                    case ToWorker(at, message):
                        todo += [(at, c) for c in self.hosts[at].timed(message)]
                    case Again():
                        todo += [(at, c) for c in self.hosts[at].timed(None)]
                    case ToCoordinator(told):
                        todo += [(at, c) for c in self.desk.coordinator.handle(told)]
                    case Reply(_, found):
                        outcome = found
                    case Committed():  # whoever hears of it may call the user's code too, and is not cut short
                        interrupts.let_through = False
                        self.desk.committed(command)
                    case _:
                        raise AssertionError(f"{command} cannot happen on one thread")
            assert outcome is not None, f"{request.number} was not answered by {self.desk.coordinator}"
            return outcome
        except BaseException as error:
            self.desk.fail(error)
            raise
        finally:
            self._inline_by = None


_SUBMIT = Threads.submit.__code__
