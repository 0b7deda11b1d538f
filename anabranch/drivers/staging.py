"""What feeders bring to a worker before an epoch, and what the epoch leaves for readers to fetch.

A feeder sends the rows of one partition that start at this worker, under the attempt that sends them. An attempt that
is given up, or is made twice, leaves rows that no epoch takes.

Laws: of an attempt all rows are here or none; rows get their sequence numbers when the epoch begins, by partition and
row; results of a batch are the same however often they are fetched, until they are dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anabranch.drivers import pieces
from anabranch.drivers.streams import Stream
from anabranch.drivers.values import Values
from anabranch.graph.nodes import Graph
from anabranch.runtime.messages import AtWorkers, BeginColumns, Finished, Numbered, Version

Key = tuple[str, int]  # a query and a batch of it
PIECE = 65_536  # rows in one message
REMEMBERED = 1000  # queries whose stragglers are sent away


class Staging:
    """The staged rows of one worker. A chunk is (row numbers, columns without addresses or None, rows or None)."""

    def __init__(self, graph: Graph, values: Values) -> None:
        self._graph, self._values = graph, values
        self._lock = threading.Lock()
        self._chunks: dict[Key, dict[tuple[int, int], list[Any]]] = {}
        self._dropped: dict[str, int] = {}  # by query: the last batch that is done with

    def take(self, stream: Stream) -> None:
        """A feeder. Called by the server, on a thread for each."""
        query, batch, partition, attempt = self._values.decode(stream.hello)
        chunks = []
        while (data := pieces.receive(stream)) is not None:
            chunks.append(self._values.decode(data))
        with self._lock:
            if batch > self._dropped.get(query, -1):  # else it comes from an attempt that nobody waits for
                self._chunks.setdefault((query, batch), {})[partition, attempt] = chunks
        stream.send(b"staged")

    def give(self, stream: Stream) -> None:
        """The staged rows of a batch, one by one: for the one place that says what is wrong with them."""
        entry, rows = self._values.decode(stream.hello)
        found = list(self.numbered(entry, 0, list(self.chunks(rows))))
        for i in range(0, len(found), PIECE):
            pieces.send(stream, self._values.encode(tuple(found[i : i + PIECE])), pieces.PIECE)
        stream.end()

    def chunks(self, rows: AtWorkers) -> Iterator[tuple[int, Any]]:
        """The chunks of the attempts that count, in order, with the number of the first row of their partition."""
        with self._lock:
            found = dict(self._chunks.get((rows.query, rows.batch), {}))
        first = 0
        for partition, attempt, count in rows.parts:
            if (partition, attempt) not in found:
                raise LookupError(f"nothing is staged of attempt {attempt} at partition {partition} of {rows.query}")
            for chunk in found[partition, attempt]:
                yield first, chunk
            first += count

    def drop(self, query: str, batch: int) -> None:
        """Forget what was staged up to this batch."""
        with self._lock:
            self._dropped[query] = max(batch, self._dropped.pop(query, -1))
            if len(self._dropped) > REMEMBERED:
                del self._dropped[next(iter(self._dropped))]
            for key in [k for k in self._chunks if k[0] == query and k[1] <= batch]:
                del self._chunks[key]

    def resolve(self, begin: BeginColumns) -> BeginColumns:
        """The same order with the rows themselves: as a share if the workers are to run kernels, all or none."""
        placed = begin.placed
        request: Any = placed.request
        chunks = list(self.chunks(request.rows))
        rows: Any
        if request.rows.fast:
            rows = self._share(request.entry, placed.sequence, chunks)
        else:
            rows = Numbered(tuple(self.numbered(request.entry, placed.sequence, chunks)))
        return replace(begin, placed=placed._replace(request=request._replace(rows=rows)))

    def numbered(self, entry: str, sequence: int, chunks: Sequence[Any]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Rows one by one, with their sequence numbers."""
        types = self._types(entry)
        for first, (numbers, columns, rows) in chunks:
            if columns is not None:
                from anabranch.kernels.native.portable import unpack_block

                rows = unpack_block(types, columns)
            yield from zip((numbers + (sequence + first)).tolist(), rows, strict=True)

    def _share(self, entry: str, sequence: int, chunks: Sequence[Any]) -> Any:
        from anabranch.kernels.native.blocks import block_of
        from anabranch.kernels.native.portable import unpack_block
        from anabranch.kernels.native.shares import Share

        types = self._types(entry)
        blocks = [
            block_of(types, rows) if columns is None else unpack_block(types, columns)
            for _, (_, columns, rows) in chunks
        ] or [block_of(types, [])]
        numbers = [numbers + (sequence + first) for first, (numbers, _, _) in chunks]
        words = [np.concatenate(found) for found in zip(*[b.columns for b in blocks], strict=True)]
        size = sum(map(len, blocks))
        sequences = np.concatenate(numbers) if numbers else np.zeros(0, dtype=np.int64)
        return Share(types, tuple(words), size, blocks, sequences=sequences)

    def _types(self, entry: str) -> tuple[Any, ...]:
        return tuple(p.type for p in self._graph.entry(entry).parameters)


