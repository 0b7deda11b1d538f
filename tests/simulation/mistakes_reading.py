"""Mistakes on purpose in what is read while a worker is restored. Each must be caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from anabranch.runtime import coordinator, meanwhile, reading, worker
from anabranch.runtime.backlog import number_of
from anabranch.runtime.messages import Fetch, FinishedReads, Raised, Results, Settle, Version

Patch = pytest.MonkeyPatch


def read_before_the_journal_is_undone(patch: Patch) -> None:
    """A worker says that it has gone back, and does so when the next epoch begins; till then it shows what it has."""
    right = worker.Worker._look_up
    gone_back: dict[worker.Worker, Version] = {}

    def settle(self: worker.Worker, order: Settle) -> list[Any]:
        gone_back[self] = order.latest
        with pytest.MonkeyPatch.context() as later:
            later.setattr(self.memory, "settle", lambda *_: None)
            return settle_at_once(self, order)

    def look(self: worker.Worker, fetch: Fetch) -> list[Any]:
        if gone_back.get(self) != fetch.version:
            return right(self, fetch)
        with pytest.MonkeyPatch.context() as later:
            later.setattr(self.memory, "settle", lambda *_: None)
            return right(self, fetch)

    settle_at_once = worker.Worker._settle
    patch.setattr(worker.Worker, "_settle", settle)
    patch.setattr(worker.Worker, "_look_up", look)


def read_what_was_fetched_before(patch: Patch) -> None:
    """Copies are kept from one try to the next: writes that were answered since are missing."""
    right = reading.Reading.__init__

    def init(self: reading.Reading, machine: worker.Worker, order: Any) -> None:
        assert machine.copies is not None
        with pytest.MonkeyPatch.context() as kept:
            kept.setattr(machine.copies, "clear", machine.copies.wanted.clear)
            right(self, machine, order)

    patch.setattr(reading.Reading, "__init__", init)


def let_what_was_read_wait_on(patch: Patch) -> None:
    """What is answered stays in the queue, and is answered once more."""

    def take(self: meanwhile.Meanwhile, done: FinishedReads) -> list[Any]:
        if self.reading is None or done.number != self.reading.number:
            return []
        tried, self.reading = self.reading, None
        self._vain |= {number_of(item) for item in tried.items}
        return [(item, outcome) for item, outcome in zip(tried.items, done.outcomes, strict=True) if outcome]

    patch.setattr(meanwhile.Meanwhile, "take", take)


def believe_an_answer_of_an_earlier_try(patch: Patch) -> None:
    """What came of other reads counts for those that are tried now."""
    right = meanwhile.Meanwhile.take

    def take(self: meanwhile.Meanwhile, done: FinishedReads) -> list[Any]:
        if self.reading is not None and len(done.outcomes) == len(self.reading.items):
            done = FinishedReads(self.reading.number, done.outcomes)
        return right(self, done)

    patch.setattr(meanwhile.Meanwhile, "take", take)


def believe_a_read_that_lacked_something(patch: Patch) -> None:
    """A read that touches what nobody has who is there is answered with what it found."""

    def end(self: reading.Reading, outcome: Results | Raised) -> None:
        self.copies.rollback(self.beginning)
        self.outcomes[self.todo.pop()] = outcome
        self._next()

    patch.setattr(reading.Reading, "_end", end)


def give_numbers_of_reads_to_what_comes_next(patch: Patch) -> None:
    right = coordinator.Coordinator._have_read

    def have_read(self: coordinator.Coordinator, done: FinishedReads) -> list[Any]:
        sequence = self.sequence
        try:
            return right(self, done)
        finally:
            self.sequence = sequence

    patch.setattr(coordinator.Coordinator, "_have_read", have_read)


READING: list[Callable[[Patch], None]] = [
    read_before_the_journal_is_undone,
    read_what_was_fetched_before,
    let_what_was_read_wait_on,
    believe_an_answer_of_an_earlier_try,
    believe_a_read_that_lacked_something,
    give_numbers_of_reads_to_what_comes_next,
]
