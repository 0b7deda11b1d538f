"""Reads and writes between two epochs, where each worker has an address space to itself.

They run here, on copies, and ask for what they touch. Law: a change takes effect whole, at all workers, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from anabranch.drivers.answers import Gone, Holding, Questions, until_all_answer
from anabranch.drivers.desk import Desk
from anabranch.drivers.interrupts import HoldBack
from anabranch.lang.errors import MemoryFull
from anabranch.runtime.collecting import Copies
from anabranch.runtime.messages import Apply, Failed, Fetch
from anabranch.state.collected import NotHere, Want

T = TypeVar("T")
HOLDER = -2  # who holds all state, as a collector
Step = Callable[[Copies], None]


class Between:
    def __init__(self, desk: Desk, copies: Copies, questions: Questions) -> None:
        self._desk, self._questions = desk, questions
        self.switch(copies)

    def switch(self, copies: Copies) -> None:
        """For whoever holds the state: from now on they are of these instances."""
        self._copies, self._routing = copies, copies.routing

    def look(self, read: Callable[[Copies], T]) -> T:
        """What a function of the state gives; it runs again for what it finds it needs.

        While a worker is restored it is answered by the others, if they hold all that it reads.
        """
        return until_all_answer(lambda: self._desk.look(read, lambda interrupts: self._look(read, interrupts)))

    def _look(self, read: Callable[[Copies], T], interrupts: HoldBack) -> T:
        """For one who holds the state."""
        self._copies.clear()
        beginning = self._copies.mark()
        while True:
            try:
                return read(self._copies)
            except NotHere:
                self._fetch(beginning, interrupts)

    def change(self, steps: Sequence[Step], check: Step) -> None:
        """All steps or none."""
        until_all_answer(lambda: self._change(steps, check))

    def _change(self, steps: Sequence[Step], check: Step) -> None:
        coordinator = self._desk.coordinator
        with self._desk.hold(writes=True) as interrupts:
            routing = self._routing
            self._copies.clear()
            beginning = self._copies.mark()
            while not self._tried(steps, check, interrupts):
                self._fetch(beginning, interrupts)
            effects, reserved = self._copies.effects(), coordinator.reserved
            told = {}
            for worker in range(routing.workers):
                own = tuple((i, tuple(effects[i])) for i in routing.hosted(worker) if effects[i])
                told[worker] = Apply(reserved, coordinator.committed, own)
            found = self._questions.ask(reserved, told, Holding(self._desk, interrupts)).values()
            for answer in found:
                if isinstance(answer, Failed):
                    raise MemoryFull(answer.full)
            self._desk.writers = tuple(sorted({answer.writer for answer in found} - {""}))
        if coordinator.committed < reserved:
            raise Gone("that held part of it")

    def _tried(self, steps: Sequence[Step], check: Step, interrupts: HoldBack) -> bool:
        """Take all steps; False if something is not here, and then all that they lack is known."""
        wanted: dict[Want, None] = {}
        for step in (*steps, check):
            if step is check and wanted:
                break
            interrupts.relent()
            try:
                step(self._copies)
            except NotHere as error:
                wanted[error.want] = None
        self._copies.wanted |= wanted
        return not wanted

    def _fetch(self, beginning: Any, interrupts: HoldBack) -> None:
        """Ask for what the copies lack, and take back what was done without it."""
        coordinator, number = self._desk.coordinator, next(self._desk.numbers)
        wants: dict[int, list[Want]] = {}
        for want in self._copies.wanted:
            wants.setdefault(self._routing.worker_of(want.instance), []).append(want)
        self._copies.rollback(beginning)
        at = coordinator.reserved, coordinator.committed
        asked = {worker: Fetch(*at, HOLDER, number, tuple(own)) for worker, own in wants.items()}
        for entries in self._questions.ask(number, asked, Holding(self._desk, interrupts)).values():
            for want, found in entries.found:
                self._copies.fill(want, found)
