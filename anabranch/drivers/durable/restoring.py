"""Put what a checkpoint location holds into memory: a snapshot, then the effects of the epochs since.

Laws: what is restored is what was saved, whatever the numbers of instances and workers then and now; an entry is with
the instance that owns it now; no user code runs, but the merge of partial states that have more instances than before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.drivers.kernels import Kernels
from anabranch.graph.nodes import Graph, State
from anabranch.lang import DenseMatrix, DenseVector, Program, Table, Vector
from anabranch.lang.distribution import Distribution
from anabranch.lang.keys import bucket
from anabranch.lang.marks import copy_state, is_builtin
from anabranch.lang.merges import mean
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Version
from anabranch.state.changes import OwnCodec, apply_rows, rows_of
from anabranch.state.checkpoint.reading import pieces
from anabranch.state.checkpoint.recovery import Found
from anabranch.state.checkpoint.snapshots import Chunk, batches, check_chunk
from anabranch.state.found import blank
from anabranch.state.parts import entry_keys, place_of, start

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
        if restoring.concerns(chunk.state, chunk.instance) and (chunk.state, chunk.instance) not in poured:
            for rows in restoring.read(chunk, checked):
                restoring.apply(chunk.state, chunk.instance, rows, False, fresh=True)
                memory.recount(RESTORED)
    for number, frame in enumerate(found.frames()):
        if number % SELDOM == 0:
            memory.recount(RESTORED)
        for change in frame.changes:
            if restoring.concerns(change.state, change.instance):
                restoring.apply(change.state, change.instance, change.rows, change.whole)
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
        self._moved = found.snapshot.instance_of_bucket != self._routing.instance_of_bucket
        self._saved = [s for s in graph.states if s.name in found.snapshot.states]
        self._flat: set[str] = set()
        self._hosted = hosted
        # What all instances mean together, which new ones start from, takes all of them.
        merges = [program.__anabranch_merges__[s.name] for s in self._saved if s.distribution is Distribution.PARTIAL]
        grown = found.snapshot.instances < self._routing.instances
        self._instances: Sequence[int] = range(self._routing.instances) if grown and mean in merges else hosted

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
                    if not self._stays(name, i):
                        self._reserve(name, i, rows.get(name, 0))

    def _stays(self, name: str, instance: int) -> bool:
        """Is what an instance had, and nothing else, to be poured into its flat memory?"""
        distribution = self._graph.state(name).distribution
        moved = self._moved and distribution is Distribution.PARTITIONED
        if name not in self._flat or moved or distribution is Distribution.REPLICATED:
            return False
        from anabranch.kernels.native.pouring import can_pour

        return can_pour(self._memory.of_instance[instance][name])

    def pour(self, checked: bool) -> set[tuple[str, int]]:
        """Let all cores put the rows of large tables where they were; gives which states of which instances these are.

        All that such a table had is in its chunks, one after the other.
        """
        chunks: dict[tuple[str, int], list[Chunk]] = {}
        for chunk in self._found.snapshot.chunks:
            name, instance = chunk.state, chunk.instance
            if instance in self._instances and self.concerns(name, instance) and self._stays(name, instance):
                chunks.setdefault((name, instance), []).append(chunk)
        if not chunks:
            return set()
        from anabranch.kernels.native.pouring import Pouring

        threads = os.cpu_count() or 1
        with ThreadPoolExecutor(threads, "anabranch-restore") as pool:
            poured, jobs = [], []
            for (name, instance), of in chunks.items():
                first = 0
                into = Pouring(self._memory.of_instance[instance][name], sum([chunk.rows for chunk in of]))
                poured.append(into)
                for chunk in of:
                    jobs.append(pool.submit(self._pour, into, chunk, first, checked))
                    first += chunk.rows
            for job in jobs:
                job.result()
            for into in poured:
                into.index(pool, threads)
        return set(chunks)

    def _pour(self, into: Any, chunk: Chunk, first: int, checked: bool) -> None:
        for rows in self.read(chunk, checked):
            into.put(first, rows)
            first += rows.num_rows

    def read(self, chunk: Chunk, checked: bool) -> Iterator[pa.RecordBatch]:
        location = self._found.location
        return batches(location.read(chunk.file) if checked else check_chunk(location, chunk), chunk)

    def _reserve(self, name: str, instance: int, rows: int) -> None:
        """Room for what will come: an index that grows bit by bit takes longer."""
        store = self._memory.of_instance[instance][name].store
        if store.shape.cls not in (Table, Vector):
            return
        if self._graph.state(name).distribution is Distribution.PARTITIONED and self._moved:
            store.reserve(rows // self._routing.instances)
        else:
            chunks = [c for c in self._found.snapshot.chunks if c.state == name]
            store.reserve(sum([c.rows for c in chunks if c.instance == instance or len(chunks) == 1]))

    def concerns(self, name: str, instance: int) -> bool:
        """May rows that an instance had be with one that is here?"""
        if self._only is not None and name != self._only:
            return False
        distribution = self._graph.state(name).distribution
        if distribution is Distribution.REPLICATED or (distribution is Distribution.PARTITIONED and self._moved):
            return True
        return instance in self._instances

    def apply(self, name: str, instance: int, rows: pa.RecordBatch, whole: bool, fresh: bool = False) -> None:
        state = self._graph.state(name)
        moved = self._moved and state.distribution is Distribution.PARTITIONED and is_builtin(state.cls)
        if state.distribution is Distribution.REPLICATED:
            for i in self._instances:
                self._fill(state, i, rows, whole, fresh)
        elif not moved:
            self._fill(state, instance, rows, whole, fresh)
        else:
            if whole:
                self._clear(state, instance)
            for i, own in self._placed(state, instance, rows):
                self._fill(state, i, own, False, fresh)

    def _placed(self, state: State, instance: int, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Rows with the instances that have them now."""
        from anabranch.kernels.native.restoring import owners

        now = owners(state, rows, self._routing.instance_of_bucket)
        was = owners(state, rows, self._found.snapshot.instance_of_bucket)
        for i in self._instances:
            own = np.flatnonzero((now == i) & (was == instance))  # a dense part also has places of others
            if len(own):
                yield i, rows.take(pa.array(own))

    def _clear(self, state: State, instance: int) -> None:
        """Take away what an instance had before keys moved."""
        of_bucket = self._found.snapshot.instance_of_bucket
        for i in self._instances:
            part = self._memory.of_instance[i][state.name]
            if isinstance(part, DenseVector | DenseMatrix):
                return
            for key in list(entry_keys(part)):
                if of_bucket[bucket(place_of(state, key))] == instance:
                    if isinstance(part, Table):
                        del part[key]
                    else:
                        part[key] = 0.0

    def _fill(self, state: State, instance: int, rows: pa.RecordBatch, whole: bool, fresh: bool) -> None:
        part = self._memory.of_instance[instance][state.name]
        if state.name in self._flat:
            from anabranch.kernels.native.restoring import fill

            fill(part, rows, whole, distinct=fresh)
        else:
            apply_rows(state, part, rows, whole, self._own)

    def complete(self) -> None:
        """Instances that were not there before start as the others mean together, or from the template."""
        saved, of = self._found.snapshot.instances, self._memory.of_instance
        for state in self._saved:
            if state.distribution is not Distribution.PARTIAL:
                continue
            merge = self._program.__anabranch_merges__[state.name]
            template = self._program.__anabranch_templates__[state.name]
            for i in self._instances:
                if i >= saved:
                    before = [of[j][state.name] for j in range(saved)] if merge is mean else []
                    new = mean([copy_state(p) for p in before]) if before else copy_state(template)
                    self._fill(state, i, rows_of(state, new, None, self._own), True, False)
        self._memory.forget([i for i in self._instances if i not in self._hosted])
