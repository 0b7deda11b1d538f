"""Run the stages of an entry on one instance after the other, row by row in order, through kernels.

Law: as for `running`. Rows that leave a stage are in boxes, one for each flow and instance; a row that is taken back
has put nothing into any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anabranch.graph.liveness import helper_prefixes
from anabranch.graph.nodes import Graph, Task
from anabranch.kernels.native import memory as m
from anabranch.kernels.native.blocks import Block, Results
from anabranch.kernels.native.code import Kernel
from anabranch.kernels.native.codec import Codec, Pad
from anabranch.kernels.native.columns import Words, strides
from anabranch.kernels.native.layout import NotInKernels, kinds
from anabranch.kernels.native.merging import merge_rows
from anabranch.kernels.native.running import Context, Ground
from anabranch.kernels.native.shares import Share
from anabranch.kernels.native.staged import SYSTEM, row_width
from anabranch.kernels.native.stores import zeros
from anabranch.kernels.native.words import Leave
from anabranch.kernels.values import UNSET
from anabranch.lang.types import NONE, Type, thaw

FIRST_ROWS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Rows on their way along a flow to an instance; -1 is the way of results. `kept` is what they refer to."""

    flow: int
    instance: int
    rows: Words
    kept: Any = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)


# Runs a row that a kernel has left, given its flow (None at the start), sequence, order, home and values; gives the
# rows it sends and its results.
RunRow = Callable[..., tuple[Sequence[Any], Sequence[tuple[int, Any]]]]


