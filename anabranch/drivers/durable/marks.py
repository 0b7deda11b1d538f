"""What was done already: requests that may come again, by the name their caller gave them.

Law: a name is remembered with the request that had it, or not at all; of calls the last thousands are remembered, of
streams the last batch.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

CALLS = 10_000  # that are remembered
CALL, STREAM = "call", "stream"

Mark = tuple[str, str, Any]  # what it is, its name, and what is remembered


class Marks:
    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Any] = {}
        self._calls = 0
        self._busy: dict[tuple[str, str], list[Any]] = {}  # a lock, and how many want it
        self._lock = threading.Lock()

    def copy(self) -> Marks:
        new = Marks()
        for mark in self.all():
            new.add(mark)
        return new

    def add(self, mark: Mark) -> None:
        kind, name, value = mark
        with self._lock:
            self._calls += kind == CALL and (kind, name) not in self._known
            self._known[kind, name] = value
            if self._calls > CALLS:
                oldest = next(key for key in self._known if key[0] == CALL)
                del self._known[oldest]
                self._calls -= 1

    def get(self, kind: str, name: str) -> Any:
        """What is remembered; None if nothing is."""
        return self._known.get((kind, name))

    def all(self) -> list[Mark]:
        with self._lock:
            return [(kind, name, value) for (kind, name), value in self._known.items()]

    @contextmanager
    def alone(self, kind: str, name: str) -> Iterator[None]:
        """Nobody else does what has this name inside the block."""
        key = (kind, name)
        with self._lock:
            turn = self._busy.setdefault(key, [threading.Lock(), 0])
            turn[1] += 1
        try:
            with turn[0]:
                yield
        finally:
            with self._lock:
                turn[1] -= 1
                if not turn[1]:
                    del self._busy[key]


def as_json(marks: Iterable[Mark]) -> list[list[Any]]:
    """Results of calls are bytes, which JSON has not."""
    return [[kind, name, base64.b64encode(value).decode() if kind == CALL else value] for kind, name, value in marks]


def in_json(found: Iterable[Any]) -> Iterator[Mark]:
    for kind, name, value in found:
        yield kind, name, base64.b64decode(value) if kind == CALL else value
