"""What tasks of Spark do for an app: bring rows to its workers, and fetch results from them.

A feeding task sends each row to the worker at which it starts, under its partition and its own attempt, and says how
many there were. Which attempts count is decided later, by Spark. It waits for no epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from anabranch.drivers import pieces
from anabranch.drivers.flight import Broken, Client, Security, Stream
from anabranch.drivers.shipping import unpack_program
from anabranch.drivers.values import Values
from anabranch.drivers.wire import Wire
from anabranch.graph.nodes import Dispatch, Graph
from anabranch.kernels import PythonCode
from anabranch.lang import Program
from anabranch.lang.columns import read_batch
from anabranch.lang.errors import BadInput, InputOverflow
from anabranch.lang.spec import describe
from anabranch.runtime.routing import Routing

STAGED = "partition int, attempt long, rows long, problem binary"
LOST = -1  # rows, where a worker was gone
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go, and what is to be done with them."""

    program: bytes
    entry: str
    addresses: tuple[str, ...]
    security: Security
    instance_of_bucket: tuple[int, ...]
    worker_of_instance: tuple[int, ...]
    routing: int  # its version


@lru_cache(maxsize=16)
def unpacked(program: bytes) -> tuple[Program, Graph]:
    """To read the source of a program takes longer than most tasks."""
    return unpack_program(program)


@lru_cache(maxsize=256)
def client(address: str, security: Security) -> Client:
    return Client(address, security)


def feed(target: Target, query: str, batch: int, recovers: bool) -> Callable[[Batches], Batches]:
    """What a feeding task does with its batches.

    Where another worker takes the place of one that is gone, it says that one is: what Spark would try again is to
    reach the one that is gone.
    """

    def bring(batches: Batches) -> Batches:
        context = TaskContext.get()
        assert context is not None
        partition, attempt = context.partitionId(), context.taskAttemptId()
        try:
            rows, problem = _brought(target, (query, batch, partition, attempt), batches)
        except Broken:
            if not recovers:
                raise
            rows, problem = LOST, None
        told = [[partition], [attempt], [rows], [problem]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(x, type=t) for x, t in zip(told, (pa.int32(), pa.int64(), pa.int64(), pa.binary()), strict=True)],
            ["partition", "attempt", "rows", "problem"],
        )

    return bring


def _brought(target: Target, name: tuple[str, int, int, int], batches: Batches) -> tuple[int, bytes | None]:
    """Bring all of them; how many rows there were, and what is wrong with one."""
    feeder = Feeder(target, name)
    try:
        for data in batches:
            feeder.take(data)
        feeder.end()
    except BaseException:
        feeder.close()
        raise
    return feeder.rows, feeder.problem


