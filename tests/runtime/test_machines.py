"""Worker, coordinator and what they are made of, one event at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels import PythonCode
from anabranch.lang.keys import BUCKETS
from anabranch.lang.spec import describe
from anabranch.runtime.backlog import Backlog, Chosen, Limits
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.exchange import Arrivals
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import (
    Begin,
    BeginFused,
    End,
    Failed,
    Finished,
    Grant,
    Hold,
    IllegalTransition,
    Joined,
    Lost,
    Release,
    Reply,
    Request,
    Row,
    Rows,
    Settle,
    Settled,
    Stalled,
    Submit,
    ToWorker,
    Version,
    Withdraw,
    Withdrawn,
)
from anabranch.runtime.routing import BLOCK, Routing, spread_evenly
from anabranch.runtime.rows import Runner


class Count(ab.Program):
    seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    times: ab.Partial[ab.Vector]

    def see(self, k: int) -> int:
        self.seen[k] += 1
        return self.seen[k]

    def swap(self, a: int, b: int) -> None:
        kept = self.seen[a]
        self.seen[a] = self.seen[b]
        self.seen[b] = kept


GRAPH = ab.compile(Count)


def coordinator(workers: int = 2, limits: Limits | None = None) -> Coordinator:
    program = Count()
    memory = Memory(GRAPH, program, spread_evenly(workers))
    runner = Runner(GRAPH, PythonCode(GRAPH, program), memory, dict(describe(Count).entries))
    return Coordinator(workers, Backlog(GRAPH, limits or Limits(fused_rows=-1)), runner.starts)


def see(number: int, *keys: int) -> Submit:
    return Submit(Request(number, "see", tuple((k,) for k in keys)))


def told(commands: list[object]) -> list[str]:
    return [type(c.message if isinstance(c, ToWorker) else c).__name__ for c in commands]


# -- routing ----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 9), st.one_of(st.integers(), st.text(), st.tuples(st.integers(), st.binary()), st.booleans()))
def test_every_key_has_an_owner_and_a_worker(workers: int, key: object) -> None:
    routing = spread_evenly(workers)
    assert routing.worker_of(routing.owner(key)) in range(workers)
    assert routing.owner(key) in routing.hosted(routing.worker_of(routing.owner(key)))


def test_rows_without_a_key_stay_together_in_blocks() -> None:
    routing = spread_evenly(4)
    homes = [routing.home(sequence) for sequence in range(40 * BLOCK)]
    assert all(len(set(homes[i : i + BLOCK])) == 1 for i in range(0, len(homes), BLOCK))
    assert set(homes) == {0, 1, 2, 3}


def test_a_routing_names_all_buckets_and_known_instances() -> None:
    with pytest.raises(ValueError, match="1024 buckets"):
        Routing((0,), (0,))
    with pytest.raises(ValueError, match="names others"):
        Routing((1,) * BUCKETS, (0,))


# -- exchange ---------------------------------------------------------------------------------------------------------


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), max_size=6))
def test_a_stage_is_complete_when_all_is_here_whatever_the_order(order: list[int], twice: list[int]) -> None:
    version = Version(1, 0)
    row = Row(0, 0, "t", None, 0, 0, ())
    messages: list[Rows | End] = [Rows(version, s, 0, n, ((1, row),)) for s in (1, 2) for n in (0, 1)]
    messages += [End(version, 1, 0, 2), End(version, 2, 0, 2)]
    arrivals = Arrivals(version)
    for at in [*twice, *order]:
        arrivals.receive(messages[at])
    assert arrivals.complete(1, (1, 2))
    assert len(arrivals.take(1)) == 4, "a parcel counts once"
    assert not arrivals.complete(2, (1, 2))


@given(st.integers(0, 5))
def test_a_stage_waits_for_what_is_missing(missing: int) -> None:
    version = Version(1, 0)
    messages: list[Rows | End] = [Rows(version, s, 0, n, ()) for s in (1, 2) for n in (0, 1)]
    messages += [End(version, 1, 0, 2), End(version, 2, 0, 2)]
    arrivals = Arrivals(version)
    for at, message in enumerate(messages):
        if at != missing:
            arrivals.receive(message)
    assert not arrivals.complete(1, (1, 2))


# -- memory -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), max_size=8), st.booleans())
def test_what_is_not_committed_is_taken_back(writes: list[tuple[int, int]], commit: bool) -> None:
    memory = Memory(GRAPH, Count(), spread_evenly(2))
    one, two = Version(1, 0), Version(2, 0)
    memory.open((0, 1), one)
    memory.parts["seen"][0][77] = 1
    memory.settle((0, 1), one, one)
    memory.open((0, 1), two)
    for key, value in writes:
        memory.parts["seen"][memory.owner(key)][key] = value
    memory.settle((0, 1), two if commit else one, two)
    memory.settle((0, 1), one, two)  # again: nothing is open
    wanted = {77: 1} | (dict(writes) if commit else {})
    assert dict(memory.parts["seen"][0].items()) | dict(memory.parts["seen"][1].items()) == wanted


def test_a_late_order_does_not_touch_a_newer_version() -> None:
    memory = Memory(GRAPH, Count(), spread_evenly(1))
    memory.open((0,), Version(2, 3))
    memory.parts["seen"][0][1] = 5
    memory.settle((0,), Version(1, 0), Version(2, 2))
    assert memory.parts["seen"][0][1] == 5


# -- the coordinator --------------------------------------------------------------------------------------------------


def test_one_epoch_is_in_flight_and_commits_when_all_have_finished() -> None:
    machine = coordinator()
    assert told(machine.handle(see(1, 3))) == ["Begin", "Begin"]
    assert machine.handle(see(2, 4)) == []
    version = machine.latest
    assert machine.handle(Finished(0, version, ((0, 1),))) == []
    assert machine.handle(Finished(0, version, ((0, 1),))) == [], "said twice, counted once"
    commands = machine.handle(Finished(1, version, ()))
    assert told(commands) == ["Committed", "Reply", "Begin", "Begin"]
    assert machine.committed == version


def test_a_failure_dissolves_the_epoch_and_each_goes_on_alone() -> None:
    machine = coordinator()
    machine.handle(Hold(9))
    machine.handle(see(1, 1))
    machine.handle(see(2, 2))
    machine.handle(Release(9, False))
    assert machine.epoch is not None and len(machine.epoch.placed) == 2
    assert told(machine.handle(Failed(0, machine.latest, 0))) == ["Settle", "Settle"]
    machine.handle(Settled(0, machine.committed, machine.latest))
    machine.handle(Settled(1, machine.committed, machine.latest))
    assert machine.epoch is not None and [p.request.number for p in machine.epoch.placed] == [1]
    machine.handle(Failed(1, machine.latest, 0))
    machine.handle(Settled(0, machine.committed, machine.latest))
    commands = machine.handle(Settled(1, machine.committed, machine.latest))
    assert told(commands) == ["BeginFused"], "what fails alone runs fused"


def test_a_lost_worker_aborts_and_nothing_begins_until_it_has_settled() -> None:
    machine = coordinator()
    machine.handle(see(1, 1))
    before = machine.latest
    commands = machine.handle(Lost(1))
    assert [(c.worker, type(c.message)) for c in commands if isinstance(c, ToWorker)] == [(0, Settle)]
    machine.handle(Settled(0, machine.committed, machine.latest))
    assert not machine.running
    machine.handle(Joined(1))
    assert machine.handle(Settled(1, machine.committed, before)) == [], "an answer from before the crash"
    assert told(machine.handle(Settled(1, machine.committed, machine.latest))) == ["Begin", "Begin"]
    assert machine.latest > before
    assert machine.handle(Finished(0, before, ((0, 1),))) == [], "of an old attempt"


def test_after_a_stall_the_same_requests_begin_again() -> None:
    machine = coordinator(limits=Limits())
    machine.handle(see(1, 1))
    leader = machine.leader
    assert leader is not None
    commands = machine.handle(Stalled())
    assert [c.worker for c in commands if isinstance(c, ToWorker)] == [leader], "the leader stops first"
    others = machine.handle(Settled(leader, machine.committed, machine.latest))
    assert [c.worker for c in others if isinstance(c, ToWorker)] == [1 - leader]
    assert told(machine.handle(Settled(1 - leader, machine.committed, machine.latest))) == ["BeginFused"]


def test_a_request_can_be_withdrawn_until_it_is_committed() -> None:
    machine = coordinator(1)
    machine.handle(see(1, 1))
    machine.handle(see(2, 1))
    assert machine.handle(Withdraw(2)) == [Withdrawn(2)]
    assert told(machine.handle(Withdraw(1))) == ["Withdrawn", "Settle"]
    assert machine.handle(Withdraw(1)) == []
    machine.handle(Settled(0, machine.committed, machine.latest))
    assert machine.idle


def test_a_hold_has_all_state_to_itself() -> None:
    machine = coordinator(1)
    machine.handle(see(1, 1))
    assert machine.handle(Hold(5)) == []
    commands = machine.handle(Finished(0, machine.latest, ((0, 1),)))
    assert [c for c in commands if isinstance(c, Reply | Grant)][-1] == Grant(5)
    assert machine.handle(see(2, 1)) == []
    with pytest.raises(IllegalTransition, match="gives back"):
        machine.handle(Release(4, False))
    assert told(machine.handle(Release(5, True))) == ["Committed", "Begin"]


def test_a_loss_spoils_what_its_holder_writes_and_nothing_of_the_next() -> None:
    """Also where the holder would have kept it, and has written nothing."""
    machine = coordinator(2)
    assert machine.handle(Hold(1)) == [Grant(1)]
    machine.handle(Lost(1))
    machine.handle(Release(1, False, (), True))
    machine.handle(Joined(1))
    for worker in sorted(machine.unsettled):
        machine.handle(Settled(worker, machine.committed, machine.latest))
    assert machine.handle(Hold(2)) == [Grant(2)]
    assert told(machine.handle(Release(2, True))) == ["Committed"]


def test_a_row_has_one_result() -> None:
    machine = coordinator(2)
    machine.handle(see(1, 1))
    machine.handle(Finished(0, machine.latest, ((0, 1),)))
    with pytest.raises(IllegalTransition, match="two results"):
        machine.handle(Finished(1, machine.latest, ((0, 1),)))


# -- the backlog ------------------------------------------------------------------------------------------------------


def test_epochs_are_filled_entry_by_entry_and_a_hold_is_a_border() -> None:
    backlog = Backlog(GRAPH, Limits(fused_rows=-1, epoch_rows=3))
    for number, entry, rows in ((1, "see", 2), (2, "swap", 1), (3, "see", 1), (4, "see", 1)):
        backlog.add(Request(number, entry, ((0,) if entry == "see" else (0, 1),) * rows))
    backlog.add(Hold(5))
    backlog.add(Request(6, "see", ((0,),)))
    epochs = []
    while (chosen := backlog.choose()) is not None:
        epochs.append([w.request.number for w in chosen.waiting] if isinstance(chosen, Chosen) else [chosen.number])
    assert epochs == [[1, 3], [2], [4], [5], [6]]


def test_begin_fused_is_for_winding_and_small_requests() -> None:
    machine = coordinator(1, Limits(fused_rows=2))
    (command,) = machine.handle(see(1, 1, 2))
    assert isinstance(command, ToWorker) and isinstance(command.message, BeginFused)
    machine = coordinator(1, Limits(fused_rows=2))
    (command,) = machine.handle(see(1, 1, 2, 3))
    assert isinstance(command, ToWorker) and isinstance(command.message, Begin)
