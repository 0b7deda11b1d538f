"""Which tier an entry runs on, and the change from one to the other.

A program starts as Python. An entry whose kernel is on disk, or that has had enough rows to be worth a second of
compiling, gets its kernel; its states move into flat memory between two epochs. Calls never wait for a compiler: it
works beside them. Law: what an entry gives does not depend on its tier.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from time import perf_counter
from typing import Any

from anabranch.drivers.interrupts import HoldBack
from anabranch.drivers.threads import Threads
from anabranch.engines.embedded.progress import compiling
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.lang.columns import in_kind, results_of
from anabranch.lang.spec import EntrySpec
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Boxed, Placed, Request
from anabranch.runtime.plan import make_plan
from anabranch.runtime.rows import Batch, StageBatch

log = logging.getLogger(__name__)

TIERS = ("auto", "python", "compiled")
AT_ONCE = 10_000  # a batch of so many rows is worth waiting for a compiler
SOON = 2_000  # an entry that has had so many rows is worth compiling beside it
ON_DISK = 64  # the same where the kernel is on disk
SMALL = 64


class Tiers:
    """The kernels of one app."""

    def __init__(self, graph: Graph, program: Program, memory: Memory, tier: str, small: int) -> None:
        """A batch of at most `small` rows is not worth columns."""
        self._graph, self._program, self._memory, self.tier = graph, program, memory, tier
        self._small = small
        self._code: Any = None
        self._ground: Any = None
        self._rows: dict[str, int] = {}
        self._settled: set[str] = set() if tier != "python" else {e.name for e in graph.entries}
        self._running: set[str] = set()
        self._lock = threading.Lock()
        self._driver: Threads | None = None

    def start(self, driver: Threads) -> None:
        """With `compiled` all that can be compiled is, before the first request."""
        self._driver = driver
        if self.tier == "compiled":
            for entry in self._graph.entries:
                self._compile(entry.name, True)

    # -- asked by everyone --------------------------------------------------------------------------------------------

    def is_fast(self, entry: str) -> bool:
        return self._code is not None and self._code.ready(entry) is not None

    def runs_whole(self, entry: str) -> bool:
        """Has it a kernel for all of it, and none for its stages?"""
        return self.is_fast(entry) and self._code.stages(entry) is None

    def runs_in_columns(self, request: Request) -> bool:
        return self._code is not None and hasattr(request.rows, "columns") and bool(self._code.stages(request.entry))

    def fallback(self, entry: str) -> Any:
        """Why an entry runs as Python (see `anabranch.kernels.native.code.Fallback`), or None."""
        from anabranch.kernels.native.code import Fallback

        found = self.code.written(entry)
        return found if isinstance(found, Fallback) else None

    @property
    def code(self) -> Any:
        if self._code is None:
            from anabranch.kernels.native.code import NativeCode

            graph = self._graph
            self._code = NativeCode(
                graph, self._program, self._memory.routing.instances, lambda entry: make_plan(graph, [entry])
            )
        return self._code

    def expect(self, entry: str, rows: int) -> bool:
        """So many rows are about to come; gives whether they find a kernel."""
        if entry in self._settled:  # most calls end here
            return self.is_fast(entry)
        seen = self._rows[entry] = self._rows.get(entry, 0) + rows
        if seen < ON_DISK or entry in self._running:
            return False
        assert self._driver is not None
        self._driver.refuse_from_within()  # else the entry at work and the change of tiers wait for each other
        # Neither a compiler nor the import of one is made to be cut off in the middle: Ctrl-C comes when it is done.
        with HoldBack():
            if rows >= AT_ONCE or self.fallback(entry) is not None or self.code.is_kept(entry):
                self._compile(entry, rows >= AT_ONCE)
            elif seen >= SOON:
                self._running.add(entry)
                beside = threading.Thread(target=self._compile_beside, args=(entry,), daemon=True)
                beside.name = "anabranch-compiler"
                beside.start()
        return self.is_fast(entry)

    def block(self, spec: EntrySpec, data: Any) -> Any:
        """A batch as columns of words, if its entry has a kernel, or gets one now, and they can be read so."""
        if spec.name in self._settled and not self.is_fast(spec.name):
            return None
        if not isinstance(data, list) and (rows := size_of_batch(data)) > self._small:
            if not self.expect(spec.name, rows):
                return None
            from anabranch.kernels.native.inputs import read_block

            return read_block(spec, data)
        return None

    def block_of_rows(self, spec: EntrySpec, rows: list[Any]) -> Any:
        """The same of rows that were read one by one."""
        if not self.expect(spec.name, len(rows)) or len(rows) <= self._small:
            return None
        from anabranch.kernels.native.blocks import block_of

        return block_of(self.code.ready(spec.name).types, rows)

    def in_kind(self, spec: EntrySpec, data: Any, results: Any) -> Any:
        """The results of a batch in the form in which it came."""
        from anabranch.kernels.native.blocks import Results
        from anabranch.kernels.native.outputs import result_arrow, result_dict

        if isinstance(results, Boxed):
            from anabranch.kernels.native.stages import gathered

            assert spec.result is not None
            results = gathered(spec.result, results.first, len(results), results.boxes)
        if not isinstance(results, Results) or isinstance(data, list):
            return results_of(spec, data)(list(results))
        return result_dict(spec, results) if isinstance(data, Mapping) else in_kind(data, result_arrow(spec, results))

    # -- the change ---------------------------------------------------------------------------------------------------

    def _compile_beside(self, entry: str) -> None:
        from anabranch.drivers.callers import Stopped

        with suppress(Stopped):  # then nobody waits for it any more
            self._compile(entry, False)

    def _compile(self, entry: str, shown: bool) -> None:
        with self._lock:
            if entry in self._settled or self.fallback(entry) is not None:
                self._settled.add(entry)
                return
            start = perf_counter()
            with compiling(entry) if shown and not self.code.is_kept(entry) else nullcontext():
                made = self._made(entry)
            self._settled.add(entry)
            if made is None:
                return
            kernel, stages = made
            assert self._driver is not None
            with self._driver.hold():
                self._lay_out(self.code.written(entry).states)
                self.code.install(entry, kernel, stages)
            log.info(
                "%s: kernel %s in %.2f s", entry, "loaded" if kernel.from_disk else "compiled", perf_counter() - start
            )

    def _made(self, entry: str) -> tuple[Any, Any] | None:
        """The kernels of an entry. That one cannot be compiled is a mistake of ours, and no reason not to run."""
        try:
            return self.code.prepare(entry), self.code.prepare_stages(entry)
        except Exception:
            log.exception("%s could not be compiled: it goes on as Python", entry)
            return None

    def _lay_out(self, states: Sequence[str]) -> None:
        """Move states into flat memory; for whoever holds the state."""
        from anabranch.kernels.native.parts import make_part
        from anabranch.kernels.native.running import Ground
        from anabranch.kernels.native.stores import Arena

        memory, shapes = self._memory, self.code.shapes
        if self._ground is None:
            arenas = [Arena(shapes) for _ in range(memory.routing.instances)]
            self._ground = Ground(arenas, memory.routing.instance_of_bucket)
        for i, arena in enumerate(self._ground.arenas):
            parts = {
                name: make_part(memory.parts[name][i], shapes[name], arena)
                for name in states
                if name not in arena.stores
            }
            memory.lay_out(i, arena, parts)

    # -- for one worker -----------------------------------------------------------------------------------------------

    def kernels(self, cells: dict[str, list[float]]) -> WorkerKernels:
        return WorkerKernels(self, cells)


def size_of_batch(data: Any) -> int:
    """How many rows a batch has, roughly: it is read later."""
    try:
        if isinstance(data, Mapping):
            return max((len(column) for column in data.values()), default=0)
        return int(getattr(data, "num_rows", -1)) if hasattr(data, "num_rows") else len(data)
    except TypeError:
        return 0


class WorkerKernels:
    """The kernels as one worker runs them; `cells` are the rows and seconds of each entry."""

    def __init__(self, tiers: Tiers, cells: dict[str, list[float]]) -> None:
        self._tiers, self._cells = tiers, cells
        self._context: Any = None
        self._calls: dict[str, Any] = {}
        self._stages: Any = None

    def batch(
        self, entry: str, rows: Sequence[tuple[Any, ...]], sequence: int, python: Callable[[int], Any]
    ) -> Batch | None:
        make = self._calls.get(entry) if len(rows) <= SMALL else None
        if make is not None:
            return Timed(make(rows, sequence, python), self._cell(entry))
        tiers = self._tiers
        if not tiers.is_fast(entry):
            return None
        from anabranch.kernels.native.blocks import Block, block_of
        from anabranch.kernels.native.running import Calls, Context, LargeBatch, SmallBatch

        if self._context is None:
            self._context = Context(tiers._ground)
        kernel = tiers.code.ready(entry)
        if len(rows) <= SMALL:
            self._calls[entry] = partial(SmallBatch, Calls(self._context, kernel))
            return self.batch(entry, rows, sequence, python)
        block = rows if isinstance(rows, Block) else block_of(kernel.types, rows)
        return Timed(LargeBatch(self._context, kernel, block, sequence, python), self._cell(entry))

    def stage(self, placed: Placed, stage: int, instance: int, boxes: Sequence[Any], python: Callable[..., Any]) -> Any:
        from anabranch.kernels.native.stages import StageBatch, StageContext

        tiers, request = self._tiers, placed.request
        if self._stages is None:
            self._stages = StageContext(tiers._ground, tiers._graph)
        kernel = tiers.code.stages(request.entry)[stage]
        source: Any = boxes if stage else request.rows
        batch = StageBatch(self._stages, kernel, instance, source, placed.sequence, python)
        return TimedStage(batch, self._cell(request.entry), stage == instance == 0)

    def _cell(self, entry: str) -> list[float]:
        cell = self._cells.get(entry)
        if cell is None:
            cell = self._cells[entry] = [0, 0.0]
        return cell


class Timed:
    """A batch that notes how many rows it ran and how long that took."""

    __slots__ = ("_batch", "_cell", "done")

    def __init__(self, batch: Batch, cell: list[float]) -> None:
        self._batch, self._cell = batch, cell
        self.done = 0

    def run(self, rows: int) -> None:
        start = perf_counter()
        try:
            self._batch.run(rows)
        finally:
            self._cell[1] += perf_counter() - start
            self._cell[0] += self._batch.done - self.done
            self.done = self._batch.done

    def results(self) -> Sequence[Any]:
        return self._batch.results()


class TimedStage:
    """The same for a stage; rows are counted where each comes by once."""

    __slots__ = ("_batch", "_cell", "_counts")

    def __init__(self, batch: StageBatch, cell: list[float], counts: bool) -> None:
        self._batch, self._cell, self._counts = batch, cell, counts

    @property
    def done(self) -> int:
        return self._batch.done

    @property
    def total(self) -> int:
        return self._batch.total

    def run(self, rows: int) -> None:
        start, before = perf_counter(), self._batch.done
        try:
            self._batch.run(rows)
        finally:
            self._cell[1] += perf_counter() - start
            if self._counts:
                self._cell[0] += self._batch.done - before

    def boxes(self) -> Sequence[Any]:
        return self._batch.boxes()
