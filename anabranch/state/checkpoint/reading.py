"""Read the log of a writer back: in order, whole, or `Damaged`.

A writer syncs a piece before it begins the next, and each piece says how long the one before it is; then it notes at
the end of the old one that the new one is there, and only then it writes frames to it. So only the last piece may end
within a frame: that is where a crash has cut it off, and it is dropped. One that was noted and is not there is lost.

Pieces of format 1 have no notes: there, a piece that is missing at the end of a log is not noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.frames import NOTE, PIECE, Bad, Frame, Torn, frame_of, scan
from anabranch.state.checkpoint.location import Location

FORMAT = 2
FOLDER = "log"
MISSING = "the file is missing"

_NAME = re.compile(rf"{FOLDER}/(\d{{8,}})-(.+)-(\d{{6,}})")


class Piece(NamedTuple):
    """One file of a log."""

    generation: int
    writer: str
    number: int

    @property
    def file(self) -> str:
        return f"{FOLDER}/{self.generation:08}-{self.writer}-{self.number:06}"


class Extent(NamedTuple):
    """What is in a piece: epochs from first to last (None: no frame), and bytes that a crash cut off at its end."""

    first: int | None
    last: int | None
    frames: int
    cut: int
    next: int | None
    """The piece that was begun after it, if it says so."""


Noted = Callable[[dict[str, Any]], None]


def piece_of(file: str) -> Piece | None:
    """The piece that a file is.

    >>> piece_of("log/00000002-w0-000010")
    Piece(generation=2, writer='w0', number=10)
    """
    match = _NAME.fullmatch(file)
    return Piece(int(match[1]), match[2], int(match[3])) if match else None


def pieces(location: Location) -> dict[Piece, int]:
    """All pieces of all logs, in order, with their bytes."""
    found = {piece: size for file, size in location.list(FOLDER).items() if (piece := piece_of(file))}
    return dict(sorted(found.items()))


def piece_numbers(location: Location, generation: int, writer: str) -> list[int]:
    """The pieces of a log that are there, in order."""
    return [p.number for p in pieces(location) if (p.generation, p.writer) == (generation, writer)]


def read_log(
    location: Location,
    generation: int,
    writer: str,
    first_piece: int = 0,
    *,
    begun: bool = False,
    noted: Noted = lambda note: None,
) -> Iterator[Frame]:
    """The frames of a log in order, from a piece on. Rows are views of the files: nothing is copied.

    What was appended and synced is in it. If the last piece was cut off by a crash, its whole frames are. With `begun`
    the first piece is known to have been there. `noted` is told what else the writer has noted.
    """
    numbers = [n for n in piece_numbers(location, generation, writer) if n >= first_piece]
    good: tuple[int, int] | None = None
    before: int | None = None
    if begun and not numbers:
        raise Damaged(Piece(generation, writer, first_piece).file, 0, None, "the file is missing")
    for expected, number in enumerate(numbers, first_piece):
        piece = Piece(generation, writer, number)
        if number != expected:
            missing = piece._replace(number=expected).file
            raise Damaged(missing, 0, good, f"the file is missing; {piece.file} is there")
        reading = PieceReading(location, piece, good)
        last = number == numbers[-1]
        whole = None if last else previous_of(location, piece._replace(number=number + 1))
        yield from reading.frames(last=last, before=before, whole=whole, named=begun)
        for note in reading.notes:
            noted(note)
        good, before, begun = reading.good, reading.end, reading.next is not None
        if last and reading.next is not None:
            missing = piece._replace(number=reading.next).file
            raise Damaged(missing, 0, good, f"the file is missing; {piece.file} says that it was begun")


def is_empty(location: Location, piece: Piece) -> bool:
    """Is there nothing but the head of a log? A piece that is gone since is empty."""
    try:
        reading = PieceReading(location, piece)
        return next(reading.frames(last=True), None) is None and not reading.notes and reading.next is None
    except Damaged as damage:
        return damage.why == MISSING


def previous_of(location: Location, piece: Piece) -> int | None:
    """The size of the piece before this one, if this one says it and can be read. Behind it is only a note."""
    try:
        record = scan(location.read(piece.file), 0)
    except (Torn, Bad, FileNotFoundError):
        return None
    told = record.head if record.magic == PIECE and isinstance(record.head, dict) else {}
    previous = told.get("previous") if told.get("format") == 2 else None
    return previous if isinstance(previous, int) else None


def extent(location: Location, piece: Piece, *, last: bool) -> Extent:
    """What is in a piece. It reads and checks all of it."""
    reading, epochs = PieceReading(location, piece), []
    whole = None if last else previous_of(location, piece._replace(number=piece.number + 1))
    for frame in reading.frames(last=last, whole=whole):
        epochs.append(frame.epoch)
    return Extent(min(epochs, default=None), max(epochs, default=None), len(epochs), reading.cut, reading.next)


class PieceReading:
    """Reads one piece. `good` is the last frame that was whole; `cut` the bytes that were dropped at the end; `next`
    the piece that was begun after it, where it says so, and `end` where that note begins; `notes` the others.
    """

    def __init__(self, location: Location, piece: Piece, good: tuple[int, int] | None = None) -> None:
        self.piece, self.good, self.cut = piece, good, 0
        self.next: int | None = None
        self.notes: list[dict[str, Any]] = []
        try:
            self._data = location.read(piece.file)
        except FileNotFoundError:
            raise Damaged(piece.file, 0, good, MISSING) from None
        self.size = self.end = len(self._data)

    def frames(
        self, *, last: bool, before: int | None = None, whole: int | None = None, named: bool = False
    ) -> Iterator[Frame]:
        """Its frames. `before` is the size of the piece before it, if that is known; so many bytes as `whole` were
        durable before the next was begun. The head of one that is `named` elsewhere was durable before that.
        """
        at = 0
        schemas: dict[str, pa.Schema] | None = None
        while at < self.size or (schemas is None and (named or not last)):
            try:
                record = scan(self._data, at)
                if schemas is None:
                    schemas = self._opened(record.magic, record.head, before)
                elif record.magic == PIECE:
                    raise Bad("a second head")
                elif self.next is not None:
                    raise Bad("a record behind the note that the next piece was begun")
                elif record.magic == NOTE:
                    self._note(record.head, at)
                else:
                    frame = frame_of(record, schemas)
                    self.good = frame.epoch, frame.attempt
                    yield frame
            except Torn as torn:
                is_note = whole is not None and at >= whole
                if not last and not is_note:
                    raise Damaged(
                        self.piece.file, at, self.good, f"{torn}, but it is not the last of its log"
                    ) from None
                if schemas is None and named:
                    raise Damaged(self.piece.file, at, self.good, f"{torn}, but its head was durable") from None
                self.cut, self.end = self.size - at, at
                return
            except Bad as bad:
                raise Damaged(self.piece.file, at, self.good, str(bad)) from None
            at = record.end

    def _note(self, head: object, at: int) -> None:
        if not isinstance(head, dict):
            raise Bad("a note that is none")
        if "next" in head:
            self.next, self.end = head["next"], at
        else:
            self.notes.append(head)

    def _opened(self, magic: bytes, head: object, before: int | None) -> dict[str, pa.Schema]:
        """The schemas of a piece, if it is the one that its name says."""
        if magic != PIECE or not isinstance(head, dict):
            raise Bad("it does not begin with the head of a log")
        if head.get("format") not in range(1, FORMAT + 1):
            raise Bad(f"its format is {head.get('format')}, this version of anabranch reads up to {FORMAT}")
        named = Piece(head["generation"], head["writer"], head["piece"])
        if named != self.piece:
            raise Bad(f"it was written as {named.file}")
        if before is not None and head["previous"] != before:
            raise Bad(f"the piece before it had {head['previous']} bytes, and has {before} now")
        return {name: pa.ipc.read_schema(pa.py_buffer(schema)) for name, schema in head["schemas"].items()}
