"""Long messages in pieces over a stream, each of them no longer than a message may be.

Laws: what is received is what was sent, whole; one that says it is longer than the limit is refused before its first
piece; memory grows with what has come, not with what was announced.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anabranch.drivers.streams import Refused, Stream

WHOLE = 1 << 30  # bytes of a request or an answer
PIECE = 4 << 20  # bytes: so that no end holds much more than the message itself

AT_ONCE = 64 << 20  # bytes that are reserved before they have come: the system gives them when they are written

_LENGTH = struct.Struct("<Q")


Message = bytes | Sequence[Any]  # whole, or buffers that follow each other: those are not put together first


def send(stream: Stream, data: Message, max_message: int, moved: Callable[[], None] = lambda: None) -> None:
    """`moved` is called for each piece that is on its way."""
    size = max(1, min(PIECE, max_message) - _LENGTH.size)
    views = _views(data)
    length = sum(map(len, views))
    first = views[0] if views else memoryview(b"")
    stream.send(_LENGTH.pack(length) + first[:size])
    for i, view in enumerate(views):
        for start in range(0 if i else size, len(view), size):
            stream.send(view[start : start + size])
            moved()


def length_of(data: Message) -> int:
    """In bytes, of all its buffers."""
    return sum(map(len, _views(data)))


def receive(stream: Stream, longest: int | None = None, moved: Callable[[], None] = lambda: None) -> memoryview | None:
    """The next one; None once the other side has ended."""
    first = stream.receive()
    moved()
    if first is None:
        return None
    if len(first) < _LENGTH.size:
        raise Refused(f"{len(first)} bytes that do not say how many follow")
    (length,) = _LENGTH.unpack_from(first)
    limit = WHOLE if longest is None else longest
    if length > limit:
        raise Refused(f"{length} bytes, and the limit is {limit}")
    piece: memoryview | None = first[_LENGTH.size :]
    assert piece is not None
    if len(piece) == length:
        return piece
    whole = _Whole(length)
    whole.add(piece)
    while whole.came < length:
        piece = stream.receive()
        moved()
        if not piece:
            told = "an empty piece" if piece is not None else "the end"
            raise Refused(f"{whole.came} of {length} bytes, then {told}")
        whole.add(piece)
    return whole.memory[:length]


def _views(data: Message) -> list[memoryview]:
    parts: Sequence[Any] = [data] if isinstance(data, bytes) else data
    return [memoryview(x).cast("B") for x in parts if len(x)]


class _Whole:
    """Memory for a message, which grows as pieces come: what was announced costs nothing."""

    def __init__(self, length: int) -> None:
        self.length, self.came = length, 0
        self.memory = _memory(min(length, AT_ONCE))

    def add(self, piece: memoryview) -> None:
        end = self.came + len(piece)
        if end > self.length:
            raise Refused(f"{end} bytes where {self.length} were announced")
        if end > len(self.memory):
            larger = _memory(min(self.length, 2 * end))
            larger[: self.came] = self.memory[: self.came]
            self.memory = larger
        self.memory[self.came : end] = piece
        self.came = end


def _memory(size: int) -> memoryview:
    """Not zeroed, and begins where words may begin."""
    found: Any = np.empty(size, dtype=np.uint8)
    return memoryview(found)
