"""How the work of an app is spread over its workers, and how that changes."""

from __future__ import annotations

from collections.abc import Collection
from time import perf_counter

from anabranch.drivers.placing import next_routing, relieved
from anabranch.engines.embedded.engine import Engine
from anabranch.engines.embedded.hot import HotKeys
from anabranch.engines.embedded.metrics import Meter
from anabranch.graph.nodes import Graph
from anabranch.runtime.elastic import Decision
from anabranch.runtime.routing import Routing


class Spreading:
    """Of one app."""

    def __init__(self, graph: Graph, engine: Engine, meter: Meter, hot: HotKeys) -> None:
        self._graph, self._engine, self._meter, self._hot = graph, engine, meter, hot
        self._owed: int | None = None  # the number of workers that there were, while some are relieved

    def busy(self) -> list[float | None] | None:
        """See `Engine.busy`."""
        return self._engine.busy()

    def loads(self) -> list[float]:
        """The share of the work that each worker has."""
        routing = self._engine.routing
        found = [0.0] * routing.workers
        for weight, instance in zip(self._weights(), routing.instance_of_bucket, strict=True):
            found[routing.worker_of(instance)] += weight
        return found

    def follow(self, decision: Decision) -> None:
        """Go on as was decided, with as few buckets moved as that takes; hot keys are not all with one worker."""
        start, was, weights = perf_counter(), self._meter.workers, self._weights()
        even = decision.wanted is None and min(weights) == max(weights)
        sizes = [] if even else self._engine.held()

        def plan(now: Routing) -> Routing | None:
            if decision.wanted is None and decision.workers == now.workers:
                return None
            known = sizes if len(sizes) == now.workers else None
            routing = next_routing(self._graph, now, decision.workers, decision.wanted, weights, known)
            same = routing.instance_of_bucket == now.instance_of_bucket
            return None if same and decision.workers == now.workers else routing

        pause = self._engine.scale(plan)
        self._owed = None
        if pause is not None:
            self._meter.moved(was, decision.why, start, pause)

    def relieve(self, leaving: Collection[int], why: str) -> None:
        """Move all state away from these workers, let others take their places, and spread it anew; if that has come to
        nothing before, only that.

        Calls are answered while state moves; while a worker that has nothing is started elsewhere, only reads are.
        """
        engine, was = self._engine, self._meter.workers
        for spare in [worker for worker in leaving if worker >= was]:
            engine.driver.lost(spare, why)
        leaving = [worker for worker in leaving if worker < was]
        if leaving:
            start = perf_counter()
            pause = engine.scale(lambda now: relieved(now, leaving))
            self._owed = was if self._owed is None else self._owed
            self._meter.moved(was, why, start, pause or 0.0)
            for worker in sorted(leaving):
                if worker < engine.routing.workers:
                    engine.driver.renew(worker, why)
        if self._owed is None:
            return
        owed, start, between, weights = self._owed, perf_counter(), self._meter.workers, self._weights()
        pause = engine.scale(lambda now: next_routing(self._graph, now, owed, None, weights))
        self._owed = None
        self._meter.moved(between, f"{why}: others have come", start, pause or 0.0)

    def _weights(self) -> list[float]:
        with self._engine.driver.desk.lock:  # under which rows are counted
            return self._hot.weights()
