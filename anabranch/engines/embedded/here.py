"""All machines and all state in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anabranch.drivers.callers import Gate
from anabranch.drivers.durable.settings import Saving
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.threads import Threads
from anabranch.drivers.timing import Cells
from anabranch.engines.embedded.engine import Engine
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
        limit: int | None = None,
    ) -> None:
        super().__init__(graph)
        budget = self._budget = None if limit is None else Budget(limit)
        marks, remember = self.marks, self.remember
        saved = None
        if saving is not None:
            from anabranch.drivers.durable.run import SavedHere

            saved = SavedHere(saving, graph, program, workers, marks)
        self.saved, self.routing = saved, spread_evenly(workers) if saved is None else saved.routing
        found = saved is not None and saved.found is not None
        memory = self.memory = Memory(graph, None if found else program, self.routing, budget)
        kernels = Kernels(graph, program, memory)
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
