"""The thread that looks how busy the workers are, and lets the app follow.

Laws: it never ends the app: what cannot be done is logged, and is not tried again at once; it ends before the app does.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Protocol

from anabranch.drivers.callers import Stopped
from anabranch.drivers.clock import Clock
from anabranch.runtime.elastic import Autoscale, Decision, Elastic

log = logging.getLogger(__name__)

Busy = Sequence[float | None]


class Watched(Protocol):
    """Whoever has the workers."""

    def busy(self) -> Busy | None:
        """The seconds that each worker has worked so far, None for one that does not answer; nothing while one is
        missing.
        """

    def loads(self) -> Sequence[float]:
        """The share of the work that each has."""

    def follow(self, decision: Decision) -> None:
        """Do what was decided."""


class Autoscaling:
    """Of one app."""

    def __init__(self, settings: Autoscale, clock: Clock, watched: Watched) -> None:
        self._elastic, self._clock, self._watched = Elastic(settings), clock, watched
        self._end = threading.Event()
        self._refused = 0  # decisions in a row that could not be carried out
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = self._clock.start(self._watch, "anabranch-autoscale")

    def stop(self) -> None:
        """For whoever has closed the app, or is about to: a move that runs comes to an end, or to nothing."""
        self._end.set()

    def join(self, patience: float) -> None:
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join(patience)

    def _watch(self) -> None:
        every, clock = self._elastic.settings.every, self._clock
        before: list[float] | None = None
        at = quiet = clock.now()
        while not clock.wait(self._end, every):
            now, busy = clock.now(), self._watched.busy()
            used, before = shares(before, busy, now - at)
            at = now
            if used is None or now < quiet:
                continue
            decision = self._elastic.handle(used, self._watched.loads())
            if decision is not None and not self._carried_out(decision):
                quiet = clock.now() + every * self._elastic.settings.reports * 2 ** min(self._refused, 8)

    def _carried_out(self, decision: Decision) -> bool:
        try:
            self._watched.follow(decision)
        except Exception as error:
            if not self._end.is_set():
                self._refused += 1
                level = logging.INFO if isinstance(error, Stopped) else logging.WARNING
                log.log(level, "%s, but the app goes on as it was: %s", decision.why, error)
            return False
        finally:
            self._elastic.changed()
        self._refused = 0
        return True


def shares(
    before: Sequence[float] | None, busy: Busy | None, seconds: float
) -> tuple[list[float] | None, list[float] | None]:
    """How much of the time each was busy, and what to compare the next with.

    >>> shares([1.0, 2.0], [1.5, None], 1.0)  # the second does not even answer
    ([0.5, 1.0], [1.5, 2.0])
    >>> shares([1.0], [1.5, 0.0], 1.0)
    (None, [1.5, 0.0])
    """
    if busy is None:
        return None, None
    known = [0.0 if b is None else b for b in busy]
    if before is None or len(before) != len(busy) or seconds <= 0:
        return None, known
    known = [was if b is None else b for was, b in zip(before, busy, strict=True)]
    if any(b < was for was, b in zip(before, known, strict=True)):  # one has come in the place of another
        return None, known
    used = [1.0 if b is None else min(1.0, (b - was) / seconds) for was, b in zip(before, busy, strict=True)]
    return used, known
