"""Long messages in pieces over a stream, each of them no longer than a message may be.

Laws: what is received is what was sent, whole; one that says it is longer than the limit is refused before its first
piece; memory grows with what has come, not with what was announced.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from anabranch.drivers.flight import Refused, Stream

WHOLE = 1 << 30  # bytes of a request or an answer
PIECE = 4 << 20  # bytes: so that no end holds much more than the message itself

_LENGTH = struct.Struct("<Q")


def send(stream: Stream, data: bytes, max_message: int, moved: Callable[[], None] = lambda: None) -> None:
    """`moved` is called for each piece that is on its way."""
    size = max(1, min(PIECE, max_message) - _LENGTH.size)
    stream.send(_LENGTH.pack(len(data)) + data[:size])
    view = memoryview(data)
    for start in range(size, len(data), size):
        stream.send(view[start : start + size])
        moved()


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
    found, came = [first[_LENGTH.size :]], len(first) - _LENGTH.size
    while came < length:
        piece = stream.receive()
        moved()
        if not piece:
            raise Refused(f"{came} of {length} bytes, then {'an empty piece' if piece is not None else 'the end'}")
        found.append(piece)
        came += len(piece)
    if came > length:
        raise Refused(f"{came} bytes where {length} were announced")
    return found[0] if len(found) == 1 else memoryview(b"".join(found))
