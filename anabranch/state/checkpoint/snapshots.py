"""The rows of a snapshot: Arrow files, a number each, that other tools read too.

Laws: what was added is what is read, in order; nothing counts before a manifest names it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

import pyarrow as pa

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.location import Location

FOLDER = "snapshots"
OPEN = 64
"""Files open at once. Rows of a state and instance whose file was closed to make room go to another file."""

LARGE = 64 << 20
"""Bytes of a file from which on rows go to another, so that several can be read at once."""

_BUFFERED = 1 << 20
AT_ONCE = 16 << 20
"""Bytes that are made durable together."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A file of rows of a state of an instance. There may be several: their rows follow each other."""

    state: str
    instance: int
    file: str
    rows: int
    bytes: int
    crc: int


class SnapshotWriter:
    """Writes `snapshots/VERSION-GENERATION/NUMBER.arrow`. For one thread; at most a batch for each open file waits."""

    def __init__(self, location: Location, generation: int, version: int, writer: str = "") -> None:
        """Several writers of one snapshot have names."""
        self.folder = f"{FOLDER}/{version:012}-{generation:08}"
        self._writer = writer and f"{writer}-"
        self._location = location
        self._open: dict[tuple[str, int], _Writing] = {}
        self._chunks: list[Chunk] = []
        self._files: list[str] = []
        self._ended = False

    def add(self, state: str, instance: int, rows: pa.RecordBatch) -> None:
        """More rows of a state of an instance. No rows are fine: then it is there, and empty."""
        self._check()
        writing = self._open.pop((state, instance), None)
        if writing is None:
            if len(self._open) >= OPEN:
                self._finish(next(iter(self._open)))
            file = f"{self.folder}/{self._writer}{len(self._files):04}.arrow"
            self._files.append(file)
            writing = _Writing(self._location, file, rows.schema)
        self._open[state, instance] = writing  # the one used last is the last to be closed
        writing.add(rows)
        if writing.size >= LARGE:
            self._finish((state, instance))

    def finish(self) -> list[Chunk]:
        """All files, durable."""
        self._check()
        while self._open:
            self._finish(next(iter(self._open)))
        self._ended = True
        return sorted(self._chunks, key=lambda c: c.file)

    def abandon(self) -> None:
        """Remove what was written."""
        self._ended = True
        for writing in self._open.values():
            writing.let_go()
        self._open = {}
        for file in self._files:
            self._location.remove(file)

    def __enter__(self) -> SnapshotWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended:
            self.abandon()

    def _finish(self, of: tuple[str, int]) -> None:
        writing = self._open[of]
        size, crc = writing.finish()
        del self._open[of]
        self._chunks.append(Chunk(*of, writing.file, writing.rows, size, crc))

    def _check(self) -> None:
        if self._ended:
            raise ValueError(f"the snapshot {self.folder} has ended")


class _Writing:
    """One Arrow file that grows."""

    def __init__(self, location: Location, file: str, schema: pa.Schema) -> None:
        self.file, self.rows, self._schema = file, 0, schema
        self._sink = _Sink(location, file)
        self._writer = pa.ipc.new_file(self._sink, schema)

    @property
    def size(self) -> int:
        return self._sink.size

    def add(self, rows: pa.RecordBatch) -> None:
        if not rows.schema.equals(self._schema):
            raise ValueError(f"{self.file}: rows of {rows.schema} after rows of {self._schema}")
        self._writer.write_batch(rows)
        self.rows += rows.num_rows

    def finish(self) -> tuple[int, int]:
        try:
            self._writer.close()
            self._sink.sync()
        finally:
            self._sink.let_go()
        return self._sink.size, self._sink.crc

    def let_go(self) -> None:
        self._sink.let_go()


class _Sink:
    """What pyarrow writes to: small writes are put together, the crc is made on the way."""

    def __init__(self, location: Location, file: str) -> None:
        self.size = self.crc = 0
        self.closed = False
        self._file = location.open(file)
        self._waiting = bytearray()
        self._synced = 0

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        if self.closed:
            return view.nbytes  # given up: pyarrow ends its file when it forgets it
        self.crc = zlib.crc32(view, self.crc)
        self.size += view.nbytes
        if view.nbytes >= _BUFFERED:
            self._put([bytes(self._waiting), view])
        else:
            self._waiting += view
            if len(self._waiting) >= _BUFFERED:
                self._put([bytes(self._waiting)])
        return view.nbytes

    def _put(self, parts: list[bytes | memoryview]) -> None:
        self._waiting = bytearray()
        self._file.append(parts)
        if self._file.size - self._synced >= AT_ONCE:  # one large sync would hold up those of the log
            self._file.sync()
            self._synced = self._file.size

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        """Nothing: `sync` says when."""

    def close(self) -> None:
        """Nothing: pyarrow does not own the file."""

    def sync(self) -> None:
        self._put([bytes(self._waiting)])
        self._file.sync()

    def let_go(self) -> None:
        self.closed = True
        self._file.close()


def read_chunk(location: Location, chunk: Chunk) -> Iterator[pa.RecordBatch]:
    """The batches of a chunk, once it is checked. They are views of the file: nothing is copied."""
    return batches(check_chunk(location, chunk), chunk)


def check_chunk(location: Location, chunk: Chunk) -> memoryview:
    """The bytes of a chunk; `Damaged` if they are not those that were written."""
    try:
        data = location.read(chunk.file)
    except FileNotFoundError:
        raise Damaged(chunk.file, 0, None, "the file is missing") from None
    if len(data) != chunk.bytes:
        raise Damaged(chunk.file, 0, None, f"it has {len(data)} bytes, its manifest says {chunk.bytes}")
    if zlib.crc32(data) != chunk.crc:
        raise Damaged(chunk.file, 0, None, "it does not match the checksum in its manifest")
    return data


def batches(data: memoryview, chunk: Chunk) -> Iterator[pa.RecordBatch]:
    try:
        reader = pa.ipc.open_file(pa.py_buffer(data))
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
    except pa.ArrowException as error:
        raise Damaged(chunk.file, 0, None, f"it is no Arrow file: {error}") from error