class Feeder:
    """Brings the rows of one partition to the workers. After a bad one it only counts."""

    def __init__(self, target: Target, name: tuple[str, int, int, int]) -> None:
        self._target = target
        self._program, self._graph = unpacked(target.program)
        self._values = Wire(self._graph).values
        self._spec = describe(type(self._program)).entries[target.entry]
        self._routing = Routing(target.instance_of_bucket, target.worker_of_instance)
        entry = self._graph.entry(target.entry)
        self._keyed = entry.dispatch is Dispatch.BY_KEY
        self._code = PythonCode(self._graph, self._program)
        hello = self._values.encode(name)
        self._streams: list[Stream] = [client(a, target.security).open("stage", hello) for a in target.addresses]
        self.rows = 0
        self.problem: bytes | None = None

    def take(self, data: pa.RecordBatch) -> None:
        from anabranch.kernels.native.inputs import read_block

        first, self.rows = self.rows, self.rows + len(data)
        if self.problem is not None:
            return
        block = read_block(self._spec, data)
        try:
            self._send_columns(first, block) if block is not None else self._send_rows(first, data)
        except BadInput as error:
            self.problem = pack_problem(error, first)

    def _send_columns(self, first: int, block: Any) -> None:
        from anabranch.kernels.native.portable import pack_block
        from anabranch.kernels.native.shares import shares

        graph, entry, routing = self._graph, self._target.entry, self._routing
        try:
            dealt = shares(graph, entry, self._program, block, first, routing, self._instance) if self._keyed else None
        except _NoKey:
            dealt = None
        if dealt is None:
            numbers = np.arange(first, first + len(block), dtype=np.int64)
            self._send_all((numbers, pack_block(block), None))
            return
        for stream, share in zip(self._streams, dealt, strict=True):
            if len(share):
                self._send(stream, (share.sequences, pack_block(share), None))

    def _send_rows(self, first: int, data: pa.RecordBatch) -> None:
        rows = read_batch(self._spec, data).rows
        numbers = np.arange(first, first + len(rows), dtype=np.int64)
        try:
            found = [self._routing.worker_of(self._instance(0, row)) for row in rows] if self._keyed else None
        except _NoKey:
            found = None
        if found is None:
            self._send_all((numbers, None, tuple(rows)))
            return
        workers = np.array(found, dtype=np.int64)
        for worker, stream in enumerate(self._streams):
            own = np.flatnonzero(workers == worker)
            if len(own):
                self._send(stream, (numbers[own], None, tuple([rows[i] for i in own.tolist()])))

    def _instance(self, _: int, row: tuple[Any, ...]) -> int:
        try:
            return self._routing.owner(self._code.start_key(self._target.entry)(*row))
        except Exception:
            raise _NoKey from None

    def _send_all(self, chunk: Any) -> None:
        """Where a row without a key starts depends on its number, which is not known yet."""
        for stream in self._streams:
            self._send(stream, chunk)

    def _send(self, stream: Stream, chunk: Any) -> None:
        pieces.send(stream, self._values.encode(chunk), self._target.security.max_message)

    def end(self) -> None:
        """Comes back when every worker has all of it."""
        for stream in self._streams:
            stream.end()
        for stream in self._streams:
            if stream.receive() is None:
                raise Broken("a worker has not taken what was brought to it")
            stream.receive()

    def close(self) -> None:
        """Give up: of this attempt nothing is there."""
        for stream in self._streams:
            stream.close()


class _NoKey(Exception):
    """Of some row: its configuration was never set. See `anabranch.runtime.rows.Start.instance`."""


def pack_problem(error: BadInput, first: int) -> bytes:
    """What is wrong with a row, whose batch begins at `first` of its partition."""
    values, row = Values(), None if error.row is None else first + error.row
    try:
        value = values.encode(error.value)
    except TypeError:
        value = values.encode(repr(error.value))
    return values.encode((isinstance(error, InputOverflow), row, error.problem, error.column, value))


def unpack_problem(entry: str, first: int, data: bytes) -> BadInput:
    """The same in the whole batch, where the partition begins at `first`."""
    values = Values()
    overflow, row, problem, column, value = values.decode(data)
    row = None if row is None else first + row
    kind = InputOverflow if overflow else BadInput
    return kind(problem, entry=entry, row=row, column=column, value=values.decode(value))


def fetch(target: Target, query: str, batch: int, bounds: tuple[tuple[int, int], ...]) -> Callable[[Batches], Batches]:
    """What a reading task does: its input is the number of a partition, its output the results of those rows."""

    def read(batches: Batches) -> Batches:
        _, graph = unpacked(target.program)
        values = Wire(graph).values
        for data in batches:
            for partition in data["id"].to_pylist():
                hello = values.encode((query, batch, *bounds[partition]))
                yield from _results(target, hello)

    return read


def _results(target: Target, hello: bytes) -> Batches:
    """The results of a range of rows from all workers, in order."""
    found: list[pa.RecordBatch] = []
    for address in target.addresses:
        stream = client(address, target.security).open("results", hello)
        while (data := pieces.receive(stream)) is not None:
            found += list(pa.ipc.open_stream(data))
    if found:
        table = pa.Table.from_batches(found).sort_by("_row").drop_columns(["_row"])
        yield from table.combine_chunks().to_batches()
