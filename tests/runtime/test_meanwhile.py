"""The coordinator and what only reads, while a worker is not there: one event at a time."""

from __future__ import annotations

from typing import Any

import anabranch as ab
from anabranch.kernels import PythonCode
from anabranch.lang.spec import describe
from anabranch.runtime.backlog import Backlog, Limits
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import (
    DRIVER,
    FinishedReads,
    Grant,
    Hold,
    Joined,
    Lost,
    Outcome,
    Read,
    Release,
    Reply,
    Request,
    Results,
    Seen,
    Settled,
    Stalled,
    Submit,
    ToWorker,
    Withdraw,
    Withdrawn,
)
from anabranch.runtime.routing import spread_evenly
from anabranch.runtime.rows import Runner


class Shop(ab.Program):
    stock: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    rules: ab.Replicated[ab.Table[int, int]]

    def put(self, k: int) -> None:
        self.stock[k] += 1

    def get(self, k: int) -> int:
        return self.stock[k]

    def rule(self, k: int) -> int:
        return self.rules[k]


GRAPH = ab.compile(Shop)
ROUTING = spread_evenly(3)
LOST = 0
GONE, HERE, THERE = (next(k for k in range(100) if ROUTING.owner(k) == i) for i in range(3))  # a key of each worker


def settle(machine: Coordinator, worker: int) -> list[Any]:
    return machine.handle(Settled(worker, machine.committed, machine.latest))


def one_is_lost() -> Coordinator:
    """Three workers that were all there, until one was lost; nothing was in flight."""
    program = Shop()
    runner = Runner(GRAPH, PythonCode(GRAPH, program), Memory(GRAPH, None, ROUTING), dict(describe(Shop).entries))
    machine = Coordinator(3, Backlog(GRAPH, Limits(fused_rows=-1)), runner.starts, True)
    for worker in range(3):
        machine.handle(Joined(worker))
    for worker in range(3):
        settle(machine, worker)
    assert machine.idle
    machine.handle(Lost(LOST))
    return machine


def ask(machine: Coordinator, number: int, entry: str, *keys: int, mark: Any = None) -> list[Any]:
    commands = machine.handle(Submit(Request(number, entry, tuple((k,) for k in keys), mark)))
    machine.validate()
    return commands


def reads(commands: list[Any]) -> list[Read]:
    found = [c.message for c in commands if isinstance(c, ToWorker) and isinstance(c.message, Read)]
    assert all(c.worker == DRIVER for c in commands if isinstance(c, ToWorker) and isinstance(c.message, Read))
    return found


def numbers(read: Read) -> list[int]:
    return [item.number if isinstance(item, Hold) else item.request.number for item in read.items]


def done(machine: Coordinator, read: Read, *outcomes: Outcome | None) -> list[Any]:
    commands = machine.handle(FinishedReads(read.number, outcomes))
    machine.validate()
    return commands


FIVE = Results((5,))


def test_what_only_reads_is_tried_at_those_who_are_there_and_answered_once() -> None:
    machine = one_is_lost()
    assert ask(machine, 1, "put", HERE) == [], "a write waits"
    assert ask(machine, 2, "get", GONE) == [], "so does a read that starts at the one that is lost"
    (read,) = reads(ask(machine, 3, "get", HERE))
    assert (read.there, read.committed, read.version) == ({1, 2}, machine.committed, machine.latest)
    assert numbers(read) == [3]
    assert ask(machine, 4, "get", THERE) == [], "one try at a time"
    version = machine.committed
    commands = done(machine, read, FIVE)
    assert isinstance(commands[0], Seen) and commands[0].version == version == machine.committed
    assert [(r.request.number, r.sequence, r.failed) for r in commands[0].ran] == [(3, 0, False)]
    assert commands[1] == Reply(3, FIVE)
    assert [numbers(r) for r in reads(commands)] == [[4]]
    assert machine.sequence == 1
    assert done(machine, read, FIVE) == [], "it is answered once"
    assert machine.backlog.numbers() == [1, 2, 4]


