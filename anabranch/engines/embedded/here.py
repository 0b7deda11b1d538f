"""All machines and all state in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anabranch.drivers.callers import Gate
from anabranch.drivers.durable.settings import At, Saving
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.threads import Threads
from anabranch.drivers.timing import Cells
from anabranch.engines.embedded.engine import Engine, Origin
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
from anabranch.runtime.routing import spread_evenly
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker
from anabranch.state.budget import Budget
from anabranch.state.sizes import size_of


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
        saving: Saving | None = None,
        origin: OriginHere | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(graph, origin)
        marks, remember = self.marks, self.remember
        saved = None
        if saving is not None:
            from anabranch.drivers.durable.run import SavedHere

            saved = SavedHere(saving, graph, program, workers, marks, None if origin is None else origin.at)
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
        code, specs = PythonCode(graph, program), dict(describe(type(program)).entries)
        runners = [
            Runner(graph, meter.timed(code, w), memory, specs, kernels.of_worker(meter.cells(w)))
            for w in range(workers)
        ]
        machines = [Worker(w, workers, runner) for w, runner in enumerate(runners)]
        backlog = Backlog(graph, limits, kernels.runs_whole, kernels.runs_in_columns)
        at = (NOTHING_YET, 0) if saved is None else (saved.version, saved.sequence)
        if origin is not None:
            at = origin.at.version, origin.at.sequence
        coordinator = self.coordinator = Coordinator(workers, backlog, runners[0].starts, False, None, *at)

        def commit(done: Committed) -> None:
            made = remember(done)
            if saved is not None:
                saved.epoch(done.version, coordinator.sequence, made)
            memory.commit(done.version)
            for mark in made:
                marks.add(mark)
            committed(done)

        self.driver = Threads(self.coordinator, machines, commit, gate)
        self.rest = RestHere(memory, self.driver, size_of)

        def install(entry: str, made: Any) -> None:
            with driver.hold():
                kernels.install(entry, made)

        driver = self.driver
        if saved is not None:
            saved.begin(driver.desk, driver.hold)
        self.tiers = Tiers(kernels, tier, limits.fused_rows, install, driver.refuse_from_within)
        self.tiers.start()

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

    def work(self) -> tuple[list[float], list[Cells]]:
        """How many seconds each worker has worked, and what they have counted that the meter has not."""
        with self.driver.hold():
            return self.driver.busy, []
