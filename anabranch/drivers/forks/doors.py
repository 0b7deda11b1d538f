"""Streams over sockets between two processes of one machine, one of which is a fork.

A pair of sockets carries no messages but others: to open a stream is to hand one end of a new pair over to the other
process, with the name of who shall serve it. Nobody else can get hold of one: these sockets have no address.

Laws: those of streams; when the process at the other end is gone, `serve` comes back and every stream is `Broken`.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from anabranch.drivers.streams import Broken, Refused, Remote, Serve

log = logging.getLogger(__name__)

_HEAD = struct.Struct("<Q")
_END = (1 << 64) - 1  # in place of a length: its side ends
SHORT = 1 << 16  # bytes that are worth copying behind their length rather than sending apart
NAME = 1 << 14  # bytes of the longest name

Take = Callable[[str, socket.socket], None]


class SocketStream:
    """One side of a stream."""

    def __init__(self, own: socket.socket, hello: bytes = b"") -> None:
        self.hello = hello
        self._socket = own
        self._sending, self._receiving = threading.Lock(), threading.Lock()
        self._ended = self._closed = self._heard_end = False

    def send(self, message: Any) -> None:
        view = memoryview(message).cast("B")
        with self._sending:
            if self._ended or self._closed:
                raise Broken("this side of the stream has ended")
            if len(view) <= SHORT:
                self._write(_HEAD.pack(len(view)) + view)
            else:
                self._write(_HEAD.pack(len(view)))
                self._write(view)

    def receive(self) -> memoryview | None:
        with self._receiving:
            if self._heard_end:
                return None
            (length,) = _HEAD.unpack(self._read(_HEAD.size))
            if length == _END:
                self._heard_end = True
                return None
            return self._read(length)

    def end(self) -> None:
        with self._sending:
            if not self._ended and not self._closed:
                self._ended = True
                self._write(_HEAD.pack(_END))

    def close(self) -> None:
        self._closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes whoever waits
        with self._sending, self._receiving:
            self._socket.close()

    def _write(self, data: Any) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Broken(f"the other side is gone: {error}") from None

    def _read(self, length: int) -> memoryview:
        memory: Any = np.empty(length, dtype=np.uint8) if length > SHORT else bytearray(length)
        found = memoryview(memory)
        came = 0
        while came < length:
            try:
                size = self._socket.recv_into(found[came:])
            except OSError as error:
                raise Broken(f"the other side is gone: {error}") from None
            if not size:
                raise Broken("the other side is gone")
            came += size
        return found


class Doors:
    """One end of a pair. `open` opens a stream to the other process, `serve` serves those that come from there."""

    def __init__(self, own: socket.socket) -> None:
        self._socket = own

    def open(self, stream: str, hello: bytes = b"") -> SocketStream:
        ours, theirs = socket.socketpair()
        opened = SocketStream(ours, hello)
        try:
            self.give(stream, theirs)
            opened.send(hello)
        except BaseException:
            opened.close()
            raise
        return opened

    def give(self, name: str, theirs: socket.socket) -> None:
        """Hand a socket over to who takes this name there."""
        try:
            socket.send_fds(self._socket, [name.encode()], [theirs.fileno()])
        except OSError as error:
            raise Broken(f"the other process is gone: {error}") from None
        finally:
            theirs.close()

    def ready(self) -> None:
        """Tell whoever has the other end that this process is there."""
        self._socket.send(str(os.getpid()).encode())

    def serve(self, streams: Mapping[str, Serve], takes: Mapping[str, Take]) -> None:
        """Each on a thread of its own, until the other process is gone. `takes` are given sockets as they come; what
        follows a colon in a name is for them.
        """
        while True:
            try:
                name, came = self.take()
            except Broken:
                return
            take = takes.get(name.partition(":")[0]) or partial(_serve, streams.get(name))
            threading.Thread(target=take, args=(name, came), daemon=True).start()

    def take(self) -> tuple[str, socket.socket]:
        """The next socket that is handed over, and its name."""
        try:
            name, fds, _, _ = socket.recv_fds(self._socket, NAME, 1)
        except OSError as error:
            raise Broken(f"the other process is gone: {error}") from None
        if not name or len(fds) != 1:
            raise Broken("the other process is gone")
        return name.decode(), socket.socket(fileno=fds[0])

    def end(self, patience: float) -> str | None:
        """Let the other process end; gives its last words, or None if it does not."""
        words = b""
        with suppress(OSError):  # it is gone
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.settimeout(patience)
            try:
                while came := self._socket.recv(1 << 16):
                    words = came
            except TimeoutError:
                return None
        self.close()
        return words.decode(errors="replace")

    def detach(self) -> socket.socket:
        """The pair's end itself, for another process to have."""
        return self._socket

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _serve(serve: Serve | None, name: str, came: socket.socket) -> None:
    stream = SocketStream(came)
    try:
        hello = stream.receive()
        if serve is None or hello is None:
            raise Refused(f"there is no stream {name!r}")
        stream.hello = bytes(hello)
        serve(stream)
        stream.end()
    except (Broken, Refused, Remote) as error:
        log.info("the stream %s has ended: %s", name, error)
    except Exception:
        log.exception("the stream %s has ended", name)
    finally:
        stream.close()
