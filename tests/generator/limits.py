"""A limit of time, so that a program that does not end is a failure that says which one it is."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from anabranch.drivers.fleet import Launcher
from anabranch.drivers.processes import Processes

SECONDS = 120  # the slowest programs take a tenth of it
AGAIN = 10  # seconds until it is raised again, if what is left waits too


class TooLong(BaseException):
    """Not an Exception, so that nothing on the way takes it for one of the program's."""


@contextmanager
def at_most(seconds: float, what: str, first: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Raise `TooLong` in this thread, the main one, if the block takes longer; `first` ends what it waits for."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        first()
        raise TooLong(f"{what} is not done after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def end_workers(launcher: Launcher) -> None:
    """Kill its worker processes, which may be in a loop that does not end."""
    for pid in [*launcher.pids.values()] if isinstance(launcher, Processes) else []:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
