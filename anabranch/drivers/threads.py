"""Threads around the machines: one for each worker, all in one address space.

The coordinator has no thread: whoever has something to tell it does so under the engine's lock. A small request that
finds nothing in its way runs all machines on its own thread, without a hand-over.

Laws: a worker's machine is touched by its own thread, or, while nothing is in flight, by whoever has the lock; no user
code of a batch runs under the lock; a machine that breaks ends the run and tells every waiting caller.
"""

from __future__ import annotations

import itertools
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from anabranch.drivers.callers import Gate, Stop, Stopped, Waiter
from anabranch.drivers.interrupts import HoldBack
from anabranch.lang.entry import add_note
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.messages import (
    Again,
    Committed,
    CoordinatorCommand,
    CoordinatorEvent,
    Grant,
    Hold,
    Outcome,
    Release,
    Reply,
    Request,
    Submit,
    ToCoordinator,
    ToWorker,
    Withdraw,
    Withdrawn,
    WorkerCommand,
    WorkerEvent,
)
from anabranch.runtime.worker import Worker

log = logging.getLogger(__name__)

Watch = Callable[[float], None]
PULSE = 0.1  # seconds between two looks at what cannot wake a waiting thread
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
        self._coordinator, self._workers, self._committed = coordinator, workers, committed
        self._gate = gate or Gate()
        self._lock = threading.RLock()
        self._moved = threading.Condition(self._lock)
        self._numbers = itertools.count(1)
        self._line: deque[object] = deque()  # callers that wait for room, the first first
        self._waiters: dict[int, Waiter] = {}
        self._rows = 0  # of all waiters
        self._inline_by: int | None = None  # the thread that runs the machines itself
        self._closed = False
        self._broken: BaseException | None = None
        self._mail: list[SimpleQueue[WorkerEvent | Stop]] = [SimpleQueue() for _ in workers]
        self.busy = [0.0] * len(workers)
        self._threads = [
            threading.Thread(target=self._work, args=(w,), name=f"anabranch-worker-{w.number}", daemon=True)
            for w in workers
        ]
        for thread in self._threads:
            thread.start()

    # -- clients ------------------------------------------------------------------------------------------------

    def submit(self, entry: str, rows: Sequence[tuple[Any, ...]], watch: Watch | None = None) -> Outcome:
        """Run a request; `watch` is told from time to time how much of the epoch is done."""
        self.refuse_from_within()
        with HoldBack(_SUBMIT) as interrupts:
            self._acquire(interrupts)
            try:
                if self._coordinator.idle and len(rows) <= self._gate.inline_rows:
                    self._refuse_closed()
                    request = Request(next(self._numbers), entry, rows)
                    return self._express(request, interrupts) or self._inline(request, interrupts)
                self._wait_for_room(len(rows), interrupts)
                request = Request(next(self._numbers), entry, rows)
                waiter = self._enter(request.number, len(rows), Submit(request))
                self._wait(waiter, request.number, interrupts, watch)
                assert waiter.outcome is not None
                return waiter.outcome
            finally:
                self._lock.release()

    @contextmanager
    def hold(self, writes: bool = False) -> Iterator[HoldBack]:
        """All state is the caller's inside the block; with `writes` it makes a new version, unless it raises.

        Ctrl-C waits for the end of the block, or until the block relents.
        """
        self.refuse_from_within()
        with HoldBack() as interrupts:
            with self._locked(interrupts):
                self._refuse_closed()
                number = next(self._numbers)
                waiter = self._enter(number, 0, Hold(number))
                self._wait(waiter, number, interrupts, None)
            wrote = False
            try:
                yield interrupts
                wrote = writes
            finally:
                self._tell_coordinator(Release(number, wrote))

    def stop(self, patience: float = 10.0) -> None:
        """Answer what has been asked, then end the threads. What takes longer than the patience is taken back."""
        self.refuse_from_within()
        with HoldBack() as interrupts, self._locked(interrupts):
            self._closed = True
            self._moved.notify_all()
            try:
                self._wait_until(lambda: not self._waiters, patience, interrupts)
            finally:
                for number in list(self._waiters):
                    self._tell_coordinator(Withdraw(number))
                for mail in self._mail:
                    mail.put(Stop())  # after what is on its way: a worker that was told to settle still does
        for thread in self._threads:
            thread.join(patience)
        stuck = [t for t in self._threads if t.is_alive()]
        if stuck and self._broken is None:
            raise Stopped(f"{_where(stuck[0])} after {patience:g} s; what was not answered is not in the state")

    @property
    def closed(self) -> bool:
        """Does it take no more requests?"""
        return self._closed or self._broken is not None

    def progress(self) -> float:
        """How much of the epoch in flight is done."""
        leader = self._coordinator.leader
        if leader is not None:  # a fused run is the work of one
            return self._workers[leader].progress
        return sum(worker.progress for worker in self._workers) / len(self._workers)

    # -- waiting: Ctrl-C is held back throughout, and let go where nothing can break --------------------------------

    def _acquire(self, interrupts: HoldBack) -> None:
        while not self._lock.acquire(timeout=PULSE):
            interrupts.relent()

    @contextmanager
    def _locked(self, interrupts: HoldBack) -> Iterator[None]:
        self._acquire(interrupts)
        try:
            yield
        finally:
            self._lock.release()

    def _wait_for_room(self, rows: int, interrupts: HoldBack) -> None:
        """A caller that is too fast is slowed down, not buffered; the one that came first goes first."""
        ticket = object()
        self._line.append(ticket)
        try:
            while self._line[0] is not ticket or (self._rows and self._rows + rows > self._gate.rows):
                self._refuse_closed()
                self._moved.wait(PULSE)
                interrupts.relent()
            self._refuse_closed()
        finally:
            self._line.remove(ticket)
            self._moved.notify_all()

    def _wait_until(self, what: Callable[[], bool], patience: float, interrupts: HoldBack) -> None:
        end = perf_counter() + patience
        while not what() and self._broken is None and perf_counter() < end:
            self._moved.wait(PULSE)
            interrupts.relent()

    def _wait(self, waiter: Waiter, number: int, interrupts: HoldBack, watch: Watch | None) -> None:
        """Wait for the answer, without the lock; what cuts the waiting short takes the request back."""
        self._lock.release()
        try:
            while not waiter.answered.wait(PULSE):
                interrupts.relent()
                if watch is not None:
                    watch(self.progress())
        except BaseException as error:
            with self._lock:
                self._tell_coordinator(Withdraw(number))
                if self._coordinator.held == number:
                    self._tell_coordinator(Release(number, False))
                elif not waiter.withdrawn:
                    add_note(error, "the request had already been carried out")
            raise
        finally:
            self._lock.acquire()
        if waiter.withdrawn:
            raise Stopped("the app was stopped before the request was carried out: nothing of it has taken effect")
        if waiter.outcome is None and self._broken is not None:
            self._refuse_closed()

    def _refuse_closed(self) -> None:
        if self._broken is not None:
            raise Stopped("the engine has broken and takes no more requests; see the cause") from self._broken
        if self._closed:
            raise Stopped("the app has been stopped: start another with ab.run(...)")

    def refuse_from_within(self) -> None:
        """An entry that waits for the app waits for itself. A machine must not run out of stack in the middle."""
        if self._inline_by == threading.get_ident() or threading.current_thread() in self._threads:
            raise RuntimeError(
                "the app was called by an entry that it runs, which would wait for itself for ever; "
                "let the entry read what it needs from state, or call the app with the result"
            )
        try:
            sys._getframe(sys.getrecursionlimit() - HEADROOM)
        except ValueError:
            return
        raise RecursionError(f"fewer than {HEADROOM} frames are left of the stack: an app needs as many for a call")

    # -- machines -----------------------------------------------------------------------------------------------

    def _enter(self, number: int, rows: int, event: CoordinatorEvent) -> Waiter:
        waiter = self._waiters[number] = Waiter(rows)
        self._rows += rows
        self._tell_coordinator(event)
        return waiter

    def _express(self, request: Request, interrupts: HoldBack) -> Outcome | None:
        """A request that has a kernel, on this thread, without messages; None if it has none."""
        self._inline_by = threading.get_ident()
        try:
            coordinator, worker = self._coordinator, self._workers[0]
            batch = worker.runner.batch(request.entry, request.rows, coordinator.sequence)
            if batch is None:
                return None
            start = perf_counter()
            committed = coordinator.committed
            version, placed = coordinator.alone(request)
            interrupts.let_through = True
            outcome = worker.alone(batch, version, committed, placed)
            interrupts.let_through = False
            self._committed(coordinator.alone_done(placed, outcome))
            self.busy[0] += perf_counter() - start
            return outcome
        except BaseException as error:
            self._break(error)
            raise
        finally:
            self._inline_by = None

    def _inline(self, request: Request, interrupts: HoldBack) -> Outcome:
        """All machines on this thread; by the law of `idle` no other thread has anything to do."""
        self._inline_by = threading.get_ident()
        try:
            todo: deque[tuple[int, CoordinatorCommand | WorkerCommand]] = deque()
            todo += [(0, c) for c in self._coordinator.handle(Submit(request))]
            # Only a fused run can be cut short by an exception; in stages one would only make the epoch begin again.
            interrupts.let_through = self._coordinator.leader is not None
            outcome: Outcome | None = None
            while todo:
                at, command = todo.popleft()
                match command:
                    case ToWorker(at, message):
                        todo += [(at, c) for c in self._timed(at, message)]
                    case Again():
                        todo += [(at, c) for c in self._timed(at, None)]
                    case ToCoordinator(told):
                        todo += [(at, c) for c in self._coordinator.handle(told)]
                    case Reply(_, found):
                        outcome = found
                    case Committed():
                        self._committed(command)
                    case _:
                        raise AssertionError(f"{command} cannot happen on one thread")
            assert outcome is not None, f"{request.number} was not answered by {self._coordinator}"
            return outcome
        except BaseException as error:
            self._break(error)
            raise
        finally:
            self._inline_by = None

    def _timed(self, worker: int, event: WorkerEvent | None) -> list[WorkerCommand]:
        start = perf_counter()
        machine = self._workers[worker]
        commands = machine.step() if event is None else machine.handle(event)
        self.busy[worker] += perf_counter() - start
        return commands

    def _work(self, worker: Worker) -> None:
        """The thread of a worker."""
        mail, number = self._mail[worker.number], worker.number
        again = False
        while True:
            event = None if again and mail.empty() else mail.get()
            if isinstance(event, Stop):
                return
            try:
                commands = self._timed(number, event)
                # Before anything is told: from then on the machine may be someone else's.
                again = bool(commands) and isinstance(commands[-1], Again)
                for command in commands:
                    match command:
                        case ToWorker(peer, message):
                            self._mail[peer].put(message)
                        case ToCoordinator(told):
                            self._tell_coordinator(told)
                        case Again():
                            pass
                        case _:
                            raise AssertionError(f"{command} cannot happen in one address space")
            except BaseException as error:
                with self._lock:
                    self._break(error)
                return

    def _tell_coordinator(self, event: CoordinatorEvent) -> None:
        with self._lock:
            for command in self._coordinator.handle(event):
                match command:
                    case ToWorker(worker, message):
                        self._mail[worker].put(message)
                    case Committed():
                        self._committed(command)
                    case Reply(number, outcome):
                        self._tell(number, outcome, False)
                    case Withdrawn(number):
                        self._tell(number, None, True)
                    case Grant(number):
                        self._tell(number, None, False)

    def _tell(self, number: int, outcome: Outcome | None, withdrawn: bool) -> None:
        waiter = self._waiters.pop(number, None)
        if waiter is not None:
            self._rows -= waiter.rows
            waiter.outcome, waiter.withdrawn = outcome, withdrawn
            waiter.answered.set()
        self._moved.notify_all()

    def _break(self, error: BaseException) -> None:
        """A machine has broken: a mistake of ours. Nobody may wait for ever, and nothing may go on."""
        log.critical("the engine has broken", exc_info=error)
        self._broken = self._broken or error
        for number in list(self._waiters):
            self._tell(number, None, False)


def _where(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    place = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
    return f"{thread.name} is still in user code{place}"


_SUBMIT = Threads.submit.__code__
