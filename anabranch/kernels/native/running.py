"""Run kernels on rows: go in, see why a kernel has left, mend it, go on behind.

Law: a row that a kernel leaves has changed nothing. What was full has grown and the row begins again; else the Python
tier runs it, on the same memory, and what it raises is the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from anabranch.kernels.native import memory as m
from anabranch.kernels.native.blocks import Block, Results
from anabranch.kernels.native.code import Kernel
from anabranch.kernels.native.codec import Codec, Keep, Pad
from anabranch.kernels.native.columns import Words, strides
from anabranch.kernels.native.entries import make_room
from anabranch.kernels.native.layout import kinds
from anabranch.kernels.native.stores import Arena, zeros
from anabranch.kernels.native.words import Leave
from anabranch.lang.types import Tuple, Type

SCRATCH, KEPT = 1 << 16, 1 << 16
LARGE_SCRATCH = 1 << 24  # bytes of scratch memory that are let go at the end of a run
_NO_ROW = -1
SMALL = 64  # rows that go through the buffers of `Calls`
RunRow = Callable[[int], Any]


class Keeper(Protocol):
    """Whoever keeps alive what results refer to."""

    @property
    def kept(self) -> list[Any]: ...


class Ground:
    """The memory of all instances of an address space, as kernels see it."""

    def __init__(self, arenas: Sequence[Arena], owners: Sequence[int]) -> None:
        self.arenas = list(arenas)
        self.instances = np.array([a.address for a in arenas], dtype=np.int64)
        self.owners = np.array(owners, dtype=np.int64)

    def store(self, address: int) -> Any:
        return next(s for a in self.arenas for s in a.stores.values() if s.address == address)


class Context:
    """What one thread needs to run kernels.

    Law: what it keeps from run to run is at most `LARGE_SCRATCH` bytes, whatever the rows have needed and however many
    runs there were.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._words = zeros(m.CONTEXT_WORDS)
        self._address = self._words.ctypes.data
        self._view = self._words.data  # gives Python's integers, sooner than numpy its own
        self._marks = zeros(len(ground.arenas))
        self._scratch = zeros(SCRATCH // 8)
        self.grown = 0  # how often its scratch memory has grown
        self._kept_for, self._kept_size = _NO_ROW, 0  # the row of this run that last lacked room for what it gives
        self._inputs, self._outputs = zeros(0), zeros(0)
        self._set(m.INSTANCES, ground.instances.ctypes.data)
        self._set(m.MARKS, self._marks.ctypes.data)
        self._set(m.COUNT, len(ground.arenas))
        self._set(m.BUCKETS, ground.owners.ctypes.data)
        self._use_scratch()

    def _set(self, at: int, value: int) -> None:
        self._view[at // 8] = value

    def _get(self, at: int) -> int:
        return self._view[at // 8]

    def _use_scratch(self) -> None:
        start = self._scratch.ctypes.data
        self._set(m.SCRATCH, start)
        self._set(m.SCRATCH_START, start)
        self._set(m.SCRATCH_END, start + self._scratch.nbytes)

    def begin(self, kernel: Kernel, block: Block, sequence: int) -> Results:
        """Get ready for the rows of a block; the results are filled in as they run."""
        results = Results(kernel.result, len(block))
        self._inputs, self._outputs = strides(block.columns), strides(results.columns)
        self._set(m.INPUTS, self._inputs.ctypes.data)
        self._set(m.OUTPUTS, self._outputs.ctypes.data)
        self._set(m.CONSTANTS, kernel.constants.ctypes.data)
        self._set(m.SEQUENCE, sequence)
        self._set(m.KEPT, 0)
        self._set(m.KEPT_END, 0)
        return results

    def prepared(self, kernel: Kernel, inputs: Words, outputs: Words, kept: Words) -> Words:
        """The words of a context for rows whose words are in buffers that others own; for `put`."""
        words = self._words[: m.RING // 8].copy()
        for at, value in (
            (m.INPUTS, inputs.ctypes.data),
            (m.OUTPUTS, outputs.ctypes.data),
            (m.CONSTANTS, kernel.constants.ctypes.data),
            (m.KEPT, kept.ctypes.data),
            (m.KEPT_END, kept.ctypes.data + kept.nbytes),
        ):
            words[at // 8] = value
        return words

    def put(self, prepared: Words, sequence: int) -> None:
        self._view[: m.RING // 8] = prepared.data
        self._view[m.SEQUENCE // 8] = sequence

    def run(self, kernel: Kernel, results: Results | Rack, first: int, end: int, python: RunRow) -> None:
        """Run the rows from `first` to `end`; `python` runs one that the kernel leaves and gives its result.

        What that raises ends the run; the number of its row is then `failed`.
        """
        self._view[m.ROW // 8], self._view[m.END // 8] = first, end
        try:
            self._run_rows(kernel, results, python)
        finally:
            self.end_run()

    def _run_rows(self, kernel: Kernel, results: Results | Rack, python: RunRow) -> None:
        view, function, address = self._view, kernel.function, self._address
        while True:
            view[m.REASON // 8] = m.ASK_PYTHON
            try:
                function(address)
                return
            except Leave:
                pass
            self._roll_back()
            row = self._get(m.ROW)
            if self._get(m.REASON) == m.ASK_PYTHON:
                value = python(row)
                results.put(row, value if isinstance(results, Results) else (value,))
                self._set(m.ROW, row + 1)
            else:
                self._mend(results)

    def end_run(self) -> None:
        """Forget what the rows of this run have needed: the next run has other rows, under the same numbers."""
        self._kept_for = _NO_ROW
        if self._scratch.nbytes > LARGE_SCRATCH:
            self._scratch = zeros(SCRATCH // 8)
            self._use_scratch()
            self.grown += 1

    @property
    def failed(self) -> int:
        return self._get(m.ROW)

    def _roll_back(self) -> None:
        """Take back what the row at hand has written."""
        for arena, mark in zip(self._ground.arenas, self._marks.tolist(), strict=True):
            arena.roll_back_to(mark)

    def _mend(self, results: Keeper) -> None:
        reason, need = self._get(m.REASON), self._get(m.NEED)
        if reason == m.FULL_SCRATCH:
            self._scratch = zeros(max(2 * len(self._scratch), 2 * (len(self._scratch) + need // 8)))
            self._use_scratch()
            self.grown += 1
        elif reason == m.FULL_KEPT:
            # A row that needs many small pieces begins again with each new one: let it come to an end.
            again = self._get(m.ROW) == self._kept_for
            self._kept_for, self._kept_size = self._get(m.ROW), max(KEPT, need, 2 * self._kept_size if again else 0)
            piece = np.empty(self._kept_size // 8 + 1, dtype=np.int64)
            results.kept.append(piece)
            self._set(m.KEPT, piece.ctypes.data)
            self._set(m.KEPT_END, piece.ctypes.data + piece.nbytes)
        else:
            stores = {s.address: s for a in self._ground.arenas for s in a.stores.values()}
            make_room(self._words, self._ground.arenas, stores)


class LargeBatch:
    """The rows of a request on their way through a kernel."""

    def __init__(self, context: Context, kernel: Kernel, block: Block, sequence: int, python: RunRow) -> None:
        self._context, self._kernel, self._python = context, kernel, python
        self._block = block  # its memory is what the kernel reads
        self._results = context.begin(kernel, block, sequence)
        self.done = 0

    def run(self, rows: int) -> None:
        end = min(self.done + rows, len(self._block))
        try:
            self._context.run(self._kernel, self._results, self.done, end, self._python)
        except BaseException:
            self.done = self._context.failed
            raise
        self.done = end

    def results(self) -> Results:
        return self._results


class Calls:
    """Runs few rows at a time: buffers for rows and results are made once for each kernel."""

    def __init__(self, context: Context, kernel: Kernel) -> None:
        self._context, self._kernel = context, kernel
        self._pad = Pad()
        self._rows, self._found = Rack(kernel.types, self._pad.keep), Rack((kernel.result,), self._pad.keep)
        self._kept = zeros(KEPT // 8)
        self._grown, self._prepared = -1, zeros(0)

    def run(self, rows: Sequence[tuple[Any, ...]], sequence: int, python: RunRow) -> tuple[list[Any], Any]:
        """Their results and None, or those before the row that failed and its exception."""
        self._pad.clear()
        self._found.kept.clear()
        for i, row in enumerate(rows):
            self._rows.put(i, row)
        context, found = self._context, self._found
        if self._grown != context.grown:
            self._grown = context.grown
            self._prepared = context.prepared(self._kernel, self._rows.strides, found.strides, self._kept)
        context.put(self._prepared, sequence)
        other: dict[int, Any] = {}

        def run_python(row: int) -> Any:
            other[row] = python(row)
            return other[row]

        done, error = len(rows), None
        try:
            context.run(self._kernel, found, 0, done, run_python)
        except BaseException as raised:
            done, error = context.failed, raised
        # As the Python tier gave it where it did: what a result refers to is then not in this memory.
        return [other[i] if i in other else found.get(i) for i in range(done)], error


class SmallBatch:
    """A request of few rows, all of which run at once."""

    def __init__(self, calls: Calls, rows: Sequence[tuple[Any, ...]], sequence: int, python: RunRow) -> None:
        self._calls, self._rows, self._sequence, self._python = calls, rows, sequence, python
        self._results: list[Any] = []
        self.done = 0

    def run(self, rows: int) -> None:
        self._results, error = self._calls.run(self._rows, self._sequence, self._python)
        self.done = len(self._results)
        if error is not None:
            raise error

    def results(self) -> list[Any]:
        return self._results


class Rack:
    """Room for a few rows of words, one after the other."""

    def __init__(self, types: Sequence[Type], keep: Keep) -> None:
        t = Tuple(tuple(types))
        width = len(kinds(t))
        self._codec, self._size = Codec(t, keep), 8 * width
        self._words = zeros(SMALL * max(width, 1))
        self._bytes = self._words.view(np.uint8)
        base = self._words.ctypes.data
        pairs = [(base + 8 * i, self._size) for i in range(width)]
        self.strides = np.array(pairs or [(0, 0)], dtype=np.int64).reshape(-1)
        self.kept: list[Any] = []

    def put(self, row: int, values: Any) -> None:
        self._codec.pack_into(values, self._bytes, row * self._size)

    def get(self, row: int) -> Any:
        return self._codec.unpack(self._bytes, row * self._size)[0]
