"""A fork of a run whose workers are apart, at its coordinator: another run, whose workers are forks of theirs.

Laws: a fork lives as long as it is not stopped, also when the run it was made from is: then the workers of that stay,
with nothing to do but to lead to the fork. One of its workers that is lost comes back where the fork is saved, forked
with nothing in it; else the fork is lost, and the run it was made from goes on.
"""

from __future__ import annotations

import threading
from typing import Protocol

from anabranch.drivers.callers import ForkLost
from anabranch.drivers.fleet import Ended
from anabranch.drivers.flight import Security


class Run(Protocol):
    """The run whose workers fork."""

    host: str

    @property
    def security(self) -> Security: ...

    def split(self, fork: int, worker: int) -> None:
        """Let a worker fork once more, with nothing; waits until it can."""

    def lead(self, fork: int, worker: int, address: str) -> None:
        """Let the fork of a worker work for the coordinator at this address."""

    def part(self, fork: int, worker: int) -> None:
        """Make an end of it."""

    def parted(self, fork: int) -> None:
        """The fork has ended."""


class Forked:
    """Starts the workers of a fork: they are there already, and are told whom to work for."""

    carries = True
    lost = ForkLost

    def __init__(self, run: Run, fork: int, workers: int) -> None:
        self._run, self._fork, self._workers = run, fork, workers
        self.host, self.security = run.host, run.security
        self._ending = False
        self._changed = threading.Condition()
        self._over: set[int] = set()  # workers whose forks have ended
        self._away: set[int] = set()  # workers whose forks are being started again
        self._ended: Ended = lambda worker, why, life: False
        self._address = ""

    def launch(self, address: str, security: Security, ports: range | None, program: bytes, ended: Ended) -> None:
        self._address, self._ended = address, ended
        for worker in range(self._workers):
            self._run.lead(self._fork, worker, address)

    def more(self, worker: int) -> None:
        raise TypeError("a fork has as many workers as it was made with: scale the app it was made from, and fork that")

    def fewer(self, worker: int, patience: float) -> None:
        self.more(worker)

    def gone(self, worker: int, why: str) -> None:
        """The process of one is gone, or the worker it was forked from; told on a thread that must not wait."""
        with self._changed:
            self._over.add(worker)
            self._changed.notify_all()
            if self._ending or worker in self._away or not self._address:
                return
            self._away.add(worker)
        threading.Thread(target=self._start_again, args=(worker, why), daemon=True).start()

    def _start_again(self, worker: int, why: str) -> None:
        try:
            while not self._ending and self._ended(worker, why, 0):
                try:
                    self._run.split(self._fork, worker)
                    self._over.discard(worker)
                    self._run.lead(self._fork, worker, self._address)
                    return
                except RuntimeError as error:  # also that the run has ended
                    why = str(error)
        finally:
            with self._changed:
                self._away.discard(worker)

    def kill(self, worker: int, life: int | None = None) -> None:
        self._run.part(self._fork, worker)

    def end(self, patience: float) -> None:
        """Wait for their ends; those that do not end are ended."""
        self._ending = True
        for worker in range(self._workers):
            self._run.part(self._fork, worker)
        with self._changed:
            self._changed.wait_for(lambda: len(self._over) == self._workers, patience)
        self._run.parted(self._fork)