def test_a_read_that_needs_the_lost_one_keeps_its_place_and_is_tried_again_with_others_there() -> None:
    machine = one_is_lost()
    machine.handle(Lost(1))
    (read,) = reads(ask(machine, 1, "get", THERE, HERE))
    assert read.there == {2}
    ask(machine, 2, "put", THERE)
    assert done(machine, read, None) == [], "not tried again at once"
    assert machine.backlog.numbers() == [1, 2]
    assert reads(machine.handle(Joined(1))) == [], "it has not settled"
    (again,) = reads(settle(machine, 1))
    assert again.there == {1, 2} and numbers(again) == [1]


def test_an_answer_that_comes_when_all_are_there_is_too_late() -> None:
    machine = one_is_lost()
    (read,) = reads(ask(machine, 1, "get", HERE))
    machine.handle(Joined(LOST))
    commands = settle(machine, LOST)
    assert commands[0].worker == DRIVER, "it is stopped first"
    assert machine.epoch is not None and [p.request.number for p in machine.epoch.placed] == [1]
    assert done(machine, read, FIVE) == []


def test_what_ran_when_a_worker_was_lost_is_read_too_once_all_have_gone_back() -> None:
    machine = one_is_lost()
    machine.handle(Joined(LOST))
    settle(machine, LOST)
    ask(machine, 1, "get", HERE)
    assert machine.running
    assert reads(machine.handle(Lost(LOST))) == [], "the others may have written"
    (read,) = reads(settle(machine, 1))
    assert read.there == {1}
    done(machine, read, FIVE)
    assert machine.backlog.numbers() == []


def test_a_read_that_is_withdrawn_is_not_answered() -> None:
    machine = one_is_lost()
    (read,) = reads(ask(machine, 1, "get", HERE))
    assert machine.handle(Withdraw(1)) == [Withdrawn(1)]
    assert done(machine, read, FIVE) == []
    assert machine.handle(Withdraw(1)) == []


def test_another_version_begins_another_try() -> None:
    machine = one_is_lost()
    (read,) = reads(ask(machine, 1, "get", HERE))
    (again,) = reads(machine.handle(Stalled()))
    assert again.version > read.version
    assert done(machine, read, FIVE) == []
    assert done(machine, again, FIVE)[1] == Reply(1, FIVE)


def test_what_is_to_be_remembered_waits() -> None:
    machine = one_is_lost()
    assert ask(machine, 1, "get", HERE, mark=("call", "name", None)) == []


def test_a_client_that_wants_to_read_is_answered_or_given_the_state() -> None:
    machine = one_is_lost()
    assert machine.handle(Hold(1)) == []
    (read,) = reads(machine.handle(Hold(2, lambda held: 5)))
    assert numbers(read) == [2]
    assert done(machine, read, FIVE) == [Reply(2, FIVE)], "no request has run"
    (read,) = reads(machine.handle(Hold(3, lambda held: 5)))
    done(machine, read, None)
    machine.handle(Withdraw(1))
    machine.handle(Joined(LOST))
    assert settle(machine, LOST)[-1] == Grant(3)


def test_rows_without_a_key_are_numbered_so_that_they_start_at_those_who_are_there() -> None:
    machine = one_is_lost()
    machine.handle(Lost(1))
    (read,) = reads(ask(machine, 1, "rule", 1))
    (placed,) = read.items
    assert not isinstance(placed, Hold)
    assert ROUTING.worker_of(ROUTING.home(placed.sequence)) == 2
    done(machine, read, FIVE)
    assert machine.sequence == placed.sequence + 1


def test_an_answer_that_was_on_its_way_when_workers_changed_is_none_of_the_new_ones() -> None:
    machine = one_is_lost()
    (old,) = reads(ask(machine, 1, "get", HERE))
    machine.handle(Joined(LOST))
    settle(machine, LOST)
    machine.handle(Withdraw(1))
    machine.handle(Stalled())
    for worker in sorted(machine.unsettled):
        settle(machine, worker)
    assert machine.handle(Hold(2)) == [Grant(2)]
    machine.switch(1, 3, machine.starts)
    machine.handle(Release(2, True))
    machine.handle(Lost(LOST))
    (new,) = reads(ask(machine, 3, "get", HERE))
    assert done(machine, old, FIVE) == [], "it answers what was asked before"
    assert done(machine, new, FIVE)[1] == Reply(3, FIVE)
