"""Mistakes on purpose in how state moves to other workers. Each must be caught by a story of runs that are scaled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from anabranch.drivers import moving
from anabranch.drivers.durable import labels, run
from anabranch.drivers.durable import worker as working
from anabranch.drivers.scaling import at_coordinator, at_worker
from anabranch.runtime.routing import Routing
from anabranch.state.changes import Change
from tests.simulation import scaled

Patch = pytest.MonkeyPatch


def drop_what_changes_between_slices(patch: Patch) -> None:
    """What is copied is all that is sent: effects of epochs do not follow it."""
    patch.setattr(moving.Source, "follow", lambda self, changes: None)


def send_a_slice_after_what_has_changed_since(patch: Patch) -> None:
    """A slice is kept back until the next one: effects that came after it arrive before it."""
    right = moving.Source.copy
    kept: dict[moving.Source, list[Any]] = {}

    def copy(self: moving.Source) -> bool:
        deal, slices = self._deal, list[Any]()
        with pytest.MonkeyPatch.context() as later:
            later.setattr(self, "_deal", slices.append)
            more = right(self)
        for moved in [*kept.pop(self, []), *(() if more else slices)]:
            deal(moved)
        if more:
            kept[self] = slices
        return more

    patch.setattr(moving.Source, "copy", copy)


def have_all_when_asked(patch: Patch) -> None:
    """A worker says that it has all that will be its, whatever is still on its way."""
    patch.setattr(at_worker._Move, "wait", lambda self: True)


def believe_the_last_word(patch: Patch) -> None:
    """A worker has all when each has said that it has sent all, however much of it has come."""
    patch.setattr(
        at_worker._Move,
        "_all_here",
        property(lambda self: self._ready and self._came.keys() == self._sent_to_us.keys()),
    )


def accept_rows_of_an_earlier_move(patch: Patch) -> None:
    """What comes is placed and counted, of whichever move it is."""

    def take(self: at_worker.Moves, number: int, peer: int, turn: int, moved: moving.Moved) -> None:
        if (move := self._at) is not None and move.successor is not None:
            move.came(peer, turn, moved)

    patch.setattr(at_worker.Moves, "_take", take)


def go_over_at_all_but_one(patch: Patch) -> None:
    """The last worker is not told that the new routing counts."""
    right = at_coordinator.Scaling._go_over

    def go_over(self: at_coordinator.Scaling, move: int, now: Routing, routing: Routing) -> None:
        ask = self._questions.ask

        def most(number: int, orders: Mapping[int, Any], *rest: Any) -> Any:
            return ask(number, dict([*orders.items()][: max(1, len(orders) - 1)]), *rest)

        with pytest.MonkeyPatch.context() as fewer:
            fewer.setattr(self._questions, "ask", most)
            right(self, move, now, routing)

    patch.setattr(at_coordinator.Scaling, "_go_over", go_over)


def set_up_under_the_old_routing(patch: Patch) -> None:
    """One that is lost after the decision comes back under the routing that was."""
    patch.setattr(scaled, "setup_under", lambda setup, routing: setup)


def forget_under_what_a_key_is_saved(patch: Patch) -> None:
    """After a move, what epochs change is logged under the instance that has it now."""

    def changes(self: labels.Labels, found: Sequence[Change]) -> Sequence[Change]:
        return found

    patch.setattr(labels.Labels, "changes", changes)


def forget_under_what_a_slice_is_saved(patch: Patch) -> None:
    """After a move, a snapshot has its rows under the instance that has them now."""

    def rows(self: labels.Labels, name: str, instance: int, found: Any) -> Iterator[tuple[int, Any]]:
        yield instance, found

    patch.setattr(labels.Labels, "rows", rows)


def forget_what_new_instances_start_from(patch: Patch) -> None:
    """Nobody logs what partial instances hold that there are more of."""
    patch.setattr(working.WorkerSaver, "begun", lambda self, version, before: "")


def go_on_saving_what_was(patch: Patch) -> None:
    """After a move, snapshots are made of the memory that was left."""

    def switch(self: run.SavedHere, memory: Any) -> None:
        self._memory, self.labels.routing = memory, memory.routing

    patch.setattr(run.SavedHere, "switch", switch)


APART: list[tuple[int, Callable[[Patch], None]]] = [
    (0, drop_what_changes_between_slices),
    (40, send_a_slice_after_what_has_changed_since),
    (11, have_all_when_asked),
    (110, believe_the_last_word),
    (0, go_over_at_all_but_one),
    (130, set_up_under_the_old_routing),
    (2420, forget_what_new_instances_start_from),
]
HERE: list[tuple[int, Callable[[Patch], None]]] = [
    (0, drop_what_changes_between_slices),
    (16, forget_under_what_a_key_is_saved),
    (7, forget_under_what_a_slice_is_saved),
    (0, go_on_saving_what_was),
]
ANY: list[tuple[int, Callable[[Patch], None]]] = [(890, accept_rows_of_an_earlier_move)]
"""With the seed from which on it shows soonest."""