class Kept:
    """The results of batches, at the workers where their rows ended."""

    def __init__(self, values: Values, specs: dict[str, Any]) -> None:
        self._values, self._specs = values, specs
        self._lock = threading.Lock()
        self._expected: dict[Version, tuple[Key, int, str]] = {}
        self._tables: dict[Key, Any] = {}

    def expect(self, begin: BeginColumns) -> None:
        """What the epoch finishes here stays here."""
        rows: Any = begin.placed.request.rows
        with self._lock:
            key = rows.query, rows.batch
            self._expected = {begin.version: (key, begin.placed.sequence, begin.placed.request.entry)}

    def strip(self, finished: Finished) -> Finished:
        """Keep the results of what was expected, and say only that it is done."""
        with self._lock:
            expected = self._expected.pop(finished.version, None)
            if expected is None:
                return finished
            key, first, entry = expected
            self._tables[key] = self._table(entry, first, finished)
        return replace(finished, results=(), boxes=())

    def _table(self, entry: str, first: int, finished: Finished) -> Any:
        """By row number, with the column `_row`."""
        import pyarrow as pa

        from anabranch.lang.columns import result_table

        spec = self._specs[entry]
        if finished.boxes:
            from anabranch.kernels.native.blocks import Results
            from anabranch.kernels.native.outputs import result_arrow

            words = np.concatenate([box.rows for box in finished.boxes])
            results = Results(spec.result, len(words))
            for i, column in enumerate(results.columns):
                column[:] = words[:, 1 + i].view(column.dtype)
            table, sequences = result_arrow(spec, results), words[:, 0]
        else:
            table = result_table(spec, [value for _, value in finished.results])
            sequences = np.array([sequence for sequence, _ in finished.results], dtype=np.int64)
        if table is None:
            return None
        return table.append_column("_row", pa.array(sequences - first)).sort_by("_row")

    def give(self, stream: Stream) -> None:
        """A reader: the results of the rows from one number up to another. Called by the server."""
        import pyarrow as pa
        import pyarrow.compute as pc

        query, batch, first, last = self._values.decode(stream.hello)
        with self._lock:
            table = self._tables.get((query, batch))
        if table is None:
            return
        rows = table["_row"]
        for piece in table.filter(pc.and_(pc.greater_equal(rows, first), pc.less(rows, last))).to_batches(PIECE):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, piece.schema) as writer:
                writer.write_batch(piece)
            pieces.send(stream, sink.getvalue().to_pybytes(), pieces.PIECE)
        stream.end()

    def drop(self, query: str, batch: int) -> None:
        """Forget the results of batches before this one."""
        with self._lock:
            for key in [k for k in self._tables if k[0] == query and k[1] < batch]:
                del self._tables[key]
