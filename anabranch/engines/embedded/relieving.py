"""The thread that hears of hosts which are about to go, and moves state away from them before they do.

Laws: it never ends the app: what cannot be done is logged, and tried again later; it ends before the app does.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection

from anabranch.drivers.callers import Stopped
from anabranch.drivers.clock import Clock

log = logging.getLogger(__name__)

EVERY = 1.0  # seconds
WHY = "its host is about to go"
Leaving = Callable[[], Collection[int]]


class Relieving:
    """Of one app. `leaving` says which workers are on such hosts, `relieve` lets others take their places."""

    def __init__(self, leaving: Leaving, clock: Clock, relieve: Callable[[Collection[int], str], None]) -> None:
        self._leaving, self._clock, self._relieve = leaving, clock, relieve
        self._unfinished = False
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = self._clock.start(self._watch, "anabranch-relieve")

    def stop(self) -> None:
        self._end.set()

    def join(self, patience: float) -> None:
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join(patience)

    def _watch(self) -> None:
        pause = EVERY
        while not self._clock.wait(self._end, pause):
            pause = EVERY if self._looked() else min(60.0, 2 * pause)

    def _looked(self) -> bool:
        try:
            workers = self._leaving()
            if workers:
                log.info("the hosts of workers %s are about to go: their state moves away", sorted(workers))
            if workers or self._unfinished:
                self._unfinished = True
                self._relieve(workers, WHY)
                self._unfinished = False
        except Exception as error:
            if not self._end.is_set():
                level = logging.INFO if isinstance(error, Stopped) else logging.WARNING
                log.log(level, "state could not be moved away from hosts that are about to go: %s", error)
            return False
        return True
