"""Rows that were staged at workers, of a request that is answered before every worker has begun with them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from anabranch.drivers.callers import Stopped
from anabranch.drivers.host import Errand
from anabranch.drivers.host_messages import Report
from anabranch.drivers.streams import Broken
from anabranch.engines.spark.app import frames_of
from anabranch.engines.spark.feeding import Feeder
from anabranch.runtime.messages import AtWorkers, Results, Withdraw
from tests.drivers.processes.test_links import Neighbours
from tests.drivers.processes.tools import LATE, Call, start, wait_until

QUERY = "a batch"


class Fed:
    def __init__(self) -> None:
        self.hosts = Neighbours(2)
        self.app: Any = start(workers=2, hosts=self.hosts)
        self.driver = self.app._engine.driver
        wait_until(lambda: len(self.hosts.residents) == 2, "the workers have not started")
        self.of = {resident.number: resident for resident in self.hosts.residents}

    def stage(self, keys: list[int]) -> AtWorkers:
        """As feeding tasks of Spark do."""
        feeder = Feeder(frames_of(self.app)._target("come"), (QUERY, 0, 0, 7))
        feeder.take(pa.record_batch({"k": pa.array(keys, pa.int64())}))
        feeder.end()
        return AtWorkers(QUERY, 0, ((0, 7, len(keys)),), routing=self.app._engine.routing.version)

    def hold_up(self, worker: int) -> threading.Event:
        """The machine of a worker does nothing until the event is set."""
        go = threading.Event()
        self.of[worker]._host.mail.put(Errand(lambda: go.wait(LATE) and None))
        return go

    def hears(self, worker: int) -> None:
        """Come back when the worker has heard all that was said to it; its machine may have done nothing of it."""
        link = self.driver._fleet.links[worker]
        before = link.reported
        self.driver._fleet.post(worker, Report(0))
        wait_until(lambda: link.reported is not before, "the worker does not answer")


@pytest.fixture
def fed() -> Iterator[Fed]:
    found = Fed()
    yield found
    found.app.stop()


def test_rows_are_dropped_behind_what_begins_with_them(fed: Fed) -> None:
    """The request is given up while a worker has still to begin: that it then finds no rows must not end the run."""
    rows, desk = fed.stage(list(range(100))), fed.driver.desk
    go = fed.hold_up(1)
    call = Call(lambda: fed.driver.submit("come", rows))
    wait_until(lambda: desk.coordinator.running, "the epoch does not begin")
    (placed,) = desk.coordinator.epoch.placed
    desk.tell(Withdraw(placed.request.number))
    fed.driver.drop(QUERY, 1)
    fed.hears(1)
    go.set()
    with pytest.raises(Stopped):
        call.done()
    assert fed.app.come(5) == 1


def test_rows_that_cannot_be_brought_are_asked_for_again(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The epoch of a request that fails runs where the coordinator is, to which the rows come."""
    rows = fed.stage([1, 2, 2])
    bringing, failures = fed.driver._bringing, iter([Broken("cut"), Broken("cut")])
    with_rows = bringing.with_rows

    def unlucky(event: Any) -> Any:
        for error in failures:
            raise error
        return with_rows(event)

    monkeypatch.setattr(bringing, "with_rows", unlucky)
    backlog = fed.driver.desk.coordinator.backlog
    choose = backlog.choose

    def fused() -> Any:
        chosen = choose()
        return chosen and replace(chosen, plan=None, columns=False)

    monkeypatch.setattr(backlog, "choose", fused)
    outcome = fed.driver.submit("come", rows)
    assert isinstance(outcome, Results) and tuple(outcome.values) == (1, 1, 2)
