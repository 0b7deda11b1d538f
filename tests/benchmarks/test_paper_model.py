"""The model of docs/benchmarks/on-paper.md: its terms, and that it says what machines send."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from anabranch.lang import keys
from benchmarks import paper_model
from benchmarks.paper_model import Costs, Design, Given, Work, best, epoch, filled, messages, move, recovery, share

ONE = Costs(**{field.name: 1.0 for field in fields(Costs)})
FREE = Costs(**{field.name: 0.0 for field in fields(Costs)})
GIVEN = Given(network=float("inf"), hop=0.0)


def test_its_constants_are_those_of_the_routing() -> None:
    assert (paper_model.BUCKETS, paper_model.BLOCK) == (keys.BUCKETS, keys.BLOCK)


@pytest.mark.parametrize(
    ("term", "cost", "workers", "expected"),
    [
        ("coordinator", "epoch", 10, 1),
        ("coordinator", "epoch_worker", 10, 10),
        ("coordinator", "epoch_pair", 10, 100),
        ("feed", "route_row", 10, 1024),
        ("compute", "kernel_row", 4, 2 * 256),
        ("exchange", "crossing_row", 4, 256 * 3 / 4),
        ("end marks", "look", 4, 8),
        ("way", "hop", 4, 3),
        ("log", "sync", 4, 1),
    ],
)
def test_a_term_is_its_cost_times_how_often(term: str, cost: str, workers: int, expected: float) -> None:
    found = epoch(replace(FREE, **{cost: 1.0}), GIVEN, workers, Work(1024, stages=2))
    assert found.terms[term] == pytest.approx(expected)
    assert found.seconds == pytest.approx(expected) and found.largest == term


def test_every_pair_of_workers_exchanges_end_marks_and_rows_if_there_are_many() -> None:
    costs = replace(FREE, message=1.0)
    few = epoch(costs, GIVEN, 100, Work(1, stages=2)).terms["end marks"]
    many = epoch(costs, GIVEN, 100, Work(10_000_000, stages=2)).terms["end marks"]
    assert few == pytest.approx(2 * 99, rel=0.01) and many == pytest.approx(4 * 99)


def test_the_network_counts_where_it_is_slower_than_the_processor() -> None:
    slow = replace(GIVEN, network=0.5)
    work = Work(1024, stages=2)
    assert epoch(replace(FREE, crossing_bytes=1.0), slow, 2, work).terms["exchange"] == pytest.approx(512)
    assert epoch(replace(FREE, row_bytes=1.0, route_row=3.0), slow, 2, work).terms["feed"] == pytest.approx(3 * 1024)


def test_rows_that_are_staged_do_not_pass_the_coordinator() -> None:
    assert epoch(ONE, GIVEN, 10, Work(1000, staged=True)).terms["feed"] == 0


def test_a_worker_has_whole_buckets() -> None:
    assert [share(n) * n for n in (1, 2, 1024)] == [1.0, 1.0, 1.0]
    assert 1000 * share(1000) == pytest.approx(1.953, abs=0.001)


def test_messages_are_counted_for_each_way_of_working_together() -> None:
    assert messages(10, Work(5)) == {"Begin": 10, "Rows": 0, "End": 0, "Finished": 10}
    assert messages(10, Work(10**6, stages=2)) == pytest.approx({"Begin": 10, "Rows": 90, "End": 90, "Finished": 10})
    assert messages(10, Work(1, stages=2, gathered=True))["Rows"] == 9
    assert messages(10, Work(1, collected=True))["Apply"] == 9
    assert filled(2, 10**6) == 1.0 and filled(1000, 1) == pytest.approx(1e-6)


def test_more_workers_help_until_coordination_is_more_than_they_save() -> None:
    costs = replace(FREE, kernel_row=1.0, epoch_worker=1.0)
    assert best(costs, GIVEN, Work(1024, staged=True)) == 32  # where 1024 / n + n is least
    assert best(replace(costs, epoch_worker=0.0), GIVEN, Work(1024, staged=True)) == 1024


@pytest.mark.parametrize("name", [field.name for field in fields(Design)])
def test_what_would_lift_it_lifts_it(name: str) -> None:
    work = Work(10, stages=2) if name in ("involved", "tree") else Work(10**7, stages=2)
    lifted = epoch(ONE, GIVEN, 1000, work, Design(**{name: True})).seconds
    assert lifted < epoch(ONE, GIVEN, 1000, work).seconds


def test_a_lost_worker_reads_the_logs_of_all() -> None:
    few, many = (recovery(ONE, GIVEN, n) for n in (10, 1000))
    assert many["log of all workers"] == 100 * few["log of all workers"]
    assert many["snapshot"] == few["snapshot"]


def test_a_move_takes_a_step_of_the_coordinator_for_each_slice() -> None:
    steps = [move(replace(FREE, epoch_worker=1.0), GIVEN, 0.5, slices, 10)["steps"] for slices in (1, 2)]
    assert steps[1] - steps[0] == 10
