"""Forks of a worker that has a process to itself, at the worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from anabranch.drivers.forks.child import Child, Work, fork, until_ready
from anabranch.drivers.forks.gateway import Reach
from anabranch.drivers.streams import Broken

PATIENCE = 5.0  # seconds for a fork to end that is no longer wanted


class Forks:
    """Those of one worker by number. `parted` is told of one whose process has ended."""

    def __init__(self, reach: Reach, names: Sequence[str], parted: Callable[[int], None]) -> None:
        self._reach, self._names, self._parted = reach, names, parted
        self._of: dict[int, tuple[Child, threading.Event]] = {}

    def split(self, number: int, still: AbstractContextManager[Any], work: Work) -> None:
        """A copy of this process that does this work, for whoever keeps others from what the copy needs."""
        over = threading.Event()

        def ended() -> None:
            over.set()
            self._parted(number)

        self._of[number] = until_ready(lambda theirs: fork(theirs, still, work, ended)), over

    def lead(self, number: int, coordinator: str) -> None:
        child, over = self._of[number]
        if not over.is_set():
            with suppress(Broken):  # it has ended, and that is told
                self._reach.lead(child.doors, coordinator, self._names)

    def part(self, number: int) -> None:
        """One that is no longer wanted ends by itself, or is ended."""
        if number in self._of:
            threading.Thread(target=_make_an_end, args=self._of.pop(number), daemon=True).start()

    def end(self) -> None:
        for child, over in self._of.values():
            if not over.is_set():
                child.kill()


def _make_an_end(child: Child, over: threading.Event) -> None:
    if not over.wait(PATIENCE):
        child.kill()
