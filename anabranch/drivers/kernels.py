"""Machine code and the flat memory it works on, in one address space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from time import perf_counter
from typing import Any

from anabranch.drivers.timing import Cells
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Placed, Request
from anabranch.runtime.plan import make_plan
from anabranch.runtime.rows import Batch, StageBatch

SMALL = 64


class Kernels:
    """The kernels of a program; `hosted` are the instances whose memory is here, where workers are apart.

    Then only stages run as kernels. Law: an entry that is fast finds its states laid out.
    """

    def __init__(self, graph: Graph, program: Program, memory: Memory, hosted: Sequence[int] | None = None) -> None:
        self.graph, self.program, self.memory = graph, program, memory
        self.alone = hosted is None
        self.hosted: Sequence[int] = range(memory.routing.instances) if hosted is None else hosted
        self.ground: Any = None
        self._code: Any = None

    @property
    def code(self) -> Any:
        if self._code is None:
            from anabranch.kernels.native.code import NativeCode

            graph, instances = self.graph, self.memory.routing.instances
            # Stages are also for one worker that has a process to itself.
            count = instances if self.alone else max(2, instances)
            self._code = NativeCode(graph, self.program, count, lambda entry: make_plan(graph, [entry]))
        return self._code

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nobody else is at work on them inside the block."""
        with nullcontext() if self._code is None else self._code.still():
            yield

    def is_fast(self, entry: str) -> bool:
        """Has it kernels that are in use?"""
        if self._code is None:
            return False
        return self._code.ready(entry) is not None if self.alone else bool(self._code.stages(entry))

    def runs_whole(self, entry: str) -> bool:
        """Has it a kernel for all of it, and none for its stages?"""
        return self.is_fast(entry) and self._code.stages(entry) is None

    def runs_in_columns(self, request: Request) -> bool:
        return self._code is not None and hasattr(request.rows, "columns") and bool(self._code.stages(request.entry))

    def fallback(self, entry: str) -> Any:
        """Why an entry runs as Python (see `anabranch.kernels.native.code.Fallback`), or None."""
        from anabranch.kernels.native.code import Fallback

        found = self.code.written(entry)
        if not isinstance(found, Fallback) and not self.alone:
            found = self.code.written_stages(entry)
        return found if isinstance(found, Fallback) else None

    def prepare(self, entry: str) -> tuple[Any, Any]:
        """The machine code of an entry: takes about a second where it is not on disk."""
        return (self.code.prepare(entry) if self.alone else None), self.code.prepare_stages(entry)

    def install(self, entry: str, made: tuple[Any, Any]) -> None:
        """Use it; for whoever holds the state."""
        self.lay_out(self.code.written(entry).states)
        self.code.install(entry, *made)

    def lay_out(self, states: Iterable[str]) -> None:
        """Move states into flat memory, one after the other; for whoever holds the state.

        With a budget, each needs room for both forms of it at once, or it stays as it is and `MemoryFull` is raised.
        """
        from anabranch.kernels.native.parts import make_part
        from anabranch.kernels.native.running import Ground
        from anabranch.kernels.native.stores import Arena

        memory, shapes, states = self.memory, self.code.shapes, list(states)
        if self.ground is None:
            hosted = set(self.hosted)
            budgets = [memory.budget if i in hosted else None for i in range(memory.routing.instances)]
            arenas = [Arena(shapes, budget) for budget in budgets]
            self.ground = Ground(arenas, memory.routing.instance_of_bucket)
        for i in self.hosted:  # all of them, before one can be refused: whoever leaves the memory lets go of its arenas
            memory.lay_out(i, self.ground.arenas[i], {})
        for i in self.hosted:
            arena = self.ground.arenas[i]
            for name in states:
                if name not in arena.stores:
                    memory.lay_out(i, arena, {name: make_part(memory.parts[name][i], shapes[name], arena)})

    def of_worker(self, cells: Cells) -> WorkerKernels:
        return WorkerKernels(self, cells)


class WorkerKernels:
    """The kernels as one worker runs them; `cells` are the rows and seconds of each entry."""

    def __init__(self, kernels: Kernels, cells: Cells) -> None:
        self._kernels, self._cells = kernels, cells
        self._context: Any = None
        self._calls: dict[str, Any] = {}
        self._stages: Any = None

    def batch(
        self, entry: str, rows: Sequence[tuple[Any, ...]], sequence: int, python: Callable[[int], Any]
    ) -> Batch | None:
        make = self._calls.get(entry) if len(rows) <= SMALL else None
        if make is not None:
            return Timed(make(rows, sequence, python), self._cell(entry))
        kernels = self._kernels
        if not (kernels.alone and kernels.is_fast(entry)):
            return None
        from anabranch.kernels.native.blocks import Block, block_of
        from anabranch.kernels.native.running import Calls, Context, LargeBatch, SmallBatch

        if self._context is None:
            self._context = Context(kernels.ground)
        kernel = kernels.code.ready(entry)
        if len(rows) <= SMALL:
            self._calls[entry] = partial(SmallBatch, Calls(self._context, kernel))
            return self.batch(entry, rows, sequence, python)
        block = rows if isinstance(rows, Block) else block_of(kernel.types, rows)
        return Timed(LargeBatch(self._context, kernel, block, sequence, python), self._cell(entry))

    def stage(self, placed: Placed, stage: int, instance: int, boxes: Sequence[Any], python: Callable[..., Any]) -> Any:
        from anabranch.kernels.native.stages import StageBatch, StageContext

        kernels, request = self._kernels, placed.request
        if self._stages is None:
            self._stages = StageContext(kernels.ground, kernels.graph)
        kernel = kernels.code.stages(request.entry)[stage]
        source: Any = boxes if stage else request.rows
        batch = StageBatch(self._stages, kernel, instance, source, placed.sequence, python)
        return TimedStage(batch, self._cell(request.entry), stage == 0 and (instance == 0 or not kernels.alone))

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

    @property
    def sequence(self) -> int:
        return self._batch.sequence

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
