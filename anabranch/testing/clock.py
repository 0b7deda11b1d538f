"""A clock that stands still until a test lets time go by."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

PULSE = 0.02  # seconds between two looks at an event, which cannot wake who waits on a clock
PATIENCE = 60.0  # seconds in which a thread does what is due
NEARLY = 1e-9  # seconds: sums of floats miss their time by less


class SetClock:
    """The clock of a kit, `kit.clock`. Time goes by in `advance` alone, from one moment at which something is due to
    the next.

    Laws: when `advance` comes back, every thread that had something to do by then has done it, and waits for its next
    time or has ended; what is due earlier is done earlier.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._moved = threading.Condition()
        self._due: dict[threading.Thread, float] = {}  # when each thread that waits has something to do
        self._busy: set[threading.Thread] = set()  # those that will wait again, or end

    def now(self) -> float:
        """Seconds since the clock was made."""
        with self._moved:
            return self._now

    def start(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=name, daemon=True)
        with self._moved:
            self._busy.add(thread)
            thread.start()
        return thread

    def wait(self, event: threading.Event, seconds: float) -> bool:
        me = threading.current_thread()
        with self._moved:
            self._busy.discard(me)
            self._due[me] = self._now + seconds
            self._moved.notify_all()
            while me in self._due and not event.is_set():
                self._moved.wait(PULSE)
            self._due.pop(me, None)
            self._busy.add(me)
        return event.is_set()

    def advance(self, seconds: float) -> None:
        """Let so many seconds go by; comes back when all that became due has been done."""
        if not seconds >= 0:
            raise ValueError(f"time does not go back, got {seconds!r} seconds: write clock.advance(60)")
        with self._moved:
            end = self._now + seconds
            self._wait_for_all()
            while self._due and min(self._due.values()) <= end + NEARLY:
                self._now = max(self._now, min(self._due.values()))
                for thread in [thread for thread, due in self._due.items() if due <= self._now + NEARLY]:
                    del self._due[thread]
                    self._busy.add(thread)
                self._moved.notify_all()
                self._wait_for_all()
            self._now = max(self._now, end)

    def _wait_for_all(self) -> None:
        """Until nobody is busy any more."""
        until = monotonic() + PATIENCE
        while True:
            self._busy = {thread for thread in self._busy if thread.is_alive()}
            if not self._busy:
                return
            if monotonic() >= until:
                names = ", ".join(sorted(thread.name for thread in self._busy))
                raise TimeoutError(f"{names}: not done after {PATIENCE:g} s with what was due at {self._now:g} s")
            self._moved.wait(PULSE)
