"""Put what a checkpoint location holds into memory: a snapshot, then the effects of the epochs since.

Laws: what is restored is what was saved, whatever the numbers of instances and workers then and now; an entry is with
the instance that owns it now; no user code runs, but the merge of partial states that have more instances than before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa

from anabranch.drivers.kernels import Kernels
from anabranch.drivers.placing import Placing
from anabranch.graph.nodes import Graph
from anabranch.lang import Program, Table, Vector
from anabranch.lang.distribution import Distribution
from anabranch.lang.marks import is_builtin
from anabranch.lang.merges import mean
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Version
from anabranch.state.changes import OwnCodec
from anabranch.state.checkpoint.reading import pieces
from anabranch.state.checkpoint.recovery import Found
from anabranch.state.checkpoint.snapshots import Chunk, batches, check_chunk
from anabranch.state.conversion import converted
from anabranch.state.found import blank
from anabranch.state.parts import start

LONG_LOG = 1 << 20  # bytes of the log, the same
SELDOM = 256  # epochs between two looks at how large states have become
RESTORED = "as they are restored"
LARGE = 50_000  # rows of a state from which on it is restored into flat memory at once


def restore(
    found: Found,
    version: Version,
    graph: Graph,
    program: Program,
    memory: Memory,
    own: OwnCodec,
    kernels: Kernels | None,
    hosted: Sequence[int],
    checked: bool = False,
    only: str | None = None,
) -> None:
    """Let memory hold what was saved of these instances. With kernels large states go into flat memory at once.

    `checked` if the files of the snapshot are known to be whole; with `only` one state is wanted.
    """
    restoring = _Restoring(found, version, graph, program, memory, own, hosted, only)
    restoring.make_parts()
    if kernels is not None:
        restoring.lay_out(kernels)
    poured = restoring.pour(checked)
    memory.recount(RESTORED)
    for chunk in found.snapshot.chunks:
        if restoring.concerns(chunk.state, chunk.instance) and chunk.state not in poured:
            for rows in restoring.read(chunk, checked):
                restoring.placing.place(chunk.state, chunk.instance, rows, False, fresh=True)
                memory.recount(RESTORED)
    for number, frame in enumerate(found.frames()):
        if number % SELDOM == 0:
            memory.recount(RESTORED)
        for change in frame.changes:
            if restoring.concerns(change.state, change.instance):
                rows = converted(graph.state(change.state), change.rows)
                restoring.placing.place(change.state, change.instance, rows, change.whole)
    restoring.complete()


class _Restoring:
    def __init__(
        self,
        found: Found,
        version: Version,
        graph: Graph,
        program: Program,
        memory: Memory,
        own: OwnCodec,
        hosted: Sequence[int],
        only: str | None,
    ) -> None:
        self._only = only
        self._found, self._version, self._graph, self._program = found, version, graph, program
        self._memory, self._own = memory, own
        self._routing = memory.routing
        self._saved = [s for s in graph.states if s.name in found.snapshot.states]
        self._hosted = hosted
        # What all instances mean together, which new ones start from, takes all of them.
        merges = [program.__anabranch_merges__[s.name] for s in self._saved if s.distribution is Distribution.PARTIAL]
        grown = found.instances < self._routing.instances
        self._instances: Sequence[int] = range(self._routing.instances) if grown and mean in merges else hosted
        was = found.snapshot.instance_of_bucket
        self.placing = Placing(graph, program, memory, own, was, self._instances)
        self._flat: set[str] = set()  # states that go into flat memory at once

    def make_parts(self) -> None:
        """What is saved starts with nothing in it, what is new as the program says."""
        parts = start(self._graph, self._program, self._routing.instances, self._routing.owner)
        for state in self._saved:
            held = self._program.__anabranch_states__[state.name]
            parts[state.name] = [blank(held) for _ in range(self._routing.instances)]
        for i in self._instances:
            self._memory.put(i, {name: of[i] for name, of in parts.items()}, self._version)

    def lay_out(self, kernels: Kernels) -> None:
        rows: dict[str, int] = {}
        for chunk in self._found.snapshot.chunks:
            rows[chunk.state] = rows.get(chunk.state, 0) + chunk.rows
        counted = {span.generation for span in self._found.spans}
        logged = sum([size for p, size in pieces(self._found.location).items() if p.generation in counted])
        long = logged >= LONG_LOG  # of which state is not known before it is read
        large = [s.name for s in self._saved if (long or rows.get(s.name, 0) >= LARGE) and is_builtin(s.cls)]
        if large and set(self._instances) == set(self._hosted):
            self._flat = {name for name in large if kernels.code.shapes[name].fits}
            kernels.lay_out(sorted(self._flat))
            for name in self._flat:
                for i in self._instances:
                    if not self._pours(name, i):
                        self._reserve(name, i, rows.get(name, 0))

    def _pours(self, name: str, instance: int) -> bool:
        """Can rows be poured into the flat memory of an instance?"""
        if name not in self._flat or self._graph.state(name).distribution is Distribution.REPLICATED:
            return False
        from anabranch.kernels.native.pouring import can_pour

        return can_pour(self._memory.of_instance[instance][name])

    def pour(self, checked: bool) -> set[str]:
        """Let all cores put the rows of large tables where they belong; gives which states these are.

        All that such a table had is in its chunks, one after the other.
        """
        poured = {name for name in self._flat if all(self._pours(name, i) for i in self._instances)}
        if self._only is not None:
            poured &= {self._only}
        for name in sorted(poured):
            self._pour(name, checked)
        return poured

    def _pour(self, name: str, checked: bool) -> None:
        from anabranch.kernels.native.pouring import Piece, Pouring

        moved = self.placing.moved and self._graph.state(name).distribution is Distribution.PARTITIONED
        chunks = [c for c in self._found.snapshot.chunks if c.state == name and self.concerns(name, c.instance)]
        pieces = [Piece(partial(self.read, chunk, checked), None if moved else chunk.instance) for chunk in chunks]
        parts = {i: self._memory.of_instance[i][name] for i in self._instances}
        threads = os.cpu_count() or 1
        with ThreadPoolExecutor(threads, "anabranch-restore") as pool:
            Pouring(parts, self._routing.instance_of_bucket, pool, threads).pour(pieces)

    def read(self, chunk: Chunk, checked: bool) -> Iterator[pa.RecordBatch]:
        location = self._found.location
        data = location.read(chunk.file) if checked else check_chunk(location, chunk)
        state = self._graph.state(chunk.state)
        return (converted(state, rows) for rows in batches(data, chunk))

    def _reserve(self, name: str, instance: int, rows: int) -> None:
        """Room for what will come: an index that grows bit by bit takes longer."""
        store = self._memory.of_instance[instance][name].store
        if store.shape.cls not in (Table, Vector):
            return
        if self._graph.state(name).distribution is Distribution.PARTITIONED and self.placing.moved:
            store.reserve(rows // self._routing.instances)
        else:
            chunks = [c for c in self._found.snapshot.chunks if c.state == name]
            store.reserve(sum([c.rows for c in chunks if c.instance == instance or len(chunks) == 1]))

    def concerns(self, name: str, instance: int) -> bool:
        """May rows that an instance had be with one that is here?"""
        return (self._only is None or name == self._only) and self.placing.concerns(name, instance)

    def complete(self) -> None:
        self.placing.begin_partial(self._saved, self._found.instances)
        self._memory.forget([i for i in self._instances if i not in self._hosted])
