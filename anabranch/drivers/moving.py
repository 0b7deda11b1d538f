"""State that moves while epochs go on: to a memory beside it, whose keys are where a new routing puts them.

What is there is copied slice by slice between epochs, as for a snapshot; what epochs change meanwhile follows it, as in
a log. A `Source` sends both, in order, to the `Successor` of each worker that will have some of it. That places them on
a thread of its own, so whoever runs epochs waits for neither, unless much waits.

Laws: when all slices were taken and all that was sent is placed, the successors hold what the sources do; until then
nobody else sees them, and to give them up leaves no trace.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from anabranch.drivers.durable.copying import Copying
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.placing import Placing, all_are_needed
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.lang.distribution import Distribution
from anabranch.lang.keys import BUCKETS
from anabranch.lang.marks import is_builtin
from anabranch.lang.merges import mean
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Version
from anabranch.runtime.routing import Routing
from anabranch.state.changes import Change, OwnCodec, schema_of
from anabranch.state.found import blank

LONG = 256 << 20  # bytes that wait to be placed
SHORT = 4 << 20  # and that can wait until nothing runs
NOWHEN = Version(-1, 0)


def prepare(graph: Graph) -> None:
    """Have at hand what deals rows out: the first to need it would wait for it while nothing else runs."""
    from anabranch.kernels.native.restoring import owners

    for state in graph.states:
        if state.distribution is Distribution.PARTITIONED and is_builtin(state.cls):
            owners(state, pa.RecordBatch.from_pylist([], schema=schema_of(state)), (0,) * BUCKETS)


class Moved(NamedTuple):
    """Rows of an instance that was: all that it holds, or what has changed."""

    state: str
    instance: int
    whole: bool
    rows: pa.RecordBatch

    @property
    def size(self) -> int:
        return int(self.rows.nbytes) + 100


class Source:
    """What a worker has of these instances, sent to where the routing puts it; all on the thread of its machine.

    `send` gets the number of a worker and what it shall place.
    """

    def __init__(
        self,
        graph: Graph,
        program: Program,
        memory: Memory,
        hosted: Sequence[int],
        routing: Routing,
        own: OwnCodec,
        send: Callable[[int, Moved], None],
    ) -> None:
        self._graph, self._memory, self._was, self._routing, self._send = graph, memory, memory.routing, routing, send
        self._everyone = range(routing.workers)
        self._all_needed = all_are_needed(graph, program, self._was.instances, routing)
        self._new = {routing.worker_of(i) for i in range(self._was.instances, routing.instances)}
        self._merges = program.__anabranch_merges__
        self._copying = Copying(graph, memory, own, hosted)
        self._error: Exception | None = None
        memory.follow, memory.own = self.follow, own

    def copy(self) -> bool:
        """A slice more, between epochs; False if that was all."""
        self.check()
        more = self._copying.copy()
        for name, instance, rows in self._copying.take():
            self._deal(Moved(name, instance, False, rows))
        return more

    def follow(self, changes: Callable[[], Iterable[Change]]) -> None:
        """What was committed. If it cannot be sent, that ends the move, and not what runs."""
        if self._error is not None:
            return
        try:
            for change in changes():
                self._deal(Moved(change.state, change.instance, change.whole, change.rows))
        except Exception as error:
            self._error = error

    def check(self) -> None:
        """Raise what went wrong since."""
        if self._error is not None:
            raise self._error

    def end(self) -> None:
        self._memory.follow = None

    def _deal(self, moved: Moved) -> None:
        for worker, rows in self._dealt(moved):
            self._send(worker, moved if rows is moved.rows else moved._replace(rows=rows))

    def _dealt(self, moved: Moved) -> Iterator[tuple[int, pa.RecordBatch]]:
        state, routing = self._graph.state(moved.state), self._routing
        if state.distribution is Distribution.REPLICATED:
            for worker in self._everyone:
                yield worker, moved.rows
        elif state.distribution is Distribution.PARTIAL:
            needed = self._new if self._all_needed and self._merges[state.name] is mean else set()
            for worker in sorted({routing.worker_of(moved.instance), *needed}):
                yield worker, moved.rows
        elif routing.workers == 1 or moved.whole:
            for worker in self._everyone:
                yield worker, moved.rows
        elif self._was.instance_of_bucket == routing.instance_of_bucket:
            yield routing.worker_of(moved.instance), moved.rows
        else:
            from anabranch.kernels.native.restoring import owners

            worker_of = np.array(routing.worker_of_instance, dtype=np.int64)
            there = worker_of[owners(state, moved.rows, routing.instance_of_bucket)]
            for worker in np.unique(there).tolist():
                yield worker, moved.rows.take(pa.array(np.flatnonzero(there == worker)))


class Successor:
    """What a worker will have of these instances. `put` may be called by any thread, `place` by one."""

    def __init__(
        self,
        graph: Graph,
        program: Program,
        was: Routing,
        memory: Memory,
        own: OwnCodec,
        hosted: Sequence[int] | None = None,
    ) -> None:
        """`memory` has nothing yet, and the new routing; without `hosted` all instances are in this address space."""
        self._graph, self._was, self.memory = graph, was, memory
        self._hosted = range(memory.routing.instances) if hosted is None else hosted
        needed = all_are_needed(graph, program, was.instances, memory.routing)
        instances = range(memory.routing.instances) if needed else self._hosted
        for i in instances:
            content = {s.name: blank(program.__anabranch_states__[s.name]) for s in graph.states}
            memory.put(i, content, NOWHEN)
        self.kernels = Kernels(graph, program, memory, hosted)
        self._placing = Placing(graph, program, memory, own, was.instance_of_bucket, instances)
        self._queue: deque[Moved] = deque()
        self._changed = threading.Condition()
        self._given = self._placed = self._bytes = 0
        self._over = False
        self._error: BaseException | None = None

    def lay_out(self, states: Iterable[str]) -> None:
        """Let these be in flat memory, before anything is put."""
        wanted = set(states)
        if wanted:
            self.kernels.lay_out([s.name for s in self._graph.states if s.name in wanted])

    def put(self, moved: Moved) -> None:
        with self._changed:
            self._queue.append(moved)
            self._given += 1
            self._bytes += moved.size
            self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Until it is not far behind."""
        with self._changed:
            self._changed.wait_for(lambda: self._bytes <= LONG or self._over)

    def catch_up(self) -> bool:
        """Wait until all that waits now is placed; whether little has come meanwhile. Raises what went wrong."""
        with self._changed:
            last = self._given
            self._changed.wait_for(lambda: self._placed >= last or self._over)
            if self._error is not None:
                raise self._error
            return self._bytes <= SHORT

    def place(self) -> None:
        """On a thread of its own, until the end."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._over)
                if self._over:
                    return
                moved = self._queue[0]
            try:
                self._placing.place(moved.state, moved.instance, moved.rows, moved.whole)
            except BaseException as error:
                self.end(error)
                return
            with self._changed:
                if self._over:
                    return
                self._queue.popleft()
                self._placed += 1
                self._bytes -= moved.size
                self._changed.notify_all()

    def complete(self) -> None:
        """When nothing waits and nothing will come. Raises `MemoryFull` if there is no room for it."""
        self._placing.begin_partial(self._graph.states, self._was.instances)
        self.memory.forget([i for i in range(self.memory.routing.instances) if i not in self._hosted])
        self.memory.recount("after they were spread anew")

    def become(self, version: Version) -> None:
        """What is complete is what was there at this version."""
        self.memory.become(self._hosted, version)

    def end(self, error: BaseException | None = None) -> None:
        with self._changed:
            self._over = True
            self._error = self._error or error
            self._queue.clear()
            self._bytes = 0
            self._changed.notify_all()
