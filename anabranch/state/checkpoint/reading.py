"""Read the log of a writer back: in order, whole, or `Damaged`.

A writer syncs a piece before it begins the next, and each piece says how long the one before it is. So only the last
piece may end within a frame: that is where a crash has cut it off, and it is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.frames import PIECE, Bad, Frame, Torn, frame_of, scan
from anabranch.state.checkpoint.location import Location

FORMAT = 1
FOLDER = "log"

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


def read_log(location: Location, generation: int, writer: str, first_piece: int = 0) -> Iterator[Frame]:
    """The frames of a log in order, from a piece on. Rows are views of the files: nothing is copied.

    What was appended and synced is in it. If the last piece was cut off by a crash, its whole frames are.
    """
    numbers = [n for n in piece_numbers(location, generation, writer) if n >= first_piece]
    good: tuple[int, int] | None = None
    before: int | None = None
    for expected, number in enumerate(numbers, first_piece):
        if number != expected:
            missing = Piece(generation, writer, expected).file
            raise Damaged(missing, 0, good, f"the file is missing; {Piece(generation, writer, number).file} is there")
        reading = PieceReading(location, Piece(generation, writer, number), good)
        yield from reading.frames(last=number == numbers[-1], before=before)
        good, before = reading.good, reading.size


def extent(location: Location, piece: Piece, *, last: bool) -> Extent:
    """What is in a piece. It reads and checks all of it."""
    reading, epochs = PieceReading(location, piece), []
    for frame in reading.frames(last=last):
        epochs.append(frame.epoch)
    return Extent(min(epochs, default=None), max(epochs, default=None), len(epochs), reading.cut)


class PieceReading:
    """Reads one piece. `good` is the last frame that was whole; `cut` the bytes that were dropped at the end."""

    def __init__(self, location: Location, piece: Piece, good: tuple[int, int] | None = None) -> None:
        self.piece, self.good, self.cut = piece, good, 0
        try:
            self._data = location.read(piece.file)
        except FileNotFoundError:
            raise Damaged(piece.file, 0, good, "the file is missing") from None
        self.size = len(self._data)

    def frames(self, *, last: bool, before: int | None = None) -> Iterator[Frame]:
        """Its frames. `before` is the size of the piece before it, if that is known."""
        at = 0
        schemas: dict[str, pa.Schema] | None = None
        while at < self.size or (schemas is None and not last):
            try:
                record = scan(self._data, at)
                if schemas is None:
                    schemas = self._opened(record.magic, record.head, before)
                elif record.magic == PIECE:
                    raise Bad("a second head")
                else:
                    frame = frame_of(record, schemas)
                    self.good = frame.epoch, frame.attempt
                    yield frame
            except Torn as torn:
                if not last:
                    raise Damaged(
                        self.piece.file, at, self.good, f"{torn}, but it is not the last of its log"
                    ) from None
                self.cut = self.size - at
                return
            except Bad as bad:
                raise Damaged(self.piece.file, at, self.good, str(bad)) from None
            at = record.end

    def _opened(self, magic: bytes, head: object, before: int | None) -> dict[str, pa.Schema]:
        """The schemas of a piece, if it is the one that its name says."""
        if magic != PIECE or not isinstance(head, dict):
            raise Bad("it does not begin with the head of a log")
        if head.get("format") != FORMAT:
            raise Bad(f"its format is {head.get('format')}, this version of anabranch reads {FORMAT}")
        named = Piece(head["generation"], head["writer"], head["piece"])
        if named != self.piece:
            raise Bad(f"it was written as {named.file}")
        if before is not None and head["previous"] != before:
            raise Bad(f"the piece before it had {head['previous']} bytes, and has {before} now")
        return {name: pa.ipc.read_schema(pa.py_buffer(schema)) for name, schema in head["schemas"].items()}
