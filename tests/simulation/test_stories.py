"""Stories that seeds did not tell, found by reading."""

from __future__ import annotations

from random import Random

import anabranch as ab
from anabranch.runtime.backlog import Limits
from anabranch.runtime.messages import Finished, Settle, Stalled
from anabranch.runtime.routing import spread_evenly
from anabranch.runtime.worker import Pace
from tests.simulation.cases import Case, Faults
from tests.simulation.check import check
from tests.simulation.telling import COORDINATOR
from tests.simulation.world import World


class Put(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]]

    def put(self, k: int) -> int:
        self.t[k] = self.t.get(k, 0) + 1
        return self.t[k]


class Calm(Random):
    """Nothing unlikely happens."""

    def random(self) -> float:
        return 0.9


def world(*clients: tuple[tuple[str, tuple[tuple[int], ...]], ...]) -> World:
    limits = Limits(fused_rows=-1)
    return World(Case("put", Put, ab.compile(Put), False, clients, spread_evenly(2), limits, Faults(), Pace(), Calm(0)))


def deliver(world: World) -> None:
    """All that can be delivered, worked and loaded, until nothing is left."""
    while any(world.network.values()) or world.again or world.loading:
        for channel in [c for c, messages in world.network.items() if messages]:
            world.deliver(channel)
        for worker in sorted(world.again):
            world.work(worker)
        for worker in sorted(world.loading):
            world.load(worker)


def test_a_late_settle_reaches_the_next_incarnation_of_its_worker() -> None:
    """It loads what was committed then; it must not say later that it holds what is committed now."""
    w = world((("put", tuple((k,) for k in range(8))),))
    w.ask(w.clients[0])
    w.network.clear()  # both Begin are lost
    w.coordinate(Stalled())
    late = w.network[COORDINATOR, 1].pop()
    assert isinstance(late, Settle)
    w.coordinate(Stalled())
    while not all(any(isinstance(m, Finished) for m in w.network.get((i, COORDINATOR), [])) for i in (0, 1)):
        for channel, messages in list(w.network.items()):
            if messages and not isinstance(messages[0], Finished):
                w.deliver(channel)
        for worker in sorted(w.again):
            w.work(worker)
    w.mishaps.crash(1)
    w.restart(1)
    w.send(COORDINATOR, 1, late)
    w.deliver((COORDINATOR, 1))
    w.load(1)
    deliver(w)  # both have finished: committed
    assert w.ran
    while w.hosts:
        w.hear()
        deliver(w)
    w.validate()
    w.at_rest(w.coordinator.committed)
    check(w)
