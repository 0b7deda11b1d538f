"""All machines and all state in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from anabranch.drivers.callers import Gate
from anabranch.drivers.clock import Clock
from anabranch.drivers.durable.owns import Owns
from anabranch.drivers.durable.settings import At, Saving
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.moving import Source, Successor, prepare
from anabranch.drivers.threads import Threads
from anabranch.drivers.timing import Cells
from anabranch.engines.embedded.engine import Engine, Origin, Plan
from anabranch.engines.embedded.metrics import Meter
from anabranch.engines.embedded.rest import RestHere
from anabranch.engines.embedded.tiers import Tiers
from anabranch.graph.nodes import Graph
from anabranch.kernels import PythonCode
from anabranch.lang import Program
from anabranch.lang.spec import describe
from anabranch.runtime.backlog import Backlog, Limits
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import NOTHING_YET, Committed
from anabranch.runtime.routing import Routing, spread_evenly
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker
from anabranch.state.budget import Budget
from anabranch.state.changes import Change
from anabranch.state.sizes import size_of

TRIES = 10  # to be near before the app holds still


@dataclass(frozen=True)
class OriginHere(Origin):
    """In a copy of the process: the state that an engine goes on with."""

    memory: Memory
    kernels: Kernels


class Here(Engine):
    """The engine of an app whose workers are threads."""

    def __init__(
        self,
        program: Program,
        graph: Graph,
        workers: int,
        limits: Limits,
        gate: Gate | None,
        tier: str,
        meter: Meter,
        committed: Callable[[Committed], None],
        clock: Clock,
        switched: Callable[[int, Routing], None] = lambda sequence, routing: None,
        saving: Saving | None = None,
        origin: OriginHere | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(graph, origin)
        self._program, self._graph, self._meter = program, graph, meter
        self._switched = switched
        self._successor: Successor | None = None
        self._before: int | None = None  # how many instances there were, when there are others since just now
        self._scaling = threading.Lock()
        marks, remember, own = self.marks, self.remember, Owns(graph)
        saved = None
        if saving is not None:
            from anabranch.drivers.durable.run import SavedHere

            saved = SavedHere(saving, graph, program, workers, marks, clock, None if origin is None else origin.at)
        if origin is not None:
            memory, kernels = origin.memory, origin.kernels
        else:
            found = saved is not None and saved.found is not None
            routing = spread_evenly(workers) if saved is None else saved.routing
            memory = Memory(graph, None if found else program, routing, None if limit is None else Budget(limit))
            kernels = Kernels(graph, program, memory)
        self._budget = memory.budget
        self.saved, self.routing, self.memory, self.kernels = saved, memory.routing, memory, kernels
        if saved is not None:
            saved.restore(memory, None if tier == "python" else kernels)
        memory.recount("at the start")
        machines = self._machines(memory, kernels)
        backlog = Backlog(
            graph, limits, lambda e: self.kernels.runs_whole(e), lambda request: self.kernels.runs_in_columns(request)
        )
        at = (NOTHING_YET, 0) if saved is None else (saved.version, saved.sequence)
        if origin is not None:
            at = origin.at.version, origin.at.sequence
        coordinator = self.coordinator = Coordinator(workers, backlog, machines[0].runner.starts, False, None, *at)

        def commit(done: Committed) -> None:
            made, memory, successor = remember(done), self.memory, self._successor
            before, self._before = self._before, None
            if before is not None:  # nothing has happened but that state is elsewhere
                if saved is not None:
                    saved.begun(done.version, coordinator.sequence, before)
                memory.commit(done.version)
                return
            changes: list[Change] = []
            if saved is not None:
                if saved.saver.logging:
                    changes = memory.changes(range(memory.routing.instances), own)
                saved.epoch(done.version, coordinator.sequence, changes, made)
            memory.commit(done.version)
            for mark in made:
                marks.add(mark)
            committed(done)
            if successor is not None:
                successor.wait_for_room()

        self.driver = Threads(self.coordinator, machines, commit, gate)
        self.rest = RestHere(memory, self.driver, size_of)

        def install(entry: str, made: Any) -> None:
            with driver.hold():
                self.kernels.install(entry, made)

        driver = self.driver
        if saved is not None:
            saved.begin(driver.desk, driver.hold)
        self.tiers = Tiers(kernels, tier, limits.fused_rows, install, driver.refuse_from_within)
        self.tiers.start()

    def _machines(self, memory: Memory, kernels: Kernels) -> list[Worker]:
        graph, program, meter, workers = self._graph, self._program, self._meter, memory.routing.workers
        code, specs = PythonCode(graph, program), dict(describe(type(program)).entries)
        runners = [
            Runner(graph, meter.timed(code, w), memory, specs, kernels.of_worker(meter.cells(w)))
            for w in range(workers)
        ]
        return [Worker(w, workers, runner) for w, runner in enumerate(runners)]

    # -- another number of workers ------------------------------------------------------------------------------------

    def scale(self, plan: Plan) -> float | None:
        self.driver.refuse_from_within()
        with self._scaling, nullcontext() if self.saved is None else self.saved.snapshots.alone():
            self.driver.desk.refuse_closed()
            routing = plan(self.routing)
            if routing is None:
                return None
            with self.tiers.as_they_are():
                if routing.instance_of_bucket != self.routing.instance_of_bucket:
                    return self._move(routing)
                with self.driver.hold(writes=True):
                    start = perf_counter()
                    self._switch(routing, self.memory, self.kernels)
                    return perf_counter() - start

    def _move(self, routing: Routing) -> float:
        """How many seconds nothing else ran."""
        driver = self.driver
        prepare(self._graph)
        with driver.hold():
            successor, source = self._beside(routing)
            self._successor = successor
        placing = threading.Thread(target=successor.place, name="anabranch-move", daemon=True)
        placing.start()
        try:
            fast = [e.name for e in self._graph.entries if self.kernels.is_fast(e.name)]
            made = {entry: successor.kernels.prepare(entry) for entry in fast}
            more = True
            while more:
                with driver.hold():
                    more = source.copy()
                successor.catch_up()
            for _ in range(TRIES):
                if successor.catch_up():
                    break
            with driver.hold(writes=True):
                start = perf_counter()
                successor.catch_up()
                source.check()
                successor.complete()
                successor.become(self.coordinator.committed)
                for entry, kernels in made.items():
                    successor.kernels.install(entry, kernels)
                source.end()
                old = self.memory
                self._switch(routing, successor.memory, successor.kernels)
                old.leave()
                return perf_counter() - start
        except BaseException:
            successor.memory.leave()
            raise
        finally:
            self._successor = None
            source.end()
            successor.end()
            placing.join()

    def _beside(self, routing: Routing) -> tuple[Successor, Source]:
        """For whoever holds the state."""
        graph, program, memory, own = self._graph, self._program, self.memory, Owns(self._graph)
        fresh = Memory(graph, None, routing, memory.budget)
        try:
            successor = Successor(graph, program, memory.routing, fresh, own)
            successor.lay_out({name for arena in memory.arenas if arena is not None for name in arena.stores})
        except BaseException:
            fresh.leave()
            raise
        every, here = range(memory.routing.instances), replace(routing, worker_of_instance=(0,) * routing.instances)
        source = Source(graph, program, memory, every, here, own, lambda worker, moved: successor.put(moved))
        return successor, source

    def _switch(self, routing: Routing, memory: Memory, kernels: Kernels) -> None:
        """For whoever holds the state: what is there is where the routing says."""
        memory.routing, self._before = routing, self.routing.instances
        self._meter.resize(routing.workers)
        self.routing, self.memory, self.kernels = routing, memory, kernels
        machines = self._machines(memory, kernels)
        starts = machines[0].runner.starts
        self.driver.desk.carry_out(self.coordinator.switch(routing.version, routing.workers, starts))
        self.driver.switch(machines)
        self.rest.switch(memory)
        self.tiers.switch(kernels)
        if self.saved is not None:
            self.saved.switch(memory)
        self._switched(self.coordinator.sequence, routing)

    def origin(self) -> OriginHere:
        """For whoever holds the state."""
        at = At(self.coordinator.committed, self.coordinator.sequence, self.routing)
        return OriginHere(self.marks.copy(), at, self.memory, self.kernels)

    def fork(self, app: Any, saving: Saving | None) -> Any:
        from anabranch.engines.connected.forked import fork_app

        return fork_app(app, saving)

    def accounted(self) -> int | None:
        """How many bytes count, where there is a budget."""
        if self._budget is None:
            return None
        with self.driver.hold():
            return self._budget.accounted

    def busy(self) -> list[float | None]:
        return [*self.driver.busy]

    def held(self) -> list[int]:
        with self.driver.hold():
            routing, of = self.routing, self.memory.of_instance
            hosted = [routing.hosted(w) for w in range(routing.workers)]
            return [sum(size_of(part) for i in own for part in of[i].values()) for own in hosted]

    def work(self) -> tuple[list[float], list[Cells]]:
        """How many seconds each worker has worked, and what they have counted that the meter has not."""
        with self.driver.hold():
            return self.driver.busy, []
