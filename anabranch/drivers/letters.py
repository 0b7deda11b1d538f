"""A stream that stays between two hosts: messages of any length, from any thread.

Laws: what is sent arrives whole, once and in order, or the stream is `Broken`; pieces of one message are not mixed with
those of another.
"""

from __future__ import annotations

import threading
from time import monotonic

from anabranch.drivers import pieces
from anabranch.drivers.streams import Broken, Refused, Stream

LONGEST = 1 << 36  # bytes; nobody has so much to say


class Letters:
    """One side of a stream. Any thread may send, one receives."""

    def __init__(self, stream: Stream, piece: int = pieces.PIECE) -> None:
        self.hello = stream.hello
        self._stream, self._piece = stream, piece
        self._sending = threading.Lock()
        self.moved = monotonic()  # when the other side has last said something, or taken a piece of something long

    def send(self, message: pieces.Message) -> None:
        with self._sending:
            pieces.send(self._stream, message, self._piece, self._move)

    def receive(self) -> memoryview | None:
        """The next message; None once the other side has ended."""
        try:
            return pieces.receive(self._stream, LONGEST, self._move)
        except Refused as error:
            raise Broken(str(error)) from None

    def end(self) -> None:
        """Nothing more comes from this side; it may still receive."""
        with self._sending:
            self._stream.end()

    def close(self) -> None:
        """Give up the stream with all that is on its way, also for one who is held back while sending."""
        self._stream.close()

    def _move(self) -> None:
        self.moved = monotonic()
