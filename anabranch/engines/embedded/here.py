"""All machines and all state in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anabranch.drivers.callers import Gate
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.threads import Threads
from anabranch.drivers.timing import Cells
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
from anabranch.runtime.messages import Committed
from anabranch.runtime.routing import spread_evenly
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker
from anabranch.state.sizes import size_of


class Here:
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
    ) -> None:
        memory = self.memory = Memory(graph, program, spread_evenly(workers))
        kernels = Kernels(graph, program, memory)
        code, specs = PythonCode(graph, program), dict(describe(type(program)).entries)
        runners = [
            Runner(graph, meter.timed(code, w), memory, specs, kernels.of_worker(meter.cells(w)))
            for w in range(workers)
        ]
        machines = [Worker(w, workers, runner) for w, runner in enumerate(runners)]
        backlog = Backlog(graph, limits, kernels.runs_whole, kernels.runs_in_columns)
        self.coordinator = Coordinator(workers, backlog, runners[0].starts)

        def commit(done: Committed) -> None:
            memory.commit(done.version)
            committed(done)

        self.driver = Threads(self.coordinator, machines, commit, gate)
        self.rest = RestHere(memory, self.driver, size_of)

        def install(entry: str, made: Any) -> None:
            with driver.hold():
                kernels.install(entry, made)

        driver = self.driver
        self.tiers = Tiers(kernels, tier, limits.fused_rows, install, driver.refuse_from_within)
        self.tiers.start()

    def work(self) -> tuple[list[float], list[Cells]]:
        """How many seconds each worker has worked, and what they have counted that the meter has not."""
        with self.driver.hold():
            return self.driver.busy, []
