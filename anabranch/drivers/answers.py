"""Questions to several workers, and who waits for the answers."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Waiting:
    """The answers so far, by worker."""

    open: set[int]
    found: dict[int, Any] = field(default_factory=dict)
    complete: threading.Event = field(default_factory=threading.Event)
    links: dict[int, Any] = field(default_factory=dict)  # the connections of those who were asked


class Answers:
    """Law: an answer counts once, and only for a question that is open."""

    def __init__(self) -> None:
        self._waiting: dict[Any, Waiting] = {}
        self._lock = threading.Lock()

    def expect(self, question: Any, workers: Iterable[int]) -> Waiting:
        waiting = Waiting(set(workers))
        if waiting.open:
            with self._lock:
                self._waiting[question] = waiting
        else:
            waiting.complete.set()
        return waiting

    def drop(self, waiting: Waiting) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self._waiting = {question: w for question, w in self._waiting.items() if w is not waiting}

    def take(self, question: Any, worker: int, answer: Any) -> bool:
        """Whether someone waits for it."""
        with self._lock:
            waiting = self._waiting.get(question)
            if waiting is None or worker not in waiting.open:
                return False
            waiting.open.discard(worker)
            waiting.found[worker] = answer
            if not waiting.open:
                del self._waiting[question]
                waiting.complete.set()
            return True
