"""What a stream between two processes is, whatever carries it, and how it can fail.

Laws: messages arrive whole, once and in order, or the stream is `Broken`; `receive` gives None only if the other side
said that it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Refused(Exception):
    """The other side does not take the call: no token, no such name, or too long a message."""


class Broken(ConnectionError):
    """The other side is gone, or has given up the stream."""


class Remote(Exception):
    """The handler on the other side raised."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}" if text else kind)
        self.kind, self.text = kind, text


class Stream(Protocol):
    """One side of a stream. Any thread may send; the threads that receive take turns."""

    hello: bytes  # what the side that opened it had to say first

    def send(self, message: Any) -> None:
        """Bytes, or what has them. Blocks while the other side does not read and what lies between is full."""

    def receive(self) -> memoryview | None:
        """The next message; None once the other side has ended."""

    def end(self) -> None:
        """Nothing more comes from this side; it may still receive."""

    def close(self) -> None:
        """Give up the stream with all that is on its way; the other side gets `Broken`."""


class Opener(Protocol):
    """Someone who opens streams to another process."""

    def open(self, stream: str, hello: bytes = b"") -> Stream: ...
    def close(self) -> None: ...


Serve = Callable[[Stream], None]
