"""Address spaces with the state of a program in flat memory, and workers in them that exchange packed rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import anabranch as ab
from anabranch.kernels import PythonCode
from anabranch.kernels.native.blocks import Block
from anabranch.kernels.native.code import NativeCode
from anabranch.kernels.native.parts import make_part
from anabranch.kernels.native.portable import pack_block, pack_box, unpack_block, unpack_box
from anabranch.kernels.native.running import Ground
from anabranch.kernels.native.shares import Share, shares
from anabranch.kernels.native.stages import Box, StageBatch, StageContext, gathered
from anabranch.kernels.native.stores import Arena
from anabranch.lang.keys import BUCKETS
from anabranch.lang.spec import describe
from anabranch.runtime.memory import Memory
from anabranch.runtime.plan import make_plan
from anabranch.runtime.routing import Routing
from anabranch.runtime.rows import Runner


def routing_of(*worker_of_instance: int) -> Routing:
    count = len(worker_of_instance)
    return Routing(tuple(b * 7 % count for b in range(BUCKETS)), worker_of_instance)


def over_the_wire(packed: list[Any]) -> list[Any]:
    """What arrives: the bytes that were sent, read-only and anywhere in memory. What was sent is gone."""
    arrived: list[Any] = []
    for i, part in enumerate(packed):
        if isinstance(part, int):
            arrived.append(part)
        else:
            data = memoryview(part).cast("B") if memoryview(part).nbytes else b""
            arrived.append(memoryview(b"x" * (i % 3) + bytes(data))[i % 3 :])
    return arrived


class Space:
    """All instances of a program in one address space; entries run stage by stage, on one worker after the other."""

    def __init__(self, program: ab.Program, routing: Routing, entries: Sequence[str]) -> None:
        self.program, self.routing, self.graph = program, routing, ab.compile(type(program))
        graph = self.graph
        self.code = NativeCode(graph, program, routing.instances, lambda entry: make_plan(graph, [entry]))
        self.memory = Memory(graph, program, routing)
        self.ground = Ground([Arena(self.code.shapes) for _ in range(routing.instances)], routing.instance_of_bucket)
        self.python = PythonCode(graph, program)
        self.runner = Runner(graph, self.python, self.memory, describe(type(program)).entries, self)  # type: ignore[arg-type]
        self.kernels = {}
        for entry in entries:
            self.kernels[entry] = self.code.prepare_stages(entry)
            assert self.kernels[entry] is not None, self.code.written_stages(entry)
        states = {s for t in graph.tasks if t.entry in entries for s in t.states}
        for i, arena in enumerate(self.ground.arenas):
            parts = {s: make_part(self.memory.parts[s][i], self.code.shapes[s], arena) for s in states}
            self.memory.lay_out(i, arena, parts)
            arena.clear()
            arena.logging = True
        self.contexts = [StageContext(self.ground, graph) for _ in range(routing.workers)]

    def stage(self, placed: Any, stage: int, instance: int, boxes: Any, python: Callable[..., Any]) -> StageBatch:
        """For `Runner`."""
        kernels = self.kernels[placed.request.entry]
        assert kernels is not None
        context = self.contexts[self.routing.worker_of(instance)]
        return StageBatch(context, kernels[stage], instance, boxes, placed.sequence, python)

    def run_stage(self, entry: str, stage: int, instance: int, source: Any, sequence: int) -> list[Box]:
        placed: Any = SimpleNamespace(request=SimpleNamespace(entry=entry), sequence=sequence)
        batch = self.runner.stage(placed, self.runner.plan(entry), stage, instance, source)
        while batch.done < batch.total:
            batch.run(50)
        return list(batch.boxes())

    def run(self, entry: str, sources: Sequence[Block], sequence: int, count: int, packed: bool) -> list[Any]:
        """The results of an entry, of which each worker has got its source."""
        plan, result = self.runner.plan(entry), self.graph.entry(entry).result
        waiting: list[Box] = []
        found: list[Box] = []
        for stage in range(plan.stages):
            here, waiting = waiting, []
            for i in range(self.routing.instances):
                mine = [b for b in here if b.instance == i and plan.stage_of[self.graph.flow(b.flow).target] == stage]
                source: Any = mine if stage else sources[self.routing.worker_of(i)]
                for box in self.run_stage(entry, stage, i, source, sequence):
                    box = self.sent(entry, box) if packed else box
                    (waiting if box.flow >= 0 else found).append(box)
            waiting += [b for b in here if plan.stage_of[self.graph.flow(b.flow).target] > stage]
        return list(gathered(result, sequence, count, found))

    def sent(self, entry: str, box: Box) -> Box:
        result = self.graph.entry(entry).result
        packed = over_the_wire(pack_box(self.graph, result, box))
        box.rows[:] = -1  # whoever still looks there finds nonsense
        return unpack_box(self.graph, result, packed)

    def shares(self, entry: str, block: Block, sequence: int, packed: bool = True) -> list[Share]:
        found = shares(self.graph, entry, self.program, block, sequence, self.routing)
        if not packed:
            return found
        unpacked = [unpack_block(block.types, over_the_wire(pack_block(share))) for share in found]
        assert all(isinstance(share, Share) for share in unpacked)
        return unpacked  # type: ignore[return-value]

    def content(self) -> list[dict[str, Any]]:
        """The states of each instance, as plain ones."""
        return [{name: part._copy() for name, part in parts.items()} for parts in self.memory.of_instance]


def wipe(block: Block) -> None:
    """Overwrite the words of a block."""
    for column in block.columns:
        if isinstance(column, np.ndarray) and column.flags.writeable:
            column.view(np.int64)[:] = -1
