"""What happens to the app while it works: a snapshot, a worker that is killed, a second worker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from anabranch.demo.traffic import Traffic

PULSE = 0.02  # seconds
NOTHING = "ratings come in"
LATE = 60.0  # seconds after which a worker that does not come back is a failure


@dataclass(frozen=True, slots=True)
class Event:
    """`at` is in seconds since the start, `took` how long it was until it was done."""

    name: str
    at: float
    took: float
    told: str


class Story:
    """Goes through its chapters, each at its share of the time, while the traffic goes on."""

    def __init__(self, app: Any, traffic: Traffic, seconds: float, told: Callable[[Event], None]) -> None:
        self._app, self._traffic, self._seconds, self._told = app, traffic, seconds, told
        self.events: list[Event] = []
        self.now = NOTHING

    def run(self, over: threading.Event) -> None:
        chapters = ((0.2, "a snapshot is made", self.snapshot), (0.4, "a worker is killed", self.kill),
                    (0.65, "a second worker joins", self.scale))  # fmt: skip
        for share, now, chapter in chapters:
            if self._waits(share * self._seconds, over):
                return
            self.now = now
            self._add(chapter(over))
            self.now = NOTHING
        self._waits(self._seconds, over)
        while not self._traffic.answers and not over.wait(PULSE):
            pass  # a show without a recommendation would be none

    def snapshot(self, over: threading.Event) -> Event:
        begun = perf_counter()
        version = self._app.checkpoint()
        done = perf_counter()
        return self._event(
            "snapshot", begun, done, f"a snapshot of version {version} was on disk in {ms(done - begun)}"
        )

    def kill(self, over: threading.Event) -> Event:
        """Done when a batch is answered that was sent after the kill: until then nobody can hold all that there was."""
        begun = perf_counter()
        # There is no public name for this: the demo plays the part of the machine that fails.
        self._app._engine.driver._launcher.kill(0)
        while not (after := [b for b in self._traffic.batches if b.begun > begun]):
            if over.wait(PULSE):
                raise InterruptedError("the demo ended while a worker was away")
            if perf_counter() > begun + LATE:
                raise TimeoutError(f"the worker that was killed is not back after {LATE:.0f} s")
        back = after[0].answered
        told = f"worker 0 was killed; another read the snapshot and the log, and answered {s(back - begun)} later"
        return self._event("lost worker", begun, back, told)

    def scale(self, over: threading.Event) -> Event:
        begun = perf_counter()
        answers = len(self._traffic.answers)
        self._app.scale(workers=2)
        answered = len(self._traffic.answers) - answers
        done = perf_counter()
        told = f"one worker became two in {s(done - begun)}; {answered} recommendations were answered meanwhile"
        return self._event("scaled", begun, done, told)

    def _event(self, name: str, begun: float, done: float, told: str) -> Event:
        return Event(name, begun - self._traffic.start, done - begun, told)

    def _add(self, event: Event) -> None:
        self.events.append(event)
        self._told(event)

    def _waits(self, until: float, over: threading.Event) -> bool:
        """Wait until so many seconds after the start; gives whether the story is to end before."""
        return over.wait(max(0.0, self._traffic.start + until - perf_counter()))


def s(seconds: float) -> str:
    return f"{seconds:.1f} s"


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f} ms"
