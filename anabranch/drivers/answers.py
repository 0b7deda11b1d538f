"""Questions to workers that are elsewhere, and who waits for the answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from anabranch.drivers.desk import PULSE, Desk

log = logging.getLogger(__name__)

T = TypeVar("T")


class Relents(Protocol):
    """Is asked, while someone waits, whether to wait on: it raises if not."""

    def relent(self) -> None: ...


class Gone(Exception):
    """A worker was lost that was to answer."""


class Holding:
    """One who holds the state waits on until a worker is lost: one that comes in its place is not yet at rest, and does
    not answer what is asked of the version that is held.
    """

    def __init__(self, desk: Desk, interrupts: Relents) -> None:
        self._coordinator, self._interrupts = desk.coordinator, interrupts

    def relent(self) -> None:
        self._interrupts.relent()
        if self._coordinator.spoiled:
            raise Gone("that held part of it")


@dataclass(eq=False)
class _Waiting:
    """The answers so far, by worker; `links` are the connections of those who were asked."""

    open: set[int]
    links: dict[int, Any]
    found: dict[int, Any] = field(default_factory=dict)
    complete: threading.Event = field(default_factory=threading.Event)


class Questions:
    """Laws: an answer counts once, and only for a question that is open; who waits for one that is lost is told."""

    def __init__(self, links: Mapping[int, Any], post: Callable[[int, Any], None], refuse: Callable[[], None]) -> None:
        """`links` are the workers that are there now; `refuse` raises once there will be no answers any more."""
        self._links, self._post, self._refuse = links, post, refuse
        self._waiting: dict[Any, _Waiting] = {}
        self._lock = threading.Lock()

    def ask(self, question: Any, messages: Mapping[int, Any], interrupts: Relents | None = None) -> dict[int, Any]:
        """Send each worker its message, and wait for an answer of each, as long as they are who they are now."""
        waiting = _Waiting(set(messages), {worker: self._links.get(worker) for worker in messages})
        if not messages:
            return {}
        with self._lock:
            self._waiting[question] = waiting
        for worker, message in messages.items():
            self._post(worker, message)
        while not waiting.complete.wait(PULSE):
            try:
                if interrupts is not None:
                    interrupts.relent()
                self._refuse()
            except BaseException:
                self._drop(waiting)
                raise
            for worker in list(waiting.open):
                if waiting.links[worker] is None or self._links.get(worker) is not waiting.links[worker]:
                    self._drop(waiting)
                    raise Gone(worker)
        return waiting.found

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

    def _drop(self, waiting: _Waiting) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self._waiting = {question: w for question, w in self._waiting.items() if w is not waiting}


def until_all_answer(ask: Callable[[], T]) -> T:
    """Ask again when a worker was lost meanwhile: the question waits until another is in its place."""
    while True:
        try:
            return ask()
        except Gone as error:
            log.info("worker %s is gone and could not answer: all are asked again", error)


def without_problems(found: dict[int, Any]) -> dict[int, Any]:
    for worker, told in found.items():
        if told.problem is not None:
            raise RuntimeError(f"worker {worker}: {told.problem}")
    return found
