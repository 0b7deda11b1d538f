"""The oracle finds what is wrong: an oracle that cannot fail finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.kills.client import BEGUN, Client, Journal, Wrong
from tests.kills.damage import is_whole
from tests.kills.driver import check, fill
from tests.kills.oracle import batches_in, compare, expected, recall
from tests.kills.plan import THREADS, Plan
from tests.kills.store import Store

FILLED = 30
STEPS = 40


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(str(tmp_path), 1, THREADS, 2, "python", 60.0, FILLED)


@pytest.fixture
def app(plan: Plan) -> Iterator[Any]:
    """After some requests of every client."""
    with ab.run(Store(), workers=2, tier="python") as app:
        fill(app, plan)
        for client in clients_of(plan):
            for _ in range(STEPS):
                client.step(app, None)
        yield app


def clients_of(plan: Plan) -> list[Client]:
    return recall(plan.home, plan.seed, plan.filled, plan.on_spark)


def test_what_was_answered_is_recalled(plan: Plan, app: Any) -> None:
    clients = clients_of(plan)
    assert [client.answered for client in clients] == [STEPS] * 3
    compare(app, expected(clients, plan.seed, FILLED, 0))
    check(app, plan, clients)
    assert is_whole(app, plan)


@pytest.mark.parametrize("state", ["accounts", "notes", "rules"])
def test_an_entry_that_is_another_is_found(plan: Plan, app: Any, state: str) -> None:
    key = next(iter(app.state[state].copy()))
    app.state[state].load({"key": [key], "value": ["" if state == "notes" else -1]})
    with pytest.raises(Wrong, match=rf"{state} is not what was answered: 1 entries differ"):
        compare(app, expected(clients_of(plan), plan.seed, FILLED, 0))


def test_a_row_that_was_applied_twice_is_found(plan: Plan, app: Any) -> None:
    clients = clients_of(plan)
    app.pay(0, clients[0].last, 3, 0)
    with pytest.raises(Wrong, match="seen is not what was answered"):
        check(app, plan, clients)


def test_an_answer_that_is_gone_is_found(plan: Plan, app: Any) -> None:
    app.state.done.load({"key": [1], "value": [STEPS - 1]})
    with pytest.raises(Wrong, match=f"client 1 was answered up to {STEPS}, and {STEPS - 1} is the last there"):
        check(app, plan, clients_of(plan))


def test_a_request_that_nobody_made_is_found(plan: Plan, app: Any) -> None:
    app.state.done.load({"key": [1], "value": [STEPS + 5]})
    with pytest.raises(Wrong, match="which was never carried out"):
        is_whole(app, plan)


def test_an_answer_that_is_another_is_found(plan: Plan, app: Any) -> None:
    client = clients_of(plan)[0]
    number = next(n for n in range(1, STEPS) if client.request(n).entry == "pay")
    given = client._send(app, number)
    with pytest.raises(Wrong, match=f"request {number} of client 0 gave"):
        client._compare(number, given, [-1] * len(given))


@pytest.mark.parametrize("there", [True, False])
def test_a_request_in_flight_is_there_or_not(plan: Plan, app: Any, there: bool) -> None:
    for number in range(3):
        Journal(plan.home / f"client-{number}").write(BEGUN, STEPS + 1)
    clients = clients_of(plan)
    assert [client.pending for client in clients] == [STEPS + 1] * 3
    if there:
        for client in clients:
            client._send(app, client.pending)
    check(app, plan, clients)
    said = "requests in flight that were there" if there else "requests in flight that were not"
    assert [client.settle(app) for client in clients] == [said] * 3
    check(app, plan, clients_of(plan))


def test_batches_of_the_stream_that_are_missing_or_too_many(app: Any) -> None:
    app.count(-1, 5)
    assert batches_in(app, 4, 5) == 5
    for least, most in ((6, 7), (3, 4)):
        with pytest.raises(Wrong, match="5 batches of the stream are there"):
            batches_in(app, least, most)


def test_first_notes_that_are_there_in_part_are_found(plan: Plan, app: Any) -> None:
    plan.is_filled.unlink()
    with pytest.raises(Wrong, match=rf"of the {FILLED} first notes \d+ are there"):
        check(app, plan, clients_of(plan))
