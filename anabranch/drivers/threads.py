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
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from anabranch.drivers.interrupts import HoldBack
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


class Stopped(RuntimeError):
    """The app has been stopped, or its engine has broken: it takes no more requests."""


@dataclass(slots=True)
class Waiter:
    """A caller that waits for its request."""

    answered: threading.Event = field(default_factory=threading.Event)
    outcome: Outcome | None = None  # None if the state was granted, or the request withdrawn
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Ends the thread of a worker."""


@dataclass(frozen=True, slots=True)
class Gate:
    """How much may wait or run at once, and how many rows a request has at most that runs on its caller's thread."""

    rows: int = 1_000_000
    inline_rows: int = 64


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
        self._waiters: dict[int, Waiter] = {}
        self._rows = 0  # admitted and not yet answered
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

    def submit(self, entry: str, rows: tuple[tuple[Any, ...], ...], watch: Watch | None = None) -> Outcome:
        """Run a request; `watch` is told from time to time how much of the epoch is done."""
        with self._lock:
            self._admit(len(rows))
            request = Request(next(self._numbers), entry, rows)
            if self._coordinator.idle and len(rows) <= self._gate.inline_rows:
                self._rows -= len(rows)
                with HoldBack(_INLINE) as interrupts:
                    return self._inline(request, interrupts)
            waiter = self._enter(request.number, Submit(request))
        try:
            self._wait(waiter, request.number, watch)
        finally:
            with self._lock:
                self._rows -= len(rows)
                self._moved.notify_all()
        assert waiter.outcome is not None
        return waiter.outcome

    @contextmanager
    def hold(self, writes: bool = False) -> Iterator[None]:
        """All state is the caller's inside the block; with `writes` it makes a new version, unless it raises."""
        with self._lock:
            self._refuse_closed()
            number = next(self._numbers)
            waiter = self._enter(number, Hold(number))
        self._wait(waiter, number, None)
        wrote = False
        try:
            yield
            wrote = writes
        finally:
            self._tell_coordinator(Release(number, wrote))

    def stop(self, patience: float = 10.0) -> None:
        """Answer what has been asked, then end the threads."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._moved.notify_all()
                self._moved.wait_for(lambda: not self._waiters, patience)
                for mail in self._mail:
                    mail.put(Stop())
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(patience)
        stuck = [t for t in self._threads if t.is_alive()]
        if stuck and self._broken is None:
            error = Stopped(f"{_where(stuck[0])} after {patience:g} s; what was not answered is not in the state")
            with self._lock:
                self._break(error)
            raise error

    def progress(self) -> float:
        """How much of the epoch in flight is done."""
        return sum(worker.progress for worker in self._workers) / len(self._workers)

    def _admit(self, rows: int) -> None:
        """Wait until there is room: a caller that is too fast is slowed down, not buffered."""
        self._refuse_closed()
        while self._rows and self._rows + rows > self._gate.rows:
            self._moved.wait()
            self._refuse_closed()
        self._rows += rows

    def _refuse_closed(self) -> None:
        if self._broken is not None:
            raise Stopped("the engine has broken and takes no more requests; see the cause") from self._broken
        if self._closed:
            raise Stopped("the app has been stopped: start another with ab.run(...)")

    def _enter(self, number: int, event: CoordinatorEvent) -> Waiter:
        waiter = self._waiters[number] = Waiter()
        self._tell_coordinator(event)
        return waiter

    def _wait(self, waiter: Waiter, number: int, watch: Watch | None) -> None:
        try:
            if watch is None:
                waiter.answered.wait()
            while watch is not None and not waiter.answered.wait(0.1):
                watch(self.progress())
        except BaseException as error:  # Ctrl-C above all
            with self._lock:
                self._tell_coordinator(Withdraw(number))
                if self._coordinator.held == number:
                    self._tell_coordinator(Release(number, False))
                elif not waiter.withdrawn:
                    error.add_note("the request had already been carried out")
            raise
        if self._broken is not None and waiter.outcome is None:
            self._refuse_closed()

    # -- machines -----------------------------------------------------------------------------------------------

    def _inline(self, request: Request, interrupts: HoldBack) -> Outcome:
        """All machines on this thread; by the law of `idle` no other thread has anything to do."""
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
                # What was left to do before an event is still to do after it.
                again = again and event is not None
                for command in commands:
                    match command:
                        case ToWorker(peer, message):
                            self._mail[peer].put(message)
                        case ToCoordinator(told):
                            self._tell_coordinator(told)
                        case Again():
                            again = True
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


_INLINE = Threads._inline.__code__
