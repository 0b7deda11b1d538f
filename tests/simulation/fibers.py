"""Code that blocks, run step by step: it goes on when the scheduler says so, and stops where it may be kept waiting.

Laws: one fiber, or the scheduler, runs at a time, so a seed gives the same story; what is killed does nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Dead(BaseException):
    """The process in which this ran is no more."""


class Fiber:
    def __init__(self, fibers: Fibers, run: Callable[[], None], owner: object) -> None:
        self.owner = owner
        self.done = self.dead = False
        self.error: BaseException | None = None
        self._fibers, self._run = fibers, run
        self._until: Callable[[], bool] | None = None
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._thread: threading.Thread | None = None

    @property
    def ready(self) -> bool:
        return not self.done and (self._until is None or self._until())

    def resume(self) -> None:
        """Let it run until it pauses or ends."""
        before, self._fibers.current = self._fibers.current, self
        if self._thread is None:
            self._thread = threading.Thread(target=self._body, daemon=True)
            self._thread.start()
        else:
            self._go.release()
        self._back.acquire()
        self._fibers.current = before

    def pause(self, until: Callable[[], bool] | None = None) -> None:
        """Called by what runs in it: let others go on, until it may."""
        self._until = until
        self._back.release()
        self._go.acquire()
        self._until = None
        if self.dead:
            raise Dead

    def kill(self) -> None:
        self.dead = True
        if self._thread is None:
            self.done = True
        while not self.done and self is not self._fibers.current:
            self.resume()

    def _body(self) -> None:
        try:
            self._run()
        except Dead:
            pass
        except BaseException as error:
            self.error = error
        self.done = True
        self._back.release()


class Fibers:
    def __init__(self) -> None:
        self.current: Fiber | None = None

    def pause(self, until: Callable[[], bool] | None = None) -> None:
        """Let others go on, where this can wait."""
        if self.current is not None:
            self.current.pause(until)
        else:
            assert until is None or until(), "the scheduler waits for itself"
