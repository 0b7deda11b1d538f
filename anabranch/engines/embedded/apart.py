"""Workers in processes of their own, the coordinator in this one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.drivers import apart
from anabranch.drivers.callers import Gate
from anabranch.drivers.durable.marks import Marks
from anabranch.drivers.durable.settings import At, Saving
from anabranch.drivers.fleet import Launcher, Network, Patience
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.nursery import WORKER
from anabranch.drivers.processes import Processes
from anabranch.drivers.shipping import fingerprint, pack_program
from anabranch.drivers.timing import Cells
from anabranch.drivers.wire import Wire
from anabranch.engines.embedded.engine import Engine, Origin
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
from anabranch.runtime.messages import DRIVER, NOTHING_YET, AtWorkers, Committed, Placed, Request, Seen
from anabranch.runtime.routing import spread_evenly
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker
from anabranch.state.collected import content
from anabranch.state.parts import start

if TYPE_CHECKING:
    from anabranch.drivers.durable.run import SavedApart

HOSTS = ("threads", "processes")


def launcher_of(hosts: str, workers: int) -> Launcher | None:
    """What starts the workers; None where they are threads of this process."""
    if os.environ.get(WORKER) == str(os.getpid()):
        raise RuntimeError(
            "ab.run was called in a worker process, while it read the program, and would start workers that start "
            'workers: put what starts the app under `if __name__ == "__main__":`'
        )
    if hosts not in HOSTS:
        raise ValueError(f"hosts is one of {', '.join(map(repr, HOSTS))}, got {hosts!r}")
    return None if hosts == "threads" else Processes(workers)


def _saved(
    saving: Saving | None, graph: Graph, program: Program, workers: int, marks: Marks, at: At | None
) -> SavedApart | None:
    if saving is None:
        return None
    from anabranch.drivers.durable.run import SavedApart

    return SavedApart(saving, graph, program, workers, marks, at)


class Apart(Engine):
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
        committed: Callable[[Committed | Seen], None],
        launcher: Launcher,
        patience: Patience | None = None,
        network: Network | None = None,
        saving: Saving | None = None,
        origin: Origin | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(graph, origin)
        self._limit = limit
        marks, remember, stands = self.marks, self.remember, None if origin is None else origin.at
        saved = self.saved = _saved(saving, graph, program, workers, marks, stands)
        if stands is None:
            routing = spread_evenly(workers) if saved is None else saved.routing
            stands = At(NOTHING_YET, 0, routing) if saved is None else At(saved.version, saved.sequence, routing)
        routing = self.routing = stands.routing
        self.program = pack_program(program, graph)
        nothing = Memory(graph, None, routing)
        kernels = Kernels(graph, program, nothing, ())
        runner = Runner(graph, PythonCode(graph, program), nothing, dict(describe(type(program)).entries))

        def in_columns(request: Request) -> bool:
            return isinstance(request.rows, AtWorkers) or kernels.runs_in_columns(request)

        backlog = Backlog(graph, Limits(-1, limits.epoch_rows), columns=in_columns)

        def split(placed: Placed) -> list[Placed]:
            from anabranch.kernels.native.shares import shares

            request: Any = placed.request
            if isinstance(request.rows, AtWorkers):
                return [placed] * workers
            instance_of = runner.starts[request.entry].instance
            dealt = shares(graph, request.entry, program, request.rows, placed.sequence, routing, instance_of)
            return [placed._replace(request=request._replace(rows=share)) for share in dealt]

        at = stands.version, stands.sequence
        coordinator = self.coordinator = Coordinator(workers, backlog, runner.starts, True, split, *at)
        beginning = start(graph, program, routing.instances, routing.owner)

        def commit(done: Committed | Seen) -> None:
            if isinstance(done, Committed):
                made = remember(done)
                if saved is not None:
                    saved.epoch(done.version, coordinator.sequence, done.writers, made)
                for mark in made:
                    marks.add(mark)
            committed(done)

        def given(instances: Sequence[int]) -> Any:
            return tuple(
                (i, tuple((s.name, content(s, beginning[s.name][i])) for s in graph.states)) for i in instances
            )

        self.driver = self.rest = apart.Apart(
            self.coordinator,
            Worker(DRIVER, workers, runner, None, Copies(graph, program, routing)),
            Copies(graph, program, routing),
            Wire(graph),
            self.program,
            fingerprint(graph),
            given,
            launcher,
            commit,
            gate,
            patience,
            network,
            None if saved is None else saved.at,
            limit,
        )
        driver = self.driver
        if saved is not None:
            saved.begin(driver)

        def install(entry: str, made: Any) -> None:
            if driver.install(entry):
                kernels.code.install(entry, *made)

        self.tiers = Tiers(kernels, tier, limits.fused_rows, install, driver.refuse_from_within)
        self.tiers.start()

    def fork(self, app: Any, saving: Saving | None) -> Any:
        """The app again, with forks of its workers."""
        launcher, at, marks = self.driver.fork(self.marks.copy)
        try:
            return app.copy_of(Origin(marks, at), saving, launcher)
        except BaseException:
            launcher.end(0.0)
            raise

    def accounted(self) -> int | None:
        """How many bytes count at all workers, where there is a budget."""
        return None if self._limit is None else sum([r.accounted for r in self.driver.report()])

    def work(self) -> tuple[list[float], list[Cells]]:
        """How many seconds each worker has worked, and what it has counted."""
        found = self.driver.report()
        return [r.busy for r in found], [{name: [rows, seconds] for name, rows, seconds in r.rows} for r in found]
