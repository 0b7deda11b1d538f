"""Time as the drivers see it where they act by themselves, so that a test can set it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Protocol


class Clock(Protocol):
    """Laws: `now` never goes back; `wait` gives whether the event was set before so many seconds were over.

    A thread that waits for its time again and again is started by `start`: a clock that is set by hand has to know of
    it before it waits for the first time.
    """

    def now(self) -> float: ...
    def wait(self, event: threading.Event, seconds: float) -> bool: ...
    def start(self, work: Callable[[], None], name: str) -> threading.Thread: ...


class SystemClock:
    def now(self) -> float:
        return monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds)

    def start(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread
