"""The log of a writer: frames that become durable in groups.

Laws. Frames are in the log in the order of their tickets, and epochs never go back. When `sync(ticket)` has returned,
that frame and all before it survive a crash. After a failed write or sync nothing more becomes durable: every later
call raises. No frame of a piece is durable before something that is not in that piece says that the piece was begun:
the piece before it ends with that note, and whoever opens a log says it of the first. So a lost piece is missed.
"""

from __future__ import annotations

import errno
import re
import threading
from collections.abc import Mapping, Sequence

import pyarrow as pa

from anabranch.state.checkpoint.frames import NOTE, PIECE, Frame, Packed, pack_frame, packed
from anabranch.state.checkpoint.location import Appending, Location, Part
from anabranch.state.checkpoint.reading import FORMAT, Piece, piece_numbers, read_log

__all__ = ["Frame", "Log", "Piece", "piece_numbers", "read_log"]

MIB = 1 << 20

_WRITER = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)


class Log:
    """Appends frames to `log/GENERATION-WRITER-PIECE`. It may be used from several threads.

    An exception that comes from outside, as KeyboardInterrupt does, must be held back from its methods.
    """

    def __init__(
        self,
        location: Location,
        generation: int,
        writer: str,
        schemas: Mapping[str, pa.Schema],
        piece_bytes: int = 64 * MIB,
        *,
        limit: int = 256 * MIB,
    ) -> None:
        if not _WRITER.fullmatch(writer):
            raise ValueError(f"the name of a writer has letters, digits, '.', '_' and '-' only, got {writer!r}")
        self._location, self._generation, self._writer = location, generation, writer
        self._schemas = {name: _plain(name, schema) for name, schema in schemas.items()}
        self._piece_bytes, self._limit = piece_bytes, limit
        self._turn = threading.Condition(threading.Lock())
        self._waiting: list[tuple[int, Packed]] = []
        self._bytes_waiting = 0
        self._ticket = self._synced = self._epoch = 0
        self._piece = self._in_piece = 0  # of what is appended; `_number` of what is written
        self._leading = self._wanted = self._closed = False
        self._broken: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._file: Appending | None = None
        self._number = -1
        self._size = self._written = 0  # of the piece that is written, of all

    @property
    def synced(self) -> int:
        """The last ticket that is durable."""
        return self._synced

    @property
    def bytes(self) -> int:
        """How much was written so far."""
        return self._written

    def append(self, frame: Frame) -> int:
        """A ticket for the frame, which is not yet durable. It waits while too much waits to be written."""
        for change in frame.changes:
            schema = self._schemas.get(change.state)
            if schema is None or not change.rows.schema.equals(schema):
                raise ValueError(
                    f"{change.state}: rows have the columns {_columns(change.rows.schema)}, the log was opened for "
                    + ("no such state" if schema is None else _columns(schema))
                )
        record = pack_frame(frame)
        with self._turn:
            while True:
                self._check()
                if self._bytes_waiting <= self._limit:
                    break
                if self._leading:
                    self._turn.wait()
                else:
                    self._lead()
            if frame.epoch < self._epoch:
                raise ValueError(
                    f"a frame of epoch {frame.epoch} after one of epoch {self._epoch}: epochs never go back"
                )
            self._epoch = frame.epoch
            return self._add(record)

    def _add(self, record: Packed) -> int:
        if self._in_piece and self._in_piece + record.size > self._piece_bytes:
            self._piece, self._in_piece = self._piece + 1, 0
        self._in_piece += record.size
        self._waiting.append((self._piece, record))
        self._bytes_waiting += record.size
        self._ticket += 1
        return self._ticket

    def sync(self, ticket: int) -> None:
        """Return when the frame is durable. The first who waits writes for all who do."""
        with self._turn:
            if ticket > self._ticket:
                raise ValueError(f"ticket {ticket} was never given; the last one is {self._ticket}")
            while self._synced < ticket:
                self._check()
                if self._leading:
                    self._turn.wait()
                else:
                    self._lead()

    def flush(self) -> None:
        """Begin to write if much waits, and do not wait for it."""
        with self._turn:
            self._check()
            if self._bytes_waiting <= MIB or self._leading:
                return
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_when_wanted, daemon=True)
                self._thread.start()
            self._turn.notify_all()

    def note(self, what: Mapping[str, object]) -> int:
        """A ticket for what is to be remembered beside the frames; see `Notes`."""
        with self._turn:
            self._check()
            return self._add(packed(NOTE, dict(what)))

    def open_piece(self) -> None:
        """Return when the piece is there, durably, that has what is appended from now on."""
        with self._turn:
            while self._number < self._piece:
                self._check()
                if self._leading:
                    self._turn.wait()
                else:
                    self._lead()

    @property
    def end(self) -> tuple[int, int, int]:
        """The last piece, its bytes and the last epoch: all of it is on disk once the log was closed."""
        return self._number, self._size, self._epoch

    def cut(self) -> int:
        """Go on in a new piece: the number of that which has all frames appended from now on, and no other."""
        with self._turn:
            self._check()
            if self._in_piece:
                self._piece, self._in_piece = self._piece + 1, 0
            return self._piece

    def close(self) -> None:
        """Write what waits, durably, and let the file go. Again is fine; after a failure it only lets go."""
        try:
            with self._turn:
                while self._broken is None and not self._closed and (self._leading or self._waiting):
                    if self._leading:
                        self._turn.wait()
                    else:
                        self._lead()
        finally:
            with self._turn:
                self._closed = True
                while self._leading:
                    self._turn.wait()
                self._turn.notify_all()
                file, self._file = self._file, None
            if file is not None:
                file.close()
            if self._thread is not None:
                self._thread.join()

    def _check(self) -> None:
        if self._broken is not None:
            number = self._broken.errno if isinstance(self._broken, OSError) else None
            raise OSError(
                number or errno.EIO,
                f"the log of {self._writer} could not be written ({self._broken!r}): nothing after that is durable",
            ) from self._broken
        if self._closed:
            raise ValueError(f"the log of {self._writer} was closed")

    def _lead(self) -> None:
        """Write all that waits, durably. Who calls holds the turn and nobody leads; others append meanwhile."""
        batch, self._waiting = self._waiting, []
        piece = self._piece
        error: BaseException | None = None
        self._leading = True
        self._turn.release()
        try:
            self._write(batch, piece)
        except BaseException as e:
            error = e
            raise
        finally:
            self._turn.acquire()
            self._leading = False
            self._broken = error
            if error is None:
                self._synced += len(batch)
                self._bytes_waiting -= sum(record.size for _, record in batch)
            self._turn.notify_all()

    def _write(self, batch: list[tuple[int, Packed]], upto: int) -> None:
        """The last piece is there then, also if nothing is in it yet."""
        parts: list[Part] = []
        for piece, record in batch:
            if piece != self._number:
                self._put(parts)
                self._next_piece(piece)
                parts = []
            parts += record.written()
        self._put(parts)
        if self._number < upto:
            self._next_piece(upto)

    def _put(self, parts: Sequence[Part]) -> None:
        if parts and self._file is not None:
            self._file.append(parts)
            self._file.sync()
            self._size = self._file.size
            self._written += sum(memoryview(p).nbytes for p in parts)

    def _next_piece(self, number: int) -> None:
        """Begin a piece: its head, durably, then the note at the end of the one before it, which is whole."""
        before, previous = self._file, self._size
        self._file = self._location.open(Piece(self._generation, self._writer, number).file)
        self._number = number
        self._put(self._head(number, previous).written())
        if before is not None:
            try:
                before.append(packed(NOTE, {"next": number}).written())
                before.sync()
            finally:
                before.close()

    def _head(self, number: int, previous: int) -> Packed:
        head = {
            "format": FORMAT,
            "generation": self._generation,
            "writer": self._writer,
            "piece": number,
            "previous": previous,
            "schemas": {name: schema.serialize().to_pybytes() for name, schema in self._schemas.items()},
        }
        return packed(PIECE, head)

    def _write_when_wanted(self) -> None:
        """What the helper thread does: its failures are found by who asks next."""
        with self._turn:
            while not self._closed and self._broken is None:
                if not self._wanted or self._leading:
                    self._turn.wait()
                    continue
                self._wanted = False
                if self._waiting:
                    try:
                        self._lead()
                    except Exception:
                        return


def _plain(name: str, schema: pa.Schema) -> pa.Schema:
    """A schema of which a batch is one message."""
    if any(_has_dictionary(field.type) for field in schema):
        raise ValueError(f"{name}: a log keeps no dictionary types, got {_columns(schema)}: use the type of the values")
    return schema


def _has_dictionary(kind: pa.DataType) -> bool:
    fields = (kind.field(i).type for i in range(kind.num_fields))
    return pa.types.is_dictionary(kind) or any(_has_dictionary(t) for t in fields)


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
