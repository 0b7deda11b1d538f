"""`ab.run`: a program as a running app.

Laws: an app gives what calling the class gives, in the order that `history` names; a request takes effect whole or not
at all; a call sees every request that was answered before it began.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from anabranch.compiler import compile
from anabranch.drivers.callers import Gate, Stopped
from anabranch.drivers.durable.marks import CALL
from anabranch.drivers.durable.settings import Recovery, Saving, saving_of
from anabranch.drivers.fleet import Launcher, Network, Patience
from anabranch.drivers.tls import Tls
from anabranch.engines.embedded.apart import Apart, launcher_of
from anabranch.engines.embedded.explain import Explanation, explain
from anabranch.engines.embedded.here import Here
from anabranch.engines.embedded.history import History, Recorder
from anabranch.engines.embedded.metrics import MemoryMetrics, Meter, Metrics
from anabranch.engines.embedded.progress import progress
from anabranch.engines.embedded.rest import Before
from anabranch.engines.embedded.states import States
from anabranch.engines.embedded.tiers import TIERS
from anabranch.engines.embedded.tracebacks import let_go
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.lang.binding import Refused, bind_call
from anabranch.lang.columns import is_stream, read_batch
from anabranch.lang.entry import each_batch, not_yet_on_entries, refuse_on_error
from anabranch.lang.errors import MemoryFull
from anabranch.lang.spec import EntrySpec, describe
from anabranch.lang.types import NONE
from anabranch.lang.values import coercer
from anabranch.runtime.backlog import Limits
from anabranch.runtime.messages import Committed, Results, Seen, Version
from anabranch.state.budget import bytes_of
from anabranch.state.sizes import size_of

if TYPE_CHECKING:
    from anabranch.drivers.served import Served
    from anabranch.drivers.tls import Tls

NOT_YET = frozenset("scale branch merge feeds advance wait".split())


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
) -> App:
    """Run a program on the embedded engine.

    `workers` is the number of instances of its state and of threads that work on them; by default the number of cores.
    With `hosts="processes"` each worker is a process of its own; with `on` a SparkSession, or "spark" for a local one,
    each is a Spark task that stays. Connections between processes can have `tls`, and `ports` to choose from.
    With a `checkpoint` location the app is saved there and goes on from what it finds there. `durability` "epoch"
    answers when an epoch is on disk, "snapshot" loses what came after the last snapshot, "none" what came after the
    last `app.checkpoint()`. There is a snapshot every `snapshot_every` seconds, or `snapshot_bytes` of log;
    `snapshot_mode` "sync" stops the app for it. `to_version` goes back to an older version; `fence="none"` is for
    locations that cannot create a file only if it is absent.
    `memory`, such as "4GB", is what the states of all workers may take together. A request that would need more is
    undone and raises `ab.MemoryFull`; the app goes on. Workers in processes of their own have equal shares of it.
    With `history` the app keeps all inputs, so that `app.history()` can be replayed; that costs their memory.
    `tier` is "auto" (entries are compiled to machine code once that is worth the wait), "compiled" (all that can be, at
    the start) or "python" (none); `app.explain()` says what can be compiled and why not.

    >>> import anabranch as ab
    >>> from anabranch.demo import Recommender
    >>> with ab.run(Recommender(), workers=2) as app:
    ...     app.rate.many({"user": [1, 1, 2], "item": [10, 11, 10], "rating": [1.0, 1.0, 1.0]})
    ...     app.recommend(2)
    Vector({10: 2.0, 11: 1.0})
    """
    if not isinstance(program, Program):
        shown = f": write ab.run({program.__name__}())" if isinstance(program, type) else ""
        raise TypeError(f"ab.run takes an object of a program class, got {program!r}{shown}")
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
        raise ValueError(f"workers is a number of threads, at least 1, got {workers!r}: write ab.run(..., workers=2)")
    if tier not in TIERS:
        raise ValueError(f"tier is one of {', '.join(map(repr, TIERS))}, got {tier!r}")
    limit = None if memory is None else bytes_of(memory)
    workers = workers or os.cpu_count() or 1
    saving = None
    if checkpoint is not None:
        saving = saving_of(checkpoint, durability, snapshot_mode, snapshot_every, snapshot_bytes, fence, to_version)
    if on is not None:
        from anabranch.engines.spark.app import run_on

        return run_on(on, program, workers, history, tier, Network(tls, ports), saving, limit)
    network = Network(tls, ports)
    launcher = launcher_of(hosts, workers)
    return App(program, workers, history, tier=tier, hosts=launcher, network=network, saving=saving, memory=limit)


class App:
    """A running program: `app.NAME(...)` calls an entry, `app.NAME.many(...)` feeds it, `app.state.NAME` looks inside.

    `limits`, `gate` and `patience` are for tests: they say what runs in stages, what fused, how much waits, and how
    long workers elsewhere may take.
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
    ) -> None:
        self._limit = memory
        self._graph = graph or compile(type(program))
        self._meter = Meter(workers)
        same: dict[str, Any] = {"limits": limits, "gate": gate, "patience": patience, "frames": frames}
        same |= {"network": network, "graph": self._graph, "tier": tier, "memory": memory}
        self._again = partial(App, program, workers, **same)
        build: Any = partial(Here, saving=saving, origin=origin, limit=memory)
        if hosts is not None:
            apart: dict[str, Any] = {"launcher": hosts, "patience": patience, "network": network}
            build = partial(Apart, saving=saving, origin=origin, limit=memory, **apart)
        self._engine = build(
            program, self._graph, workers, limits or Limits(), gate, tier, self._meter, self._committed
        )
        self._recorder = Recorder(self._graph, self._engine.routing, history)
        specs = describe(type(program)).entries
        self.entries: Mapping[str, AppEntry] = MappingProxyType(
            {e.name: AppEntry(self, specs[e.name]) for e in self._graph.entries}
        )
        past = None if saving is None else self._past
        self.state = States(self._graph, program.__anabranch_merges__, self._engine.rest, past)
        self._served: list[Served] = []
        self._frames = None if frames is None else frames(self)

    def __getattr__(self, name: str) -> AppEntry:
        entries = self.__dict__.get("entries", {})
        if name in entries:
            return entries[name]  # type: ignore[no-any-return]
        if name in NOT_YET:
            raise AttributeError(f"app.{name} is reserved: not yet available")
        raise AttributeError(f"the app has no attribute or entry {name!r}: entries are {', '.join(entries)}")

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
        """The number of the last epoch."""
        committed: Version = self._engine.coordinator.committed
        return committed.epoch

    def stop(self) -> None:
        """Answer what has been asked, then end; may be called again. State can no longer be read."""
        try:
            self._engine.stop()
        finally:  # clients get the answers first
            for served in self._served:
                served.stop()

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
        return self._again(saving=saving, origin=origin, hosts=hosts)

    def checkpoint(self) -> int:
        """Make a snapshot now; gives the version that it holds, once that is on disk."""
        found: int = self._engine.checkpoint()
        return found

    @property
    def recovery(self) -> Recovery | None:
        """What was restored when the app started, if anything was."""
        found: Recovery | None = self._engine.recovery
        return found

    def _past(self, state: str, version: int) -> Before:
        if isinstance(version, bool) or not isinstance(version, int) or not 0 <= version <= self.version:
            raise ValueError(f"versions are the numbers from 0 to {self.version}, got {version!r}")
        self._engine.driver.desk.make_durable()
        return Before(self._engine.saved.past(state, version), size_of)

    def history(self) -> History:
        """The requests in the order in which they took effect."""
        with self._engine.driver.hold():
            return self._recorder.history()

    def metrics(self) -> Metrics:
        """Rows, epochs, stages, latencies, busy shares and state sizes so far."""
        busy, elsewhere = self._engine.work()
        memory, accounted = None, self._engine.accounted()
        if accounted is not None and self._limit is not None:
            memory = MemoryMetrics(self._limit, accounted, accounted / self._limit)
        return self._meter.read(busy, self._engine.rest.sizes(), elsewhere, memory)

    def explain(self) -> Explanation:
        """How each entry runs: its tasks, their stages and tier, straight or winding, and why."""
        return explain(self._graph, self._engine.tiers)

    def _committed(self, committed: Committed | Seen) -> None:
        self._meter.add(committed)
        self._recorder.add(committed)

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

    def _request(self, spec: EntrySpec, rows: Sequence[tuple[Any, ...]], batch: bool, mark: Any = None) -> Any:
        start = perf_counter()
        if batch:
            with progress(spec.name, len(rows)) as watch:
                outcome = self._engine.driver.submit(spec.name, rows, watch, mark)
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

    def _many(self, spec: EntrySpec, data: Any) -> Any:
        """A batch: as columns of words where its entry has a kernel, else row by row."""
        if self._frames is not None and type(data).__module__.startswith("pyspark."):
            return self._frames.many(spec, data)
        block = self._engine.tiers.block(spec, data)
        if block is None:
            batch = read_batch(spec, data)
            block = self._engine.tiers.block_of_rows(spec, batch.rows)
            if block is None:
                return batch.results(list(self._request(spec, tuple(batch.rows), True)))
        return self._engine.tiers.in_kind(spec, data, self._request(spec, block, True))


