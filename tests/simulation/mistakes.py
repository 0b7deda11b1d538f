"""Mistakes on purpose: ways to break the machines that a careful reader could overlook. Each must be caught."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest

from anabranch.lang.journal import Journal
from anabranch.runtime import backlog, collecting, coordinator, exchange, memory, plan, rows, worker
from anabranch.runtime.messages import Begin, BeginFused, End, Finished, FinishedFused, Rows, Settle, Settled, Version

Patch = pytest.MonkeyPatch


def fuse_across_stages(patch: Patch) -> None:
    """Every entry keeps the stages it has alone, so that one state is visited in two stages of an epoch."""
    right = plan.make_plan

    def alone(graph: Any, entries: Iterable[str]) -> plan.Plan | None:
        whole = right(graph, names := frozenset(entries))
        if whole is None:
            return None
        plans = [found for name in names if (found := right(graph, [name])) is not None]
        stage_of = {task: stage for each in plans for task, stage in each.stage_of.items()}
        return plan.Plan(names, stage_of, max(each.stages for each in plans))

    patch.setattr(backlog, "make_plan", alone)


def out_of_sequence_order(patch: Patch) -> None:
    """Rows run as they arrive."""
    patch.setattr(rows, "_ORDER", lambda row: 0)


def lose_an_end_mark(patch: Patch) -> None:
    """A stage begins when all but one of the others have ended the one before."""
    right = exchange.Arrivals.complete

    def most(self: exchange.Arrivals, stage: int, peers: Iterable[int]) -> bool:
        return right(self, stage, sorted(peers)[1:])

    patch.setattr(exchange.Arrivals, "complete", most)


def believe_the_end_mark_alone(patch: Patch) -> None:
    """A stage begins at the end marks, whether or not the parcels they count are here."""

    def ended(self: exchange.Arrivals, peer: int, stage: int) -> bool:
        return (peer, stage) in self._ends

    patch.setattr(exchange.Arrivals, "_ended", ended)


def accept_an_old_attempt(patch: Patch) -> None:
    """Rows of an attempt that was given up count for the one at hand."""
    right = worker.Worker._receive

    def receive(self: worker.Worker, message: Rows | End) -> list[Any]:
        if isinstance(self.job, worker.Staged) and message.version.epoch == self.job.version.epoch:
            self.job.arrivals.receive(message)
            self.job.go_on()
            return []
        return right(self, message)

    patch.setattr(worker.Worker, "_receive", receive)


def accept_an_old_result(patch: Patch) -> None:
    """What a worker finished of an earlier attempt at the epoch counts for this one."""

    def is_current(self: coordinator.Coordinator, version: Version) -> bool:
        return self.running and version.epoch == self.latest.epoch

    patch.setattr(coordinator.Coordinator, "_is_current", is_current)


def accept_a_parcel_twice(patch: Patch) -> None:
    def receive(self: exchange.Arrivals, message: Rows | End) -> None:
        if isinstance(message, End):
            self._ends[message.source, message.stage] = message.parcels
            return
        self._parcels.setdefault((message.source, message.stage), set()).add(message.number)
        self.add(message.rows)

    patch.setattr(exchange.Arrivals, "receive", receive)


def undo_half_a_request(patch: Patch) -> None:
    """The oldest write of a request that raised stays."""
    right = Journal.rollback

    def rollback(self: Journal, mark: int = 0) -> None:
        right(self, mark + 1 if len(self) > mark + 1 else mark)

    def rollback_all(self: memory.Memory, marks: list[int]) -> None:
        for journal, mark in zip(self.journals, marks, strict=True):
            rollback(journal, mark)

    patch.setattr(memory.Memory, "rollback", rollback_all)


def undo_one_instance_only(patch: Patch) -> None:
    def rollback(self: memory.Memory, marks: list[int]) -> None:
        self.journals[0].rollback(marks[0])

    patch.setattr(memory.Memory, "rollback", rollback)


def commit_before_all_have_finished(patch: Patch) -> None:
    right = coordinator.Coordinator._finished

    def finished(self: coordinator.Coordinator, event: Any) -> list[Any]:
        epoch = self.epoch
        if isinstance(event, Finished) and epoch is not None and self._is_current(event.version):
            everything = sum(len(p.request.rows) for p in epoch.placed)
            if len(event.results) + len(epoch.results) == everything:  # all is answered: why wait?
                epoch.results |= dict(event.results)
                return self._commit(epoch, epoch.outcomes())
        return right(self, event)

    patch.setattr(coordinator.Coordinator, "_finished", finished)


def begin_before_all_have_settled(patch: Patch) -> None:
    """The next attempt begins when the first worker has gone back."""
    right = coordinator.Coordinator._settled

    def settled(self: coordinator.Coordinator, event: Settled) -> list[Any]:
        if (event.committed, event.latest) == (self.committed, self.latest):
            self.unsettled, self.leader = {event.worker}, None
        return right(self, event)

    patch.setattr(coordinator.Coordinator, "_settled", settled)


def obey_an_old_settle(patch: Patch) -> None:
    """An order to go back is obeyed however late it comes."""
    right = worker.Worker._settle

    def settle(self: worker.Worker, event: Settle) -> list[Any]:
        return right(self, Settle(event.committed, max(event.latest, self.latest)))

    patch.setattr(worker.Worker, "_settle", settle)


def begin_again_what_is_over(patch: Patch) -> None:
    """A `Begin` that comes twice is begun twice."""
    right = worker.Worker._begin

    def begin(self: worker.Worker, event: Begin | BeginFused) -> list[Any]:
        if event.version == self.latest:
            self.latest = Version(event.version.epoch, event.version.attempt - 1)
        return right(self, event)

    patch.setattr(worker.Worker, "_begin", begin)


def keep_what_was_undone(patch: Patch) -> None:
    """A worker takes what it wrote in an attempt that was given up for committed."""

    def settle(self: memory.Memory, instances: Iterable[int], committed: Version, latest: Version) -> None:
        for i in instances:
            version, journal = self._open[i], self.journals[i]
            if version is None or version > latest:
                continue
            journal.clear()
            journal.active = False
            self._open[i] = None

    patch.setattr(memory.Memory, "settle", settle)


def number_rows_by_request(patch: Patch) -> None:
    """Requests of one epoch start at the same sequence number."""
    right = coordinator.Epoch.__init__

    def init(self: coordinator.Epoch, chosen: Any, sequence: int) -> None:
        right(self, chosen, sequence)
        self.placed = tuple(p._replace(sequence=sequence) for p in self.placed)

    patch.setattr(coordinator.Epoch, "__init__", init)


def gather_in_order_of_arrival(patch: Patch) -> None:
    """What a loop collects comes in the order in which the messages came back."""
    right = rows.Runner.arrange

    def arrange(self: rows.Runner, found: Iterable[Any]) -> list[Any]:
        return right(
            self, [r._replace(order=0) if r.flow is not None and self._flows[r.flow].flow.each else r for r in found]
        )

    patch.setattr(rows.Runner, "arrange", arrange)


def come_home_to_the_wrong_instance(patch: Patch) -> None:
    """After a key, local work goes on where the row started."""
    right = rows.Runner._follow

    def follow(self: rows.Runner, row: Any, way: Any, *rest: Any) -> Any:
        found = right(self, row, way, *rest)
        return None if found is None else found._replace(instance=0)

    patch.setattr(rows.Runner, "_follow", follow)


def run_on_what_was_left(patch: Patch) -> None:
    """A collector goes on from what its last run has written, instead of from what was fetched."""
    right = collecting.Collecting._fetch

    def fetch(self: collecting.Collecting) -> list[Any]:
        kept, self.copies.rollback = self.copies.rollback, lambda marks: None  # type: ignore[method-assign]
        try:
            return right(self)
        finally:
            self.copies.rollback = kept  # type: ignore[method-assign]

    patch.setattr(collecting.Collecting, "_fetch", fetch)


def believe_a_guess(patch: Patch) -> None:
    """A row that ran on a state that lacks what rows before it write, and raised, has failed."""

    def run(self: collecting.Guess, entry: str, sequence: int, row: tuple[Any, ...]) -> dict[Any, None]:
        before = self._copies.mark()
        self._left -= self.ROW
        self._allowance.grant(self.TURNS)
        with suppress(collecting.NotHere, collecting.Spent):
            self._runner.alone(entry, sequence, row)
        found = dict(self._copies.wanted)
        self._copies.rollback(before)
        return found

    patch.setattr(collecting.Guess, "run", run)


def go_on_behind_a_row_that_lacked_something(patch: Patch) -> None:
    """Rows behind one that could not run count as having run."""
    right = collecting.Collecting._lacks

    def lacks(self: collecting.Collecting, at: int, done: int) -> None:
        right(self, at, done)
        if self.round:
            self.ahead = None
            self.results.append(None)

    patch.setattr(collecting.Collecting, "_lacks", lacks)


def commit_before_the_owners_have_applied(patch: Patch) -> None:
    """The collector is done: what its effects do to their owners need not be waited for."""
    right = coordinator.Coordinator._finished

    def finished(self: coordinator.Coordinator, event: Any) -> list[Any]:
        if isinstance(event, FinishedFused) and self.epoch is not None and self._is_current(event.version):
            return self._commit(self.epoch, event.outcomes)
        return right(self, event)

    patch.setattr(coordinator.Coordinator, "_finished", finished)


MISTAKES: list[Callable[[Patch], None]] = [
    fuse_across_stages,
    out_of_sequence_order,
    lose_an_end_mark,
    believe_the_end_mark_alone,
    accept_an_old_attempt,
    accept_an_old_result,
    accept_a_parcel_twice,
    undo_half_a_request,
    undo_one_instance_only,
    commit_before_all_have_finished,
    begin_before_all_have_settled,
    obey_an_old_settle,
    begin_again_what_is_over,
    keep_what_was_undone,
    number_rows_by_request,
    gather_in_order_of_arrival,
    come_home_to_the_wrong_instance,
]
APART: list[Callable[[Patch], None]] = [
    run_on_what_was_left,
    believe_a_guess,
    go_on_behind_a_row_that_lacked_something,
    commit_before_the_owners_have_applied,
]
