"""Long messages in pieces over a stream, each of them no longer than a message may be.

Laws: what is received is what was sent, whole; one that says it is longer than the limit is refused before its first
piece; memory grows with what has come, not with what was announced.
"""

from __future__ import annotations

import struct

from anabranch.drivers.flight import Refused, Stream

WHOLE = 1 << 30  # bytes of a request or an answer
PIECE = 4 << 20  # bytes: so that no end holds much more than the message itself

_LENGTH = struct.Struct("<Q")


def send(stream: Stream, data: bytes, max_message: int) -> None:
    size = max(1, min(PIECE, max_message) - _LENGTH.size)
    stream.send(_LENGTH.pack(len(data)) + data[:size])
    view = memoryview(data)
    for start in range(size, len(data), size):
        stream.send(view[start : start + size])


def receive(stream: Stream) -> bytes | None:
    """The next one; None once the other side has ended."""
    first = stream.receive()
    if first is None:
        return None
    if len(first) < _LENGTH.size:
        raise Refused(f"{len(first)} bytes that do not say how many follow")
    (length,) = _LENGTH.unpack_from(first)
    if length > WHOLE:
        raise Refused(f"{length} bytes, and the limit is {WHOLE}")
    pieces, came = [first[_LENGTH.size :]], len(first) - _LENGTH.size
    while came < length:
        piece = stream.receive()
        if not piece:
            raise Refused(f"{came} of {length} bytes, then {'an empty piece' if piece is not None else 'the end'}")
        pieces.append(piece)
        came += len(piece)
    if came > length:
        raise Refused(f"{came} bytes where {length} were announced")
    return bytes(pieces[0]) if len(pieces) == 1 else b"".join(pieces)