class RowCodec:
    """The inputs of a task as words of a row, with flags for those that may be unset."""

    def __init__(self, graph: Graph, task: Task, pad: Pad) -> None:
        unset = helper_prefixes(graph.entry(task.entry).body)
        self._parts = [
            (v.name.startswith(unset), Codec(thaw(v.type), pad.keep), 8 * len(kinds(thaw(v.type)))) for v in task.inputs
        ]

    def read(self, memory: Any) -> tuple[Any, ...]:
        at, found = 8 * SYSTEM, []
        words = memory.view(np.int64)
        for flagged, codec, size in self._parts:
            if flagged:
                there = bool(words[at // 8])
                at += 8
                found.append(codec.unpack(memory, at) if there else UNSET)
            else:
                found.append(codec.unpack(memory, at))
            at += size
        return tuple(found)

    def write(self, values: tuple[Any, ...], memory: Any) -> None:
        at = 8 * SYSTEM
        words = memory.view(np.int64)
        for (flagged, codec, size), value in zip(self._parts, values, strict=True):
            if flagged:
                words[at // 8] = value is not UNSET
                at += 8
            if value is UNSET:
                words[at // 8 : (at + size) // 8] = 0  # kernels may look at what they do not use
            else:
                codec.pack_into(value, memory, at)
            at += size


class StageContext(Context):
    """What one worker needs to run stages."""

    def __init__(self, ground: Ground, graph: Graph) -> None:
        super().__init__(ground)
        self.graph = graph
        self.count = len(ground.arenas)


class StageBatch:
    """The rows of one stage on one instance, on their way through its kernel; `done` of them have run.

    The source of the first stage is all rows of the request, or the share of the worker; of either the instance takes
    those that start at it.
    """

    def __init__(
        self,
        context: StageContext,
        kernel: Kernel,
        instance: int,
        source: Block | Sequence[Box],
        sequence: int,
        python: RunRow,
    ) -> None:
        self._context, self._kernel, self._instance, self._python = context, kernel, instance, python
        self._source, self._sequence = source, sequence
        graph, count = context.graph, context.count
        sizes = [8 + 8 * len(kinds(kernel.result)) if kernel.result != NONE else 8] * count
        for flow in graph.flows:
            task = graph.task(flow.source)
            sizes += [8 * _width(graph, flow) if task.entry == kernel.entry else 8] * count
        self._head = zeros(m.BOX_WORDS * len(sizes))
        self._rows: list[Words | None] = [None] * len(sizes)
        for i, size in enumerate(sizes):
            self._head[m.BOX_WORDS * i + m.BOX_SIZE // 8] = size
        self._kept: list[Any] = []
        self._pad = Pad()
        self._sequences = np.ascontiguousarray(source.sequences) if isinstance(source, Share) else None
        if isinstance(source, Block):
            self.total = len(source)
            self._ways = self._addresses = zeros(0)
        else:
            self._addresses, self._ways = merged(source)
            self.total = len(self._addresses)
        self.done = 0

    def run(self, rows: int) -> None:
        context, m_set = self._context, self._context._set
        end = min(self.done + rows, self.total)
        if isinstance(self._source, Block):
            self._inputs = strides(self._source.columns)
            m_set(m.INPUTS, self._inputs.ctypes.data)
        else:
            m_set(m.PICKED, self._addresses.ctypes.data)
            m_set(m.INPUTS, self._ways.ctypes.data)
        m_set(m.CONSTANTS, self._kernel.constants.ctypes.data)
        m_set(m.SEQUENCE, self._sequence)
        m_set(m.SEQUENCES, self._sequences.ctypes.data if self._sequences is not None else 0)
        m_set(m.HOME, self._instance)
        m_set(m.OUT, self._head.ctypes.data)
        m_set(m.BOXES, len(self._rows))
        m_set(m.KEPT, 0)
        m_set(m.KEPT_END, 0)
        m_set(m.ROW, self.done)
        m_set(m.END, end)
        try:
            self._run_rows()
        finally:
            context.end_run()
        self.done = end

    def _run_rows(self) -> None:
        context, m_set = self._context, self._context._set
        while True:
            m_set(m.REASON, m.ASK_PYTHON)
            try:
                self._kernel.function(context._address)
                return
            except Leave:
                pass
            self.done = context._get(m.ROW)
            self._take_back()
            if context._get(m.REASON) == m.ASK_PYTHON:
                self._run_python(self.done)
                m_set(m.ROW, self.done + 1)
            elif context._get(m.REASON) == m.FULL_OUT:
                self._grow(context._get(m.WHAT))
            else:
                context._mend(self)

    @property
    def sequence(self) -> int:
        """The sequence number of the row at hand; of the last, once all have run."""
        i = min(self.done, self.total - 1)
        if not isinstance(self._source, Block):
            return int(_memory(int(self._addresses[i]), 8).view(np.int64)[0])
        return self._sequence + i if self._sequences is None else int(self._sequences[i])

    @property
    def kept(self) -> list[Any]:
        return self._kept

    def _take_back(self) -> None:
        arena = self._context._ground.arenas[self._instance]
        arena.roll_back_to(int(self._context._marks[0]))
        heads = self._head.reshape(-1, m.BOX_WORDS)
        heads[:, m.BOX_COUNT // 8] = np.minimum(heads[:, m.BOX_COUNT // 8], heads[:, m.BOX_MARK // 8])

    def _grow(self, number: int) -> None:
        head = self._head[m.BOX_WORDS * number : m.BOX_WORDS * (number + 1)]
        room = max(FIRST_ROWS, 2 * int(head[m.BOX_ROOM // 8]))
        words = np.empty((room, int(head[m.BOX_SIZE // 8]) // 8), dtype=np.int64)
        old = self._rows[number]
        if old is not None:
            words[: len(old)] = old
        self._rows[number] = words
        head[m.BOX_ROWS // 8], head[m.BOX_ROOM // 8] = words.ctypes.data, room

    # -- rows that the kernel leaves ----------------------------------------------------------------------------------

    def _run_python(self, i: int) -> None:
        graph = self._context.graph
        if isinstance(self._source, Block):
            number = self._sequence + i if self._sequences is None else int(self._sequences[i])
            row: tuple[Any, ...] = (None, number, 0, self._instance, self._source[i])
        else:
            flow = int(self._ways[i])
            task = graph.task(graph.flow(flow).target)
            memory = _memory(int(self._addresses[i]), 8 * _width(graph, graph.flow(flow)))
            sequence, order, home = memory.view(np.int64)[:3].tolist()
            row = (flow, sequence, order, home, RowCodec(graph, task, self._pad).read(memory))
        rows, results = self._python(*row)
        for made in rows:
            target = graph.task(made.task)
            memory = self._new_row((made.flow + 1) * self._context.count + made.instance)
            memory.view(np.int64)[:3] = made.sequence, made.order, made.home
            RowCodec(graph, target, self._pad).write(made.values, memory)
        for sequence, value in results:
            if self._kernel.result != NONE:
                memory = self._new_row(0)
                memory.view(np.int64)[0] = sequence
                Codec(self._kernel.result, self._pad.keep).pack_into(value, memory, 8)

    def _new_row(self, number: int) -> Any:
        head = self._head[m.BOX_WORDS * number : m.BOX_WORDS * (number + 1)]
        if head[m.BOX_COUNT // 8] >= head[m.BOX_ROOM // 8]:
            self._grow(number)
        rows = self._rows[number]
        assert rows is not None
        row = rows[int(head[m.BOX_COUNT // 8])]
        head[m.BOX_COUNT // 8] += 1
        return row.view(np.uint8)

    # -- what it has made ---------------------------------------------------------------------------------------------

    def boxes(self) -> list[Box]:
        kept = (self._kept, self._pad, self._source)
        count, found = self._context.count, []
        for i, rows in enumerate(self._rows):
            filled = int(self._head[m.BOX_WORDS * i + m.BOX_COUNT // 8])
            if rows is not None and filled:
                flow = i // count - 1
                found.append(Box(flow, i % count if flow >= 0 else self._instance, rows[:filled], kept))
        return found


def _width(graph: Graph, flow: Any) -> int:
    try:
        return row_width(graph, flow)
    except NotInKernels:  # of another entry, which does not compile
        return 1


def _memory(address: int, size: int) -> Any:
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def merged(boxes: Sequence[Box]) -> tuple[Words, Words]:
    """The addresses of the rows of all boxes by sequence and order, and their flows."""
    total = sum(map(len, boxes))
    runs = np.array([(b.rows.ctypes.data, len(b), b.rows.strides[0], b.flow) for b in boxes], dtype=np.int64)
    rows, ways = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    if total:
        merge_rows(runs.ctypes.data, len(runs), rows.ctypes.data, ways.ctypes.data)
    return rows, ways


def gathered(t: Type, first: int, count: int, boxes: Sequence[Box]) -> Results:
    """The results of a request from the boxes of all workers."""
    results = Results(t, count)
    if t == NONE:
        return results
    for box in boxes:
        at = box.rows[:, 0] - first
        for i, column in enumerate(results.columns):
            column[at] = box.rows[:, 1 + i].view(column.dtype) if column.dtype != np.int64 else box.rows[:, 1 + i]
        results.kept.append(box.kept)
    return results
