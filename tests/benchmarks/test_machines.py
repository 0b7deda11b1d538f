"""The machines without hosts of benchmarks/machines.py: they answer rightly, and send what the model says."""

from __future__ import annotations

import pytest

import anabranch as ab
from benchmarks.machines import Machines
from benchmarks.paper_model import Work, messages, start_messages
from benchmarks.programs import Ways


@pytest.fixture(params=[2, 3, 7])
def machines(request: pytest.FixtureRequest) -> Machines:
    found = Machines(Ways(), request.param)
    found.join()
    return found


def plain(todo: list[tuple[str, list[tuple[float, ...]]]]) -> Ways:
    program = Ways()
    for entry, rows in todo:
        for row in rows:
            getattr(program, entry)(*row)
    return program


def test_they_do_what_the_plain_program_does(machines: Machines) -> None:
    todo: list[tuple[str, list[tuple[float, ...]]]] = [
        ("link", [(key, key * 7 + 1) for key in range(50)]),
        ("pass_on", [(key, 1.0) for key in range(50)]),
        ("add", [(key, 0.5) for key in range(100)]),
        ("transfer", [(1, 2, 0.25), (8, 15, 0.125)]),
    ]
    for entry, rows in todo:
        machines.run(entry, rows)
    expected = dict(plain(todo).totals.items())
    found: dict[int, float] = {}
    for parts in machines.memory.of_instance:
        found |= dict(parts["totals"].items())
    assert found == expected
    assert machines.run("times_seen", [(3,)]) == (0,)


@pytest.mark.parametrize(
    ("entry", "row", "work"),
    [
        ("add", (5, 1.0), Work(1)),
        ("times_seen", (5,), Work(1, stages=2, gathered=True)),
    ],
)
def test_they_send_what_the_model_says(machines: Machines, entry: str, row: tuple[float, ...], work: Work) -> None:
    with machines.counted() as traffic:
        machines.run(entry, [row])
    said = {kind: count for kind, count in messages(len(machines.workers), work).items() if count}
    assert traffic.messages == said
    assert traffic.at_coordinator == 2 * len(machines.workers)


def test_every_worker_tells_every_other_that_a_stage_has_ended(machines: Machines) -> None:
    n = len(machines.workers)
    with machines.counted() as traffic:
        machines.run("pass_on", [(key, 1.0) for key in range(200)])
    assert traffic.messages["End"] == n * (n - 1)


def test_a_start_asks_all_again_for_each_that_joins() -> None:
    for workers in (1, 2, 5):
        machines = Machines(Ways(), workers)
        with machines.counted() as traffic:
            machines.join()
        assert traffic.messages.total() == start_messages(workers)


def test_a_lost_worker_comes_back_with_its_state(machines: Machines) -> None:
    machines.run("add", [(key, 1.0) for key in range(100)])
    machines.run_with_loss("add", [(key, 1.0) for key in range(100)], lost=1)
    totals = [parts["totals"] for parts in machines.memory.of_instance]
    assert sum(value for part in totals for _, value in part.items()) == 200.0


def test_an_error_of_the_user_is_raised() -> None:
    class Refusing(ab.Program):
        totals: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

        def add(self, key: int) -> None:
            if key < 0:
                raise ValueError("no")
            self.totals[key] += 1.0

    machines = Machines(Refusing(), 2)
    machines.join()
    with pytest.raises(ValueError, match="no"):
        machines.run("add", [(-1,)])
