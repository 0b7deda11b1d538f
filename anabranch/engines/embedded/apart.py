"""Workers in processes of their own, the coordinator in this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anabranch.drivers import apart
from anabranch.drivers.callers import Gate
from anabranch.drivers.fleet import Launcher
from anabranch.drivers.processes import Processes
from anabranch.drivers.shipping import fingerprint, pack_program
from anabranch.drivers.timing import Cells
from anabranch.drivers.wire import Setup, Wire
from anabranch.engines.embedded.metrics import Meter
from anabranch.engines.embedded.tiers import Tiers
from anabranch.graph.nodes import Graph
from anabranch.kernels import PythonCode
from anabranch.lang import Program
from anabranch.lang.spec import describe
from anabranch.runtime.backlog import Backlog, Limits
from anabranch.runtime.collecting import Copies
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import DRIVER, Committed
from anabranch.runtime.routing import spread_evenly
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker
from anabranch.state.collected import content
from anabranch.state.parts import start

HOSTS = ("threads", "processes")


def launcher_of(hosts: str, workers: int) -> Launcher | None:
    """What starts the workers; None where they are threads of this process."""
    if hosts not in HOSTS:
        raise ValueError(f"hosts is one of {', '.join(map(repr, HOSTS))}, got {hosts!r}")
    return None if hosts == "threads" else Processes(workers)


class Apart:
    """The engine of an app whose workers are elsewhere."""

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
        launcher: Launcher,
    ) -> None:
        routing = spread_evenly(workers)
        nothing = Memory(graph, None, routing)
        self.tiers = Tiers(graph, program, nothing, "python", limits.fused_rows)
        runner = Runner(graph, PythonCode(graph, program), nothing, dict(describe(type(program)).entries))
        backlog = Backlog(graph, Limits(-1, limits.epoch_rows))
        self.coordinator = Coordinator(workers, backlog, runner.starts, apart=True)
        beginning = start(graph, program, workers, routing.owner)

        def given(instances: Sequence[int]) -> Any:
            return tuple(
                (i, tuple((s.name, content(s, beginning[s.name][i])) for s in graph.states)) for i in instances
            )

        self.driver = self.rest = apart.Apart(
            self.coordinator,
            Worker(DRIVER, workers, runner, None, Copies(graph, program, routing)),
            Copies(graph, program, routing),
            Wire(graph),
            Setup(pack_program(program, graph), routing.instance_of_bucket, routing.worker_of_instance),
            fingerprint(graph),
            given,
            launcher,
            committed,
            gate,
        )

    def work(self) -> tuple[list[float], list[Cells]]:
        """How many seconds each worker has worked, and what it has counted."""
        found = self.driver.report()
        return [r.busy for r in found], [{name: [rows, seconds] for name, rows, seconds in r.rows} for r in found]
