"""Workers in processes of their own, the coordinator in this one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from anabranch.drivers import apart
from anabranch.drivers.callers import Gate
from anabranch.drivers.clock import Clock
from anabranch.drivers.durable.marks import Marks
from anabranch.drivers.durable.settings import At, Saving
from anabranch.drivers.fleet import Launcher, Network, Patience
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.nursery import WORKER
from anabranch.drivers.processes import Processes
from anabranch.drivers.shipping import fingerprint, pack_program
from anabranch.drivers.timing import Cells
from anabranch.drivers.wire import Wire
from anabranch.engines.embedded.engine import Engine, Origin, Plan
from anabranch.engines.embedded.metrics import Meter
from anabranch.engines.embedded.tiers import Tiers
from anabranch.graph.nodes import Graph
from anabranch.kernels import PythonCode
from anabranch.lang import Program
from anabranch.lang.arguments import as_choice
from anabranch.lang.spec import describe
from anabranch.runtime.backlog import Backlog, Limits
from anabranch.runtime.collecting import Copies
from anabranch.runtime.coordinator import Coordinator
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import DRIVER, NOTHING_YET, AtWorkers, Committed, Placed, Request, Seen
from anabranch.runtime.routing import Routing, spread_evenly
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
    hosts = as_choice("hosts", hosts, HOSTS)
    return None if hosts == "threads" else Processes(workers)


def _saved(
    saving: Saving | None, graph: Graph, program: Program, workers: int, marks: Marks, clock: Clock, at: At | None
) -> SavedApart | None:
    if saving is None:
        return None
    from anabranch.drivers.durable.run import SavedApart

    return SavedApart(saving, graph, program, workers, marks, clock, at)


class Crew:
    """What the coordinator's process has for one routing: who runs what is collected there, and who gets which rows."""

    def __init__(self, graph: Graph, program: Program, routing: Routing) -> None:
        self._graph, self._program, self._routing = graph, program, routing
        nothing = Memory(graph, None, routing)
        self.kernels = Kernels(graph, program, nothing, ())
        runner = Runner(graph, PythonCode(graph, program), nothing, dict(describe(type(program)).entries))
        self.starts = runner.starts
        self.machine = Worker(DRIVER, routing.workers, runner, None, Copies(graph, program, routing))

    def split(self, placed: Placed) -> list[Placed]:
        """The rows of a request in columns that each worker gets."""
        from anabranch.kernels.native.shares import shares

        request: Any = placed.request
        if isinstance(request.rows, AtWorkers):
            return [placed] * self._routing.workers
        instance_of = self.starts[request.entry].instance
        args = self._graph, request.entry, self._program, request.rows, placed.sequence, self._routing, instance_of
        return [placed._replace(request=request._replace(rows=share)) for share in shares(*args)]


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
        clock: Clock,
        launcher: Launcher,
        switched: Callable[[int, Routing], None],
        patience: Patience | None = None,
        network: Network | None = None,
        saving: Saving | None = None,
        origin: Origin | None = None,
        limit: int | None = None,
        spares: int = 0,
    ) -> None:
        super().__init__(graph, origin)
        self._limit = limit
        marks, remember, stands = self.marks, self.remember, None if origin is None else origin.at
        saved = self.saved = _saved(saving, graph, program, workers, marks, clock, stands)
        if stands is None:
            routing = spread_evenly(workers) if saved is None else saved.routing
            stands = At(NOTHING_YET, 0, routing) if saved is None else At(saved.version, saved.sequence, routing)
        routing = self.routing = stands.routing
        self.program = pack_program(program, graph)
        self._program, self._graph, self._meter, self._switched = program, graph, meter, switched
        self._scaling = threading.Lock()
        self._before: int | None = None  # how many instances there were, when there are others since just now
        crew = Crew(graph, program, routing)
        self.kernels = crew.kernels

        def in_columns(request: Request) -> bool:
            return isinstance(request.rows, AtWorkers) or self.kernels.runs_in_columns(request)

        backlog = Backlog(graph, Limits(-1, limits.epoch_rows), columns=in_columns)
        at = stands.version, stands.sequence
        coordinator = self.coordinator = Coordinator(workers, backlog, crew.starts, True, crew.split, *at)
        coordinator.routing = routing.version
        beginning = start(graph, program, routing.instances, routing.owner)

        def commit(done: Committed | Seen) -> None:
            if isinstance(done, Committed):
                before, self._before = self._before, None
                if before is not None:  # nothing has happened but that state is elsewhere
                    if saved is not None:
                        saved.begun(done.version, coordinator.sequence, before, done.writers)
                    return
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
            crew.machine,
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
            spares,
        )
        driver = self.driver
        if saved is not None:
            saved.begin(driver)

        def install(entry: str, made: Any) -> None:
            if driver.install(entry):
                self.kernels.code.install(entry, *made)

        self.tiers = Tiers(crew.kernels, tier, limits.fused_rows, install, driver.refuse_from_within)
        self.tiers.start()

    def scale(self, plan: Plan) -> float | None:
        self.driver.refuse_from_within()
        with self._scaling, nullcontext() if self.saved is None else self.saved.snapshots.alone():
            self.driver.desk.refuse_closed()
            graph, routing = self._graph, plan(self.routing)
            if routing is None:
                return None
            with self.tiers.as_they_are():
                crew = Crew(graph, self._program, routing)
                for entry in graph.entries:
                    if self.kernels.is_fast(entry.name):
                        crew.kernels.code.install(entry.name, *crew.kernels.prepare(entry.name))
                copies = Copies(graph, self._program, routing)
                paused: float = self.driver.scale(routing, crew.machine, copies, lambda: self._switch(crew, routing))
                return paused

    def _switch(self, crew: Crew, routing: Routing) -> None:
        """For whoever has the lock, while all state is his: what is there is where the routing says."""
        self._before = self.routing.instances
        self.routing, self.kernels = routing, crew.kernels
        self._meter.resize(routing.workers)
        commands = self.coordinator.switch(routing.version, routing.workers, crew.starts, crew.split)
        self.driver.desk.carry_out(commands)
        self.tiers.switch(crew.kernels)
        if self.saved is not None:
            self.saved.switch(routing)
        self._switched(self.coordinator.sequence, routing)

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

    def busy(self) -> list[float | None] | None:
        found: list[float | None] | None = self.driver.busy()
        return found

    def held(self) -> list[int]:
        return [sum(size for _, size in r.sizes) for r in self.driver.report()]

    def work(self) -> tuple[list[float], list[Cells]]:
        """How many seconds each worker has worked, and what it has counted."""
        found = self.driver.report()
        return [r.busy for r in found], [{name: [rows, seconds] for name, rows, seconds in r.rows} for r in found]
