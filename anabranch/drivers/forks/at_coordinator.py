"""The forks of a run whose workers are apart, at its coordinator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from anabranch.drivers.answers import Questions, until_all_answer, without_problems
from anabranch.drivers.desk import Desk
from anabranch.drivers.durable.settings import At
from anabranch.drivers.fleet import Fleet
from anabranch.drivers.forks.launching import Forked
from anabranch.drivers.host_messages import Lead, Part, Split
from anabranch.runtime.routing import Routing

T = TypeVar("T")


class Splitting:
    """`parted` is told when the last of them has ended; `complete` waits until all workers are there."""

    def __init__(
        self,
        desk: Desk,
        fleet: Fleet,
        questions: Questions,
        routing: Routing,
        host: str,
        complete: Callable[[], object],
        over: Callable[[], None],
    ) -> None:
        self._desk, self._fleet, self._questions, self.routing = desk, fleet, questions, routing
        self._complete, self._over = complete, over
        self.host, self.security = host, fleet.security
        self._of: dict[int, Forked] = {}

    def __bool__(self) -> bool:
        """Are there any?"""
        return bool(self._of)

    def fork(self, remembered: Callable[[], T]) -> tuple[Forked, At, T]:
        """Let every worker fork itself. Gives who starts a run with them, where that stands, and what is remembered."""
        return until_all_answer(lambda: self._fork(remembered))

    def _fork(self, remembered: Callable[[], T]) -> tuple[Forked, At, T]:
        coordinator = self._desk.coordinator
        with self._desk.hold():
            workers = self.routing.workers
            at = At(coordinator.committed, coordinator.sequence, self.routing)
            number = next(self._desk.numbers)
            try:
                self._split(number, range(workers), False)
            except BaseException:
                self._fleet.post_all(Part(number))
                raise
            forked = self._of[number] = Forked(self, number, workers)
            return forked, at, remembered()

    def _split(self, fork: int, workers: Iterable[int], empty: bool) -> None:
        coordinator, number = self._desk.coordinator, next(self._desk.numbers)
        order = Split(number, fork, coordinator.reserved, coordinator.committed, empty)
        without_problems(self._questions.ask(number, dict.fromkeys(workers, order)))

    def gone(self, worker: int, fork: int | None, why: str) -> None:
        """The process of a fork has ended at a worker; None for all of them."""
        for number, forked in list(self._of.items()):
            if fork in (None, number):
                forked.gone(worker, why)

    # -- what forks ask for -------------------------------------------------------------------------------------------

    def split(self, fork: int, worker: int) -> None:
        self._complete()
        self._split(fork, [worker], True)

    def lead(self, fork: int, worker: int, address: str) -> None:
        self._fleet.post(worker, Lead(fork, address))

    def part(self, fork: int, worker: int) -> None:
        self._fleet.post(worker, Part(fork))

    def parted(self, fork: int) -> None:
        self._of.pop(fork, None)
        if not self._of:
            self._over()
