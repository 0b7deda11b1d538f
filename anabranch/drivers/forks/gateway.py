"""The way to a fork of a worker, by way of the worker it was forked from.

gRPC does not work in a copy of a process that has used it. So the worker listens for its fork too, at an address of its
own, and what comes there goes on to the fork over a socket, message by message; and the same way out.

Law: a stream by way of a gateway is a stream: whole, in order, and broken on one side when it breaks on the other.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from anabranch.drivers.flight import Client, Security, Server
from anabranch.drivers.forks.doors import Doors, SocketStream
from anabranch.drivers.streams import Broken, Opener, Refused, Remote, Serve, Stream

log = logging.getLogger(__name__)

OUT = "out"  # in front of where a stream shall lead
ADOPT = "adopt"  # in front of whom a fork of a fork shall work for
LEAD = "lead"  # tells a fork where it is and where its coordinator is

GONE = (Broken, Refused, Remote, TimeoutError)


class Serving(Protocol):
    """A server: where it is, and its end."""

    address: str

    def stop(self) -> None: ...


class Reach(Protocol):
    """How a worker is reached by others, and reaches them."""

    def serve(self, streams: Mapping[str, Serve]) -> Serving: ...
    def client(self, address: str) -> Opener: ...
    def lead(self, doors: Doors, coordinator: str, names: Sequence[str]) -> None:
        """Let the fork behind these doors work for a coordinator, and be reached under these names."""


class Direct:
    """Over the network."""

    def __init__(self, security: Security, host: str, ports: range | None) -> None:
        self._security, self._host, self._ports = security, host, ports

    def serve(self, streams: Mapping[str, Serve]) -> Serving:
        return Server(self._security, {}, streams, host=self._host, ports=self._ports)

    def client(self, address: str) -> Opener:
        return Client(address, self._security)

    def lead(self, doors: Doors, coordinator: str, names: Sequence[str]) -> None:
        Gateway(doors, self, coordinator, names)


class Through:
    """By way of the gateway at the other end of these doors, which listens at `address`."""

    def __init__(self, doors: Doors, address: str) -> None:
        self._doors, self.address = doors, address

    def serve(self, streams: Mapping[str, Serve]) -> Serving:
        threading.Thread(target=self._doors.serve, args=(streams, {}), daemon=True).start()
        return self

    def client(self, address: str) -> Opener:
        return _Out(self._doors, address)

    def lead(self, doors: Doors, coordinator: str, names: Sequence[str]) -> None:
        self._doors.give(f"{ADOPT}:{json.dumps([coordinator, *names])}", doors.detach())

    def stop(self) -> None:
        self._doors.close()


class _Out:
    """Opens streams to one address."""

    def __init__(self, doors: Doors, address: str) -> None:
        self._doors, self._address = doors, address

    def open(self, stream: str, hello: bytes = b"") -> Stream:
        return self._doors.open(f"{OUT}:{json.dumps([self._address, stream])}", hello)

    def close(self) -> None:
        """The doors are for others too."""


class Gateway:
    """Lets the fork behind these doors be a worker of another run, under these names, until the fork ends."""

    def __init__(self, doors: Doors, reach: Reach, coordinator: str, names: Sequence[str]) -> None:
        self._doors, self._reach = doors, reach
        self._clients: dict[str, Opener] = {}
        self._lock = threading.Lock()
        self._serving = reach.serve({name: partial(self._inwards, name) for name in names})
        threading.Thread(target=self._serve, name="anabranch-gateway", daemon=True).start()
        told = doors.open(LEAD, json.dumps([coordinator, self._serving.address]).encode())
        told.close()  # what was sent is still read

    def _serve(self) -> None:
        self._doors.serve({}, {OUT: self._outwards, ADOPT: self._adopt})
        self._serving.stop()
        with self._lock:
            clients = list(self._clients.values())
        for client in clients:
            client.close()
        self._doors.close()

    def _inwards(self, name: str, stream: Stream) -> None:
        """Someone wants the fork."""
        carry(stream, self._doors.open(name, stream.hello))

    def _adopt(self, name: str, came: socket.socket) -> None:
        """The fork has forked: whoever it is, it can be reached here."""
        coordinator, *names = json.loads(name.partition(":")[2])
        Gateway(Doors(came), self._reach, coordinator, names)

    def _outwards(self, name: str, came: socket.socket) -> None:
        """The fork wants someone."""
        address, wanted = json.loads(name.partition(":")[2])
        near = SocketStream(came)
        try:
            hello = near.receive()
            carry(near, self._client(address).open(wanted, b"" if hello is None else bytes(hello)))
        except GONE as error:
            log.info("a fork cannot reach %s: %s", address, error)
        finally:
            near.close()

    def _client(self, address: str) -> Opener:
        with self._lock:
            found = self._clients.get(address)
            if found is None:
                found = self._clients[address] = self._reach.client(address)
            return found


def carry(near: Stream, far: Stream) -> None:
    """All that comes on one goes out on the other, both ways, until both sides have ended or one has broken."""
    back = threading.Thread(target=_carry, args=(far, near), daemon=True)
    back.start()
    whole = _carry(near, far)
    back.join()
    far.close()
    if not whole:
        near.close()


def _carry(one: Stream, other: Stream) -> bool:
    """One way; False if it has broken, and then the other way does too."""
    try:
        while (message := one.receive()) is not None:
            other.send(message)
        other.end()
        return True
    except GONE as error:
        log.info("a stream by way of a gateway has ended: %s", error)
        for stream in (one, other):
            with suppress(*GONE):
                stream.close()
        return False


def led(doors: Doors) -> tuple[str, str]:
    """For a fork: wait until it is told where its coordinator is and where it can be reached itself."""
    name, came = doors.take()
    if name != LEAD:
        raise Refused(f"a fork is told where to go before anything else, got {name!r}")
    coordinator, address = json.loads(bytes(SocketStream(came).receive() or b"null"))
    came.close()
    return coordinator, address
