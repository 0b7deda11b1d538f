"""Those who wait for an answer, and how many of them there may be."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from anabranch.runtime.messages import Outcome


class Stopped(RuntimeError):
    """The app takes no more requests: it has been stopped, its engine has broken, or another run has taken over its
    checkpoint location.
    """


class StateLost(RuntimeError):
    """A worker is gone, and with it the state it held: the run has ended. What was saved with `checkpoint=` is found
    again by the next run; without it nothing can be had back.
    """


class ForkLost(StateLost):
    """The process of a fork is gone, and with it the fork: the app it was made from goes on, and can make another."""


@dataclass(slots=True)
class Waiter:
    """A caller that waits for its request of so many rows."""

    rows: int
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
