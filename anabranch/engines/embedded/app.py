"""`ab.run`: a program as a running app.

Laws: an app gives what calling the class gives, in the order that `history` names; a request takes effect whole or not
at all; a call sees every request that was answered before it began.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from anabranch.compiler import compile
from anabranch.drivers.callers import Gate, Stopped
from anabranch.drivers.clock import Clock, SystemClock
from anabranch.drivers.durable.marks import CALL
from anabranch.drivers.durable.settings import Recovery, Saving, saving_of
from anabranch.drivers.fleet import Launcher, Network, Patience, network_of
from anabranch.drivers.tls import Tls
from anabranch.engines.embedded.apart import Apart, launcher_of
from anabranch.engines.embedded.autoscaling import Autoscaling
from anabranch.engines.embedded.entries import AppEntry
from anabranch.engines.embedded.explain import Explanation, explain
from anabranch.engines.embedded.here import Here
from anabranch.engines.embedded.history import History, Recorder
from anabranch.engines.embedded.hot import HotKeys
from anabranch.engines.embedded.metrics import MemoryMetrics, Meter, Metrics
from anabranch.engines.embedded.progress import progress
from anabranch.engines.embedded.relieving import Leaving, Relieving
from anabranch.engines.embedded.rest import Before
from anabranch.engines.embedded.spreading import Spreading
from anabranch.engines.embedded.states import States
from anabranch.engines.embedded.tiers import TIERS
from anabranch.engines.embedded.tracebacks import let_go
from anabranch.graph.nodes import Graph
from anabranch.kernels import PythonCode
from anabranch.lang import Program
from anabranch.lang.arguments import WORKERS, as_choice, as_flag, as_instance, as_number, as_workers
from anabranch.lang.columns import read_batch
from anabranch.lang.entry import each_batch
from anabranch.lang.errors import MemoryFull
from anabranch.lang.scalars import as_int, short, show
from anabranch.lang.similar import ByName, asks_back, with_question
from anabranch.lang.spec import EntrySpec, describe
from anabranch.runtime.backlog import Limits
from anabranch.runtime.elastic import Autoscale, Decision
from anabranch.runtime.messages import Committed, Results, Seen, Version
from anabranch.runtime.routing import Routing
from anabranch.state.budget import bytes_of
from anabranch.state.sizes import size_of

if TYPE_CHECKING:
    from anabranch.drivers.served import Served
    from anabranch.drivers.tls import Tls

PATIENCE = 10.0  # seconds in which a move ends that comes to nothing
NOT_YET = frozenset("branch merge feeds advance wait".split())


@asks_back
def run(
    program: Program,
    *,
    workers: int | None = None,
    on: object = None,
    checkpoint: object = None,
    history: bool = False,
    tier: str = "auto",
    hosts: str = "threads",
    tls: Tls | None = None,
    ports: range | None = None,
    durability: str = "epoch",
    snapshot_mode: str = "background",
    snapshot_every: float = 60.0,
    snapshot_bytes: int = 1 << 30,
    fence: str = "create",
    to_version: int | None = None,
    memory: str | int | None = None,
    autoscale: Autoscale | None = None,
    spares: int = 0,
    clock: Clock | None = None,
) -> App:
    """Run a program: its state in memory, spread over workers, called and fed through the app that this gives.

    What runs it, and where:

    - `workers`: how many there are, each with a part of the state; by default as many as the machine has cores.
    - `hosts`: "threads" of this process, or "processes" of this machine. Entries that are not compiled use all cores
      only in processes.
    - `on`: a SparkSession, or "spark" for a local one: each worker is then a Spark task that stays.
    - `tier`: "auto" compiles an entry to machine code once it has had enough rows; "compiled" compiles all that can be
      compiled before the first request; "python" nothing. `app.explain()` says what is compiled, and why not.
    - `memory`: what the states of all workers may take together, such as "4GB", or a number of bytes. A request that
      would need more is undone and raises `ab.MemoryFull`; the app goes on. Workers apart have equal shares.
    - `autoscale`: an `ab.Autoscale`; the number of workers then follows the load, from `workers` on, or else from its
      least.
    - `spares`: processes or Spark tasks that have nothing to do until there are more workers.
    - `tls`: an `ab.Tls`, for connections between workers that are apart.
    - `ports`: a range of ports for them; by default any that is free.

    What is saved:

    - `checkpoint`: a folder, a URL such as "s3://..." (with `anabranch[remote]`), or a list of folders on several
      disks. The app is saved there, and goes on from what it finds there.
    - `durability`: with "epoch" an answer comes when what it changed is on disk; after a crash "snapshot" loses what
      came after the last snapshot, "none" what came after the last `app.checkpoint()`.
    - `snapshot_every`: seconds between two snapshots, if anything has changed.
    - `snapshot_bytes`: a snapshot comes sooner if the log has grown by so much.
    - `snapshot_mode`: "background" goes on with the work meanwhile, "sync" stops for it.
    - `to_version`: go back to this version; what came after it is given up.
    - `fence`: "create" refuses a location that cannot create a file only if it is absent; "none" takes it, and then
      nothing stops two runs from writing there at once.

    For those who look closely:

    - `history`: keep all inputs, so that `app.history()` can be replayed; that costs their memory.
    - `clock`: for tests, which set the time: see `anabranch.testing`.

    A program that breaks a rule does not start: it raises `ab.CompileError`.

    >>> import anabranch as ab
    >>> from anabranch.demo import Recommender
    >>> with ab.run(Recommender(), workers=2) as app:
    ...     app.rate.many({"user": [1, 1, 2], "item": [10, 11, 10], "rating": [1.0, 1.0, 1.0]})
    ...     app.recommend(2)
    Vector({10: 2.0, 11: 1.0})
    """
    if not issubclass(type(program), Program):
        shown = f": write ab.run({program.__name__}())" if isinstance(program, type) else ""
        raise TypeError(f"ab.run takes an object of a program class, got {short(program)}{shown}")
    tier, history = as_choice("tier", tier, TIERS), as_flag("history", history)
    if autoscale is not None:
        autoscale = as_instance("autoscale", autoscale, Autoscale, "autoscale=ab.Autoscale(max=4)")
    spares = as_number("spares", spares, "a number of workers", "ab.run(..., spares=1)", most=WORKERS)
    limit = None if memory is None else bytes_of(memory)
    if workers is None:
        workers = min(os.cpu_count() or 1, WORKERS) if autoscale is None else autoscale.min
    workers = as_workers(workers, "ab.run(..., workers=2)")
    network = network_of(tls, ports)
    if clock is not None and not all(callable(getattr(type(clock), name, None)) for name in ("now", "wait", "start")):
        raise TypeError(f"clock is a clock for tests, got {show(clock)}: leave it out, or see anabranch.testing")
    saving = None
    if checkpoint is not None:
        saving = saving_of(checkpoint, durability, snapshot_mode, snapshot_every, snapshot_bytes, fence, to_version)
    same: dict[str, Any] = {"network": network, "saving": saving, "clock": clock}
    if on is not None:
        from anabranch.engines.spark.app import run_on

        return run_on(on, program, workers, history, tier, limit, autoscale, spares, **same)
    hosted: dict[str, Any] = {"hosts": launcher_of(hosts, workers), "memory": limit, **same}
    return App(program, workers, history, tier=tier, autoscale=autoscale, spares=spares, **hosted)


class App:
    """A running program, as `ab.run` gives it: `app.NAME(...)` calls an entry, `app.NAME.many(...)` feeds it,
    `app.state.NAME` looks inside. Any number of threads may use it at once. Leaving a `with` block stops it.

    `entries` has the entries by name, whatever that is; `state` the states.
    `limits`, `gate`, `patience` and `clock` are for tests: they say what runs in stages, what fused, how much waits,
    how long workers elsewhere may take, and what time it is.
    """

    def __init__(
        self,
        program: Program,
        workers: int,
        history: bool = False,
        limits: Limits | None = None,
        gate: Gate | None = None,
        graph: Graph | None = None,
        tier: str = "auto",
        hosts: Launcher | None = None,
        patience: Patience | None = None,
        frames: Callable[[App], Any] | None = None,
        network: Network | None = None,
        saving: Saving | None = None,
        origin: Any = None,
        memory: int | None = None,
        clock: Clock | None = None,
        autoscale: Autoscale | None = None,
        spares: int = 0,
        leaving: Leaving | None = None,
    ) -> None:
        self._limit = memory
        self._clock = clock or SystemClock()
        self._graph = graph or compile(type(program))
        self._meter = Meter(workers)
        self._hot = HotKeys(self._graph, PythonCode(self._graph, program).start_key)
        same: dict[str, Any] = {"limits": limits, "gate": gate, "patience": patience, "frames": frames}
        same |= {"network": network, "graph": self._graph, "tier": tier, "memory": memory, "clock": clock}
        self._again = partial(App, program, **same)
        build: Any = partial(Here, switched=self._switched, saving=saving, origin=origin, limit=memory)
        if hosts is not None:
            apart: dict[str, Any] = {"launcher": hosts, "patience": patience, "network": network}
            apart |= {"switched": self._switched, "spares": spares}
            build = partial(Apart, saving=saving, origin=origin, limit=memory, **apart)
        self._engine = build(
            program, self._graph, workers, limits or Limits(), gate, tier, self._meter, self._committed, self._clock
        )
        self._recorder = Recorder(self._graph, self._engine.routing, history)
        specs = describe(type(program)).entries
        self.entries: Mapping[str, AppEntry] = MappingProxyType(
            ByName("entry", {e.name: AppEntry(self, specs[e.name]) for e in self._graph.entries})
        )
        past = None if saving is None else self._past
        self.state = States(self._graph, program.__anabranch_merges__, self._engine.rest, past)
        self._served: list[Served] = []
        self._frames = None if frames is None else frames(self)
        self._spreading = Spreading(self._graph, self._engine, self._meter, self._hot)
        self._watches: list[Autoscaling | Relieving] = []
        if autoscale is not None:
            self._watches.append(Autoscaling(autoscale, self._clock, self._spreading))
        if leaving is not None:
            self._watches.append(Relieving(leaving, self._clock, self._spreading.relieve))
        for watch in self._watches:
            watch.start()

    def __getattr__(self, name: str) -> AppEntry:
        entries = self.__dict__.get("entries", {})
        if name in entries:
            return entries[name]  # type: ignore[no-any-return]
        if name in NOT_YET:
            raise AttributeError(f"app.{name} is reserved: not yet available")
        message = f"the app has no attribute or entry {name!r}: entries are {', '.join(entries)}"
        raise AttributeError(with_question(message, name, dir(self)))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or hasattr(type(self), name) or name in self.__dict__.get("entries", {}):
            raise AttributeError(f"app.{name} cannot be set")
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.entries})

    def __repr__(self) -> str:
        stopped = ", stopped" if self._engine.driver.closed else ""
        return f"<app {self._graph.name}, {self._meter.workers} workers, version {self.version}{stopped}>"

    def __enter__(self) -> App:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def version(self) -> int:
        """The number of the last epoch, which is the version of the state."""
        committed: Version = self._engine.coordinator.committed
        return committed.epoch

    def stop(self) -> None:
        """Answer what has been asked, then end; may be called again.

        What takes longer than ten seconds is taken back. Calls, `metrics()`, `history()` and reads of state then raise
        `ab.Stopped`.
        """
        for watch in self._watches:
            watch.stop()
        try:
            self._engine.stop()
            for watch in self._watches:
                watch.join(PATIENCE)
        finally:  # clients get the answers first
            for served in self._served:
                served.stop()

    @asks_back
    def serve(self, host: str = "127.0.0.1", port: int = 0, token: str | None = None, tls: Tls | None = None) -> Served:
        """Let other processes call entries and read states with `ab.connect(served.address, served.token)`.

        Port 0 is any that is free; without a token there is a new one. `tls` has a certificate and its key. It ends
        with the app, or with `served.stop()`.
        """
        from anabranch.drivers.served import Served, security_of

        if self._engine.driver.closed:
            raise Stopped("the app has been stopped: start another with ab.run(...)")
        specs = {name: entry._spec for name, entry in self.entries.items()}
        served = Served(self, self._graph, specs, host, port, security_of(token, tls))
        self._served.append(served)
        return served

    @asks_back
    def fork(self, *, checkpoint: object = None) -> Any:
        """An independent app that starts from the current version; neither sees what the other does from then on.

        It takes a fraction of a second, however large the state is: memory is shared until one of the two writes to it.
        The fork lives on the machines of this app until it is stopped; one that must outlive the loss of a process
        needs a `checkpoint` location of its own, where all it has is saved before it is given to you.

        >>> import anabranch as ab
        >>> from anabranch.demo import Recommender
        >>> with ab.run(Recommender(), workers=2) as app:
        ...     app.rate(7, 42, 5.0)
        ...     with app.fork() as fork:
        ...         fork.rate(7, 43, 1.0)
        ...         fork.state.ratings.row(7), app.state.ratings.row(7)
        (Vector({42: 5.0, 43: 1.0}), Vector({42: 5.0}))
        """
        return self._engine.fork(self, None if checkpoint is None else saving_of(checkpoint))

    def copy_of(self, origin: Any, saving: Saving | None, hosts: Launcher | None = None) -> App:
        """The same app on the state of an origin, for a fork."""
        workers = self._engine.routing.workers
        return self._again(workers=workers, saving=saving, origin=origin, hosts=hosts)

    @asks_back
    def scale(self, *, workers: int) -> None:
        """Go on with so many workers; comes back when they do the work.

        Calls and batches are answered meanwhile. What is there is copied to where it will be, beside the work, and what
        changes follows it; the app holds still only for the last of it. It takes memory for what is copied.

        >>> import anabranch as ab
        >>> from anabranch.demo import Recommender
        >>> with ab.run(Recommender(), workers=1) as app:
        ...     app.rate(7, 42, 5.0)
        ...     app.scale(workers=3)
        ...     app, app.state.ratings.row(7)
        (<app Recommender, 3 workers, version 2>, Vector({42: 5.0}))
        """
        self._spreading.follow(Decision(as_workers(workers, "app.scale(workers=2)"), None, "asked for"))

    def checkpoint(self) -> int:
        """Make a snapshot now; gives the version that it holds, once that is on disk. The app needs a
        `checkpoint=` location.
        """
        found: int = self._engine.checkpoint()
        return found

    @property
    def recovery(self) -> Recovery | None:
        """What was restored when the app started, if anything was."""
        found: Recovery | None = self._engine.recovery
        return found

    def _past(self, state: str, version: int) -> Before:
        newest = self.version
        try:
            version = as_int(version)
        except (TypeError, ValueError, OverflowError):
            version = -1
        if not 0 <= version <= newest:
            raise ValueError(f"versions are the numbers from 0 to {newest}, got {short(version)}")
        self._engine.driver.desk.make_durable()
        return Before(self._engine.saved.past(state, version), size_of)

    def history(self) -> History:
        """The requests in the order in which they took effect.

        With `ab.run(..., history=True)` it has their inputs too, and can be replayed on one core.

        >>> import anabranch as ab
        >>> from anabranch.demo import Recommender
        >>> with ab.run(Recommender(), workers=2, history=True) as app:
        ...     app.rate(7, 42, 5.0)
        ...     history = app.history()
        >>> [(request.sequence, request.entry, request.rows) for request in history.requests]
        [(0, 'rate', 1)]
        """
        with self._engine.driver.hold():
            return self._recorder.history()

    def metrics(self) -> Metrics:
        """Rows, epochs, stages, latencies, busy shares and state sizes so far; `print` it, or take `to_dict()`."""
        busy, elsewhere = self._engine.work()
        memory, accounted = None, self._engine.accounted()
        if accounted is not None and self._limit is not None:
            memory = MemoryMetrics(self._limit, accounted, accounted / self._limit)
        with self._engine.driver.desk.lock:
            hot = self._hot.read()
        return self._meter.read(busy, self._engine.rest.sizes(), elsewhere, memory, hot)

    def explain(self) -> Explanation:
        """How each entry runs: its tasks, their stages and tier, straight or winding, and why; `print` it.

        >>> import anabranch as ab
        >>> from anabranch.demo import Recommender
        >>> with ab.run(Recommender(), workers=2) as app:
        ...     [(entry.name, entry.stages, entry.winding) for entry in app.explain().entries]
        [('rate', 1, None), ('recommend', 3, None)]
        """
        return explain(self._graph, self._engine.tiers)

    def _committed(self, committed: Committed | Seen) -> None:
        self._meter.add(committed)
        self._hot.add(committed)
        self._recorder.add(committed)

    def _switched(self, sequence: int, routing: Routing) -> None:
        self._recorder.switch(sequence, routing)

    def _once(self, spec: EntrySpec, rows: Sequence[tuple[Any, ...]], batch: bool, id: str) -> Any:
        """Run a request unless one with this name was carried out before: then give its results."""
        engine = self._engine
        name = f"{spec.name}:{id}"
        with engine.marks.alone(CALL, name):
            kept = engine.marks.get(CALL, name)
            if kept is None:
                return self._request(spec, rows, batch, (CALL, name, None))
        engine.driver.desk.make_durable()
        return engine.remember.results(kept)

    def _request(
        self, spec: EntrySpec, rows: Sequence[tuple[Any, ...]], batch: bool, mark: Any = None, durable: bool = True
    ) -> Any:
        start = perf_counter()
        if batch:
            with progress(spec.name, len(rows)) as watch:
                outcome = self._engine.driver.submit(spec.name, rows, watch, mark, durable)
        else:
            outcome = self._engine.driver.submit(spec.name, rows, None, mark)
        self._meter.latency(spec.name, perf_counter() - start)
        if isinstance(outcome, Results):
            return outcome.values
        error = outcome.error
        if isinstance(error, MemoryFull):
            with self._engine.driver.desk.lock:
                self._meter.refused(spec.name, len(rows))
        let_go(error)
        try:
            raise error
        finally:
            del outcome, error  # else the traceback holds this frame, and the frame the traceback

    def _many_once(self, spec: EntrySpec, data: Any, id: str) -> Any:
        if self._frames is not None and type(data).__module__.startswith("pyspark."):
            raise TypeError("id= is not for DataFrames: a stream knows by itself which batches were applied")
        batch = read_batch(spec, data)
        return batch.results(list(self._once(spec, tuple(batch.rows), True, id)))

    def _many(self, spec: EntrySpec, data: Any, durable: bool = True) -> Any:
        """A batch: as columns of words where its entry has a kernel, else row by row."""
        if self._frames is not None and type(data).__module__.startswith("pyspark."):
            return self._frames.many(spec, data)
        block = self._engine.tiers.block(spec, data)
        if block is None:
            batch = read_batch(spec, data)
            block = self._engine.tiers.block_of_rows(spec, batch.rows)
            if block is None:
                return batch.results(list(self._request(spec, tuple(batch.rows), True, None, durable)))
        return self._engine.tiers.in_kind(spec, data, self._request(spec, block, True, None, durable))

    def _each(self, spec: EntrySpec, batches: Any) -> list[Any]:
        """Batches, one after the other: the next need not wait until what the last has changed is on disk."""
        desk = self._engine.driver.desk
        try:
            results = each_batch(lambda batch: self._many(spec, batch, durable=False), batches)
        except BaseException:
            with suppress(Stopped):  # what went wrong first is what is raised
                desk.make_durable()
            raise
        desk.make_durable()
        return results
