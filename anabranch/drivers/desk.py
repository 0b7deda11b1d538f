"""The coordinator and those who wait for it.

The coordinator has no thread: whoever has something to tell it does so under the lock of its desk.

Laws: callers come in turn, and no more rows wait or run at once than the gate lets in; an answer is given once; when
the engine breaks, every caller that waits is told, and none waits again.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NoReturn, Protocol, TypeVar

from anabranch.drivers.callers import Gate, StateLost, Stopped, Waiter
from anabranch.drivers.interrupts import HoldBack
from anabranch.lang.entry import add_note
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.messages import (
    Committed,
    CoordinatorCommand,
    CoordinatorEvent,
    Grant,
    Hold,
    Outcome,
    Raised,
    Release,
    Reply,
    Request,
    Seen,
    Submit,
    ToWorker,
    Withdraw,
    Withdrawn,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
Watch = Callable[[float], None]
PULSE = 0.1  # seconds between two looks at what cannot wake a waiting thread


class Durable(Protocol):
    """Whoever writes epochs to disk: `ticket` is the last that has anything to write."""

    ticket: int

    def wait(self, ticket: int) -> None: ...


class Desk:
    """`post` sends a message to a worker; `progress` says how much of the epoch in flight is done."""

    def __init__(
        self,
        coordinator: Coordinator,
        committed: Callable[[Committed], None],
        gate: Gate,
        post: Callable[[int, Any], None],
        progress: Callable[[], float],
        seen: Callable[[Seen], None] = lambda seen: None,
    ) -> None:
        self.coordinator, self.committed, self.seen, self.gate = coordinator, committed, seen, gate
        self._post, self._progress = post, progress
        self.saver: Durable | None = None
        self.writers: tuple[str, ...] = ()  # whose logs have what the holder of the state has written
        self.lock = threading.RLock()
        self.moved = threading.Condition(self.lock)
        self.numbers = itertools.count(1)
        self.line: deque[object] = deque()  # callers that wait for room, the first first
        self.waiters: dict[int, Waiter] = {}
        self.rows = 0  # of all waiters
        self._holder: int | None = None  # the thread that has all state
        self.ended = False  # it takes no more requests
        self.broken: BaseException | None = None

    @property
    def closed(self) -> bool:
        return self.ended or self.broken is not None

    # -- callers: Ctrl-C is held back throughout, and let go where nothing can break ----------------------------------

    def submit(
        self,
        entry: str,
        rows: Sequence[tuple[Any, ...]],
        interrupts: HoldBack,
        watch: Watch | None = None,
        mark: Any = None,
    ) -> Outcome:
        """Run a request, with the lock; it is let go meanwhile. `watch` is told from time to time how far it is."""
        self.wait_for_room(len(rows), interrupts)
        request = Request(next(self.numbers), entry, rows, mark)
        waiter = self._enter(request.number, len(rows), Submit(request))
        self._wait(waiter, request.number, interrupts, watch)
        assert waiter.outcome is not None
        return waiter.outcome

    @contextmanager
    def hold(self, writes: bool = False, keeps: bool = False) -> Iterator[HoldBack]:
        """All state is the caller's inside the block; with `writes` it makes a new version, unless it raises; with
        `keeps` also where a worker is lost meanwhile.

        Ctrl-C waits for the end of the block, or until the block relents.
        """
        with HoldBack() as interrupts:
            number, _ = self._ask_for_state(None, interrupts)
            wrote = False
            try:
                with self._holding():
                    yield interrupts
                wrote = writes
            finally:
                self._let_go(Release(number, wrote, self.writers, keeps))
            if wrote:
                self.make_durable()

    def _let_go(self, release: Release) -> None:
        """A version that is begun with it and cannot be logged is the end: it is neither there nor not there."""
        try:
            self.tell(release)
        except Exception as error:
            self._not_saved(error)
        finally:
            self.writers = ()

    def look(self, read: Callable[[Any], T], held: Callable[[HoldBack], T]) -> T:
        """What `read` gives of copies of the state, if others hold all of it while a worker is restored; else what
        `held` gives, while all state is the caller's.
        """
        with HoldBack() as interrupts:
            number, outcome = self._ask_for_state(read, interrupts)
            if outcome is None:
                try:
                    with self._holding():
                        return held(interrupts)
                finally:
                    self.tell(Release(number, False))
        if isinstance(outcome, Raised):
            raise outcome.error
        found: Any = outcome.values
        answer: T = found[0]
        return answer

    @contextmanager
    def _holding(self) -> Iterator[None]:
        self._holder = threading.get_ident()
        try:
            yield
        finally:
            self._holder = None

    def refuse_holder(self) -> None:
        """Who has all state and asks for more would wait for itself: code of a caller's does, such as what compares or
        shows a key of a class of its own.
        """
        if self._holder == threading.get_ident():
            raise RuntimeError(
                "the app was called while it reads or writes a state for this same thread, which would wait for itself "
                "for ever; likely a method of a key or a value, or a merge, calls the app: call it before, and use "
                "the result"
            )

    def _ask_for_state(self, read: Callable[[Any], Any] | None, interrupts: HoldBack) -> tuple[int, Outcome | None]:
        """Wait until it is the caller's, or what was to be read has an outcome."""
        self.refuse_holder()
        with self.locked(interrupts):
            self.refuse_closed()
            number = next(self.numbers)
            waiter = self._enter(number, 0, Hold(number, read))
            self._wait(waiter, number, interrupts, None)
            return number, waiter.outcome

    def make_durable(self) -> None:
        """Wait, without the lock, until all that has been committed so far is on disk."""
        saver = self.saver
        if saver is None:
            return
        try:
            saver.wait(saver.ticket)
        except Exception as error:
            self._not_saved(error)

    def _not_saved(self, error: Exception) -> NoReturn:
        self.fail(error)
        raise Stopped(f"what was asked for could not be saved, and the app has ended: {error}") from error

    def close(self, patience: float, interrupts: HoldBack) -> None:
        """Answer what has been asked, with the lock; what takes longer than the patience is taken back."""
        self.ended = True
        self.moved.notify_all()
        end = perf_counter() + patience
        try:
            while self.waiters and self.broken is None and perf_counter() < end:
                self.moved.wait(PULSE)
                interrupts.relent()
        finally:
            for number in list(self.waiters):
                self.tell(Withdraw(number))

    def acquire(self, interrupts: HoldBack) -> None:
        while not self.lock.acquire(timeout=PULSE):
            interrupts.relent()

    @contextmanager
    def locked(self, interrupts: HoldBack) -> Iterator[None]:
        self.acquire(interrupts)
        try:
            yield
        finally:
            self.lock.release()

    def refuse_closed(self) -> None:
        if isinstance(self.broken, StateLost):
            raise type(self.broken)(*self.broken.args)
        if self.broken is not None:
            raise Stopped("the engine has broken and takes no more requests; see the cause") from self.broken
        if self.ended:
            raise Stopped("the app has been stopped: start another with ab.run(...)")

    def wait_for_room(self, rows: int, interrupts: HoldBack) -> None:
        """A caller that is too fast is slowed down, not buffered; the one that came first goes first."""
        ticket = object()
        self.line.append(ticket)
        try:
            while self.line[0] is not ticket or (self.rows and self.rows + rows > self.gate.rows):
                self.refuse_closed()
                self.moved.wait(PULSE)
                interrupts.relent()
            self.refuse_closed()
        finally:
            self.line.remove(ticket)
            self.moved.notify_all()

    def _enter(self, number: int, rows: int, event: CoordinatorEvent) -> Waiter:
        waiter = self.waiters[number] = Waiter(rows)
        self.rows += rows
        self.tell(event)
        return waiter

    def _wait(self, waiter: Waiter, number: int, interrupts: HoldBack, watch: Watch | None) -> None:
        """Wait for the answer, without the lock; what cuts the waiting short takes the request back."""
        self.lock.release()
        try:
            while not waiter.answered.wait(PULSE):
                interrupts.relent()
                if watch is not None:
                    watch(self._progress())
        except BaseException as error:
            with self.lock:
                self.tell(Withdraw(number))
                if self.coordinator.held == number:
                    self.tell(Release(number, False))
                elif not waiter.withdrawn:
                    add_note(error, "the request had already been carried out")
            raise
        finally:
            self.lock.acquire()
        if waiter.withdrawn:
            raise Stopped("the app was stopped before the request was carried out: nothing of it has taken effect")
        if waiter.outcome is None and self.broken is not None:
            self.refuse_closed()

    # -- the coordinator ----------------------------------------------------------------------------------------------

    def tell(self, event: CoordinatorEvent) -> None:
        with self.lock:
            self.carry_out(self.coordinator.handle(event))

    def carry_out(self, commands: Iterable[CoordinatorCommand]) -> None:
        """What the coordinator says is to be done, with the lock."""
        with self.lock:
            for command in commands:
                match command:
                    case ToWorker(worker, message):
                        self._post(worker, message)
                    case Committed():
                        self.committed(command)
                    case Seen():
                        self.seen(command)
                    case Reply(number, outcome):
                        self._answer(number, outcome, False)
                    case Withdrawn(number):
                        self._answer(number, None, True)
                    case Grant(number):
                        self._answer(number, None, False)

    def _answer(self, number: int, outcome: Outcome | None, withdrawn: bool) -> None:
        waiter = self.waiters.pop(number, None)
        if waiter is not None:
            self.rows -= waiter.rows
            waiter.outcome, waiter.withdrawn = outcome, withdrawn
            waiter.answered.set()
        self.moved.notify_all()

    def fail(self, error: BaseException) -> None:
        """The engine has broken. Nobody may wait for ever, and nothing may go on."""
        with self.lock:
            if self.broken is None:
                log.critical("the engine has broken", exc_info=error)
            self._give_up(error)

    def crash(self, error: BaseException) -> None:
        """For tests: as if the process were killed now. What is not committed never will be."""
        with self.lock:
            self.committed = lambda committed: None
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        self.broken = self.broken or error
        for number in list(self.waiters):
            self._answer(number, None, False)
