"""A thread around the machine of a worker.

Law: the machine is touched by its own thread, or, while nothing is in flight, by whoever knows that.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from anabranch.drivers.callers import Stop
from anabranch.runtime.messages import Again, Load, ToCoordinator, ToWorker, WorkerCommand, WorkerEvent
from anabranch.runtime.worker import Worker


@dataclass(frozen=True, slots=True)
class Errand:
    """Something that is not the machine's, but must not happen beside it."""

    run: Callable[[], None]


class Host:
    """`post` sends a message to a worker, `tell` one to the coordinator; `broke` hears of what must not happen."""

    def __init__(
        self,
        worker: Worker,
        post: Callable[[int, Any], None],
        tell: Callable[[Any], None],
        broke: Callable[[BaseException], None],
        load: Callable[[Load], None] | None = None,
        prepare: Callable[[WorkerEvent], WorkerEvent | None] = lambda event: event,
    ) -> None:
        """`prepare` brings what an event only refers to; None if nobody waits for the event any more."""
        self.worker = worker
        self._post, self._tell, self._broke, self._load, self._prepare = post, tell, broke, load, prepare
        self.mail: SimpleQueue[WorkerEvent | Errand | Stop] = SimpleQueue()
        self._busy = 0.0  # seconds
        self._since: float | None = None  # when it began what it is at
        self.thread = threading.Thread(target=self._work, name=f"anabranch-worker-{worker.number}", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def timed(self, event: WorkerEvent | None) -> list[WorkerCommand]:
        """Let the machine handle an event, or go on with what it has."""
        self._since = start = perf_counter()
        commands = self.worker.step() if event is None else self.worker.handle(event)
        self._since = None
        self._busy += perf_counter() - start
        return commands

    @property
    def busy(self) -> float:
        """How many seconds it has worked, those of what it is at too; for any thread."""
        since = self._since
        return self._busy + (perf_counter() - since if since is not None else 0.0)

    def worked(self, seconds: float) -> None:
        """By another, in its place."""
        self._busy += seconds

    def _work(self) -> None:
        again = False
        while True:
            event = None if again and self.mail.empty() else self.mail.get()
            if isinstance(event, Stop):
                return
            try:
                if isinstance(event, Errand):
                    event.run()
                    continue
                if event is not None and (event := self._prepare(event)) is None:
                    continue
                commands = self.timed(event)
                # Before anything is told: from then on the machine may be someone else's.
                again = bool(commands) and isinstance(commands[-1], Again)
                for command in commands:
                    match command:
                        case ToWorker(peer, message):
                            self._post(peer, message)
                        case ToCoordinator(told):
                            self._tell(told)
                        case Load() if self._load is not None:
                            self._load(command)
                        case Again():
                            pass
                        case _:
                            raise AssertionError(f"{command} cannot happen in one address space")
            except BaseException as error:
                self._broke(error)
                return

    @property
    def where(self) -> str:
        """What its thread is doing, for one who waits for its end."""
        frame = sys._current_frames().get(self.thread.ident or 0)
        place = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
        return f"{self.thread.name} is still in user code{place}"
