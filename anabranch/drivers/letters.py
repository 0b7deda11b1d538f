"""Messages of any length over a stream, whose messages have a limit: long ones go in pieces.

Laws: what is sent arrives whole, once and in order, or the stream is `Broken`; a length that is announced costs nothing
until the pieces come; pieces of one message are not mixed with those of another.
"""

from __future__ import annotations

import threading
from time import monotonic

from anabranch.drivers.flight import Broken, Stream

PIECE = 4 << 20  # bytes
LONGEST = 1 << 36  # bytes; nobody has so much to say
_LONG = 0xC1  # the first byte of what announces a long message; no value of `Values` begins with it
_ANNOUNCED = 9  # bytes: this one, and the length


class Letters:
    """One side of a stream. Any thread may send, one receives."""

    def __init__(self, stream: Stream, piece: int = PIECE) -> None:
        self.hello = stream.hello
        self._stream, self._piece = stream, piece
        self._sending = threading.Lock()
        self.moved = monotonic()  # when the other side has last said something, or taken a piece of something long

    def send(self, message: bytes) -> None:
        with self._sending:
            if len(message) <= self._piece and message[:1] != bytes((_LONG,)):
                self._stream.send(message)
                return
            self._stream.send(bytes((_LONG,)) + len(message).to_bytes(_ANNOUNCED - 1, "big"))
            view = memoryview(message)
            for start in range(0, len(view), self._piece):
                self._stream.send(view[start : start + self._piece])
                self.moved = monotonic()

    def receive(self) -> memoryview | None:
        """The next message; None once the other side has ended."""
        found = self._next()
        if found is None or not len(found) or found[0] != _LONG:
            return found
        length = int.from_bytes(found[1:], "big")
        if len(found) != _ANNOUNCED or length > LONGEST:
            raise Broken("a long message was not announced as one")
        whole = bytearray()
        while len(whole) < length:
            piece = self._next()
            if piece is None or not 0 < len(piece) <= length - len(whole):
                raise Broken("a long message has other pieces than was announced")
            whole += piece
        return memoryview(whole)

    def end(self) -> None:
        """Nothing more comes from this side; it may still receive."""
        with self._sending:
            self._stream.end()

    def close(self) -> None:
        """Give up the stream with all that is on its way, also for one who is held back while sending."""
        self._stream.close()

    def _next(self) -> memoryview | None:
        found = self._stream.receive()
        self.moved = monotonic()
        return found