def as_id(id: Any) -> str:
    if not isinstance(id, str) or not id:
        raise TypeError(f"id= is a text that names the request, got {id!r}: write id=str(uuid.uuid4())")
    return id


class AppEntry:
    """An entry of a running app, to be called with one row or fed `many`."""

    def __init__(self, app: App, spec: EntrySpec) -> None:
        self._app, self._spec = app, spec
        self._takes_id = all(p.name != "id" for p in spec.parameters)
        self._coerce = [coercer(p.type) for p in spec.parameters if p.type is not None]
        self.__name__, self.__doc__ = spec.name, spec.function.__doc__
        signature = inspect.signature(spec.function)
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it with one row. With `id=` a call that is repeated is carried out once, and answered alike."""
        id = kwargs.pop("id") if "id" in kwargs and self._takes_id else None
        row = self._plainly(args) if not kwargs else None
        if row is None:
            try:
                row = bind_call(self._spec, args, kwargs)
            except Refused as error:
                raise error.as_input(self._spec.name, 0) from None
        self._app._engine.tiers.expect(self._spec.name, 1)
        if id is not None:
            return self._app._once(self._spec, (row,), False, as_id(id))[0]
        return self._app._request(self._spec, (row,), False)[0]

    def _plainly(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arguments as they most often come; None for `bind_call` to see what is to be said of them."""
        coerce = self._coerce
        if len(args) != len(coerce):
            return None
        try:
            return tuple([as_declared(value) for as_declared, value in zip(coerce, args, strict=True)])
        except (TypeError, ValueError, OverflowError):
            return None

    def __getattr__(self, name: str) -> Any:
        raise not_yet_on_entries(self._spec.name, name)

    def stream(self, frame: Any, *, sink: Any = None, **options: str) -> Any:
        """Feed a streaming DataFrame of Spark: each micro-batch is one request. Gives the `StreamingQuery`.

        `sink(results, batch_id)` gets the results of each as a DataFrame, the same again if it is tried again.
        `options` are those of Spark's stream writer, such as checkpointLocation.
        """
        if self._app._frames is None:
            raise TypeError(
                f"{self._spec.name}.stream needs workers on Spark: start the app with ab.run(..., on=spark)"
            )
        return self._app._frames.stream(self._spec, frame, sink, options)

    def __repr__(self) -> str:
        return f"<entry {self._spec.name} of {self._app!r}>"

    def many(self, data: Any, *, on_error: str = "raise", id: str | None = None) -> Any:
        """Run a batch as one request: a dict of columns, Arrow data or a list of rows; results come in kind.

        With `id` a batch that is repeated is carried out once, and answered alike.
        An iterator of batches is one request each; it is read to its end and gives a list of their results.
        """
        refuse_on_error(on_error)
        if id is not None:
            if is_stream(data):
                raise TypeError("id= names one request, and an iterator of batches is several: give each its own")
            return self._app._many_once(self._spec, data, as_id(id))
        if is_stream(data):
            results = each_batch(self.many, data)
            return None if self._spec.result == NONE else results
        return self._app._many(self._spec, data)
