"""Calls and streams between processes, over Arrow Flight.

An action is a call with bytes and an answer of bytes. A stream carries messages, opaque and in order, both ways at
once; it is one `DoExchange` whose messages are its metadata, the cheapest there is (a batch costs a schema).

Laws: no handler runs, and nothing is answered but a refusal, unless the call carries the token; what is refused is
logged, without the token; of the calls that Flight has, those that are not used here are refused; a message above the
limit is refused; what is sent arrives whole, once and in order, or the stream is `Broken`; `receive` gives None only
if the other side said that it ends; who sends faster than the other side reads is held back; `stop` comes back.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import secrets
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, TypeAlias, cast

import msgpack
import pyarrow as pa
from pyarrow import flight

from anabranch.drivers.streams import Broken, Refused, Remote
from anabranch.drivers.tls import HEADER, Security, Tls
from anabranch.lang.scalars import short

__all__ = ["Broken", "Client", "Endpoint", "Refused", "Remote", "Security", "Server", "Stream", "Tls"]

log = logging.getLogger(__name__)

Action = Callable[[bytes], bytes]
Serve = Callable[["Stream"], None]
Message: TypeAlias = bytes | memoryview | pa.Buffer

GRACE = 0.2  # seconds that calls in flight have to end by themselves when a server stops
PULSE = 0.02  # seconds
TEXT = 1000  # characters of an error that travel: gRPC sends them in headers, which are short

_MARK = 16  # bytes, random for each stream, that no message of the user's begins with but by a chance of 2**-128
_EMPTY = b"\0"  # after the mark: an empty message. The mark alone says that its side ends.


class Endpoint(NamedTuple):
    """Something that can be called: one of Flight's methods, and the name of an action or a stream."""

    method: str
    name: str = ""


# -- errors on the wire ----------------------------------------------------------------------------------------------


def _error(label: str, kind: str, text: str) -> flight.FlightServerError:
    """What a server raises so that the client raises `Remote` or `Refused`."""
    packed = msgpack.packb((label, kind[:TEXT], text[:TEXT]), unicode_errors="replace")
    return flight.FlightServerError(label, extra_info=packed)


def _refused(what: str) -> Refused:
    log.warning("refused %s", what)
    return Refused(what)


_ERRORS = (pa.ArrowException, OSError, NotImplementedError)


def _translated(error: Exception) -> Exception:
    """Flight's error as one of ours."""
    packed = getattr(error, "extra_info", None)
    if packed:
        with contextlib.suppress(ValueError, TypeError, msgpack.UnpackException):
            label, kind, text = msgpack.unpackb(packed, use_list=False)
            return Refused(str(text)) if label == "refused" else Remote(str(kind), str(text))
    # Of a long text with the contexts of client and server, the start says what happened.
    text = str(error).partition(". gRPC client debug context")[0].partition(". Detail:")[0]
    if isinstance(error, (flight.FlightUnauthenticatedError, flight.FlightUnauthorizedError, NotImplementedError)):
        return Refused(text)
    if isinstance(error, flight.FlightTimedOutError):
        return TimeoutError(text)
    return Broken(text)


# -- streams ---------------------------------------------------------------------------------------------------------


class Stream:
    """One side of a stream. Any thread may send; the threads that receive take turns."""

    def __init__(self, reader: Any, writer: Any, mark: bytes, hello: bytes, limit: int) -> None:
        self.hello = hello
        self._reader, self._writer, self._mark, self._limit = reader, writer, mark, limit
        self._sending, self._receiving = threading.Lock(), threading.Lock()
        self._ended = self._closed = self._heard_end = False

    def send(self, message: Message) -> None:
        """Blocks while the other side does not read and what lies between is full."""
        size = message.size if isinstance(message, pa.Buffer) else memoryview(message).nbytes
        if size > self._limit:
            raise Refused(f"a message of {size} bytes is longer than the limit of {self._limit}")
        with self._sending:
            if self._ended or self._closed:
                raise Broken("this side of the stream has ended")
            self._write(message if size else self._mark + _EMPTY)

    def receive(self) -> memoryview | None:
        """The next message; None once the other side has ended."""
        with self._receiving:
            if self._heard_end:
                return None
            found = self._read()
            if len(found) > _MARK + len(_EMPTY) or found[:_MARK] != self._mark:
                return found
            if len(found) > _MARK:
                return memoryview(b"")
            self._heard_end = True
            return None

    def end(self) -> None:
        """Nothing more comes from this side; it may still receive."""
        with self._sending:
            if not self._ended and not self._closed:
                self._ended = True
                self._write(self._mark)

    def close(self) -> None:
        """Give up the stream with all that is on its way; the other side gets `Broken`.

        At the client's side who waits here gets it too. At the server's, whoever waits does so until the client
        sends, ends or goes, and the client is told when the handler is done: gRPC has no other way.
        """
        self._closed = True

    def _read(self) -> memoryview:
        if self._closed:
            raise Broken("the stream was closed")
        try:
            chunk = self._reader.read_chunk()
        except StopIteration:
            raise Broken("the other side is gone") from None
        except _ERRORS as error:
            raise _translated(error) from None
        if chunk.data is not None or chunk.app_metadata is None:
            raise _refused("a message that is no stream's")
        if chunk.app_metadata.size > self._limit:
            raise _refused(f"a message of {chunk.app_metadata.size} bytes: the limit is {self._limit}")
        return memoryview(chunk.app_metadata).cast("B")

    def _write(self, message: Any) -> None:
        try:
            self._writer.write_metadata(message)
        except _ERRORS as error:
            raise _translated(error) from None


class _ServerStream(Stream):
    def release(self) -> None:
        """Afterwards nobody touches what gRPC frees when the handler has returned."""
        self._closed = True
        with self._sending, self._receiving:
            pass


class _ClientStream(Stream):
    def open(self) -> None:
        """The first message of each side is its mark: now there is a handler, and we are not refused."""
        self._write(self._mark)
        if self._read() != self._mark:
            raise Refused("the other side is no server of streams")

    def close(self) -> None:
        self._closed = True
        self._reader.cancel()
        with self._sending, self._receiving, contextlib.suppress(*_ERRORS):
            self._writer.close()


# -- the server ------------------------------------------------------------------------------------------------------


class Server:
    """Answers actions and serves streams, each on a thread of its own, from now until `stop`."""

    def __init__(
        self,
        security: Security,
        actions: Mapping[str, Action],
        streams: Mapping[str, Serve],
        host: str = "127.0.0.1",
        ports: range | None = None,
    ) -> None:
        handlers = _Handlers(security, dict(actions), dict(streams))
        self._flight = _listen(security, handlers, host, ports)
        self._port: int = self._flight.port
        self.address = f"{security.scheme}://{_bracketed(host)}:{self._port}"
        methods = [Endpoint(m.name) for m in flight.FlightMethod if m is not flight.FlightMethod.INVALID]
        named = [Endpoint("DO_ACTION", name) for name in actions] + [Endpoint("DO_EXCHANGE", name) for name in streams]
        self.endpoints: tuple[Endpoint, ...] = (*methods, *named)
        self._stopped = False
        # A process that ends waits for gRPC's threads, which wait for their clients.
        atexit.register(self.stop)

    def stop(self, patience: float = 5.0) -> None:
        """End all calls and streams. A handler that does not come back by then is left behind, and logged."""
        if self._stopped:
            return
        self._stopped = True
        atexit.unregister(self.stop)
        # In a thread, since it waits for all handlers, and a handler waits for its client.
        closing = threading.Thread(target=self._flight.shutdown, name="anabranch-flight-stop", daemon=True)
        closing.start()
        closing.join(min(GRACE, patience))
        for _ in range(max(1, int(patience / PULSE))):
            if not closing.is_alive():
                return
            _cut(self._port)  # each time: a connection may have been on its way
            closing.join(PULSE)
        log.warning("a handler of %s is still at work %g s after the stop", self.address, patience)


def _cut(port: int) -> None:
    """Shut down the connections to a port of ours: gRPC then ends their calls, which it cannot be told from Python."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  # these are no paths to go on with
        with contextlib.suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            # Of a copy, which stays what it is when gRPC closes its own.
            with socket.socket(fileno=os.dup(int(name))) as found:
                inet = found.family in (socket.AF_INET, socket.AF_INET6)
                if inet and found.getsockname()[1] == port and found.getpeername():
                    found.shutdown(socket.SHUT_RDWR)


def _listen(security: Security, handlers: _Handlers, host: str, ports: range | None) -> _Flight:
    tls = security.tls
    if tls is not None and (tls.certificate is None or tls.key is None):
        raise ValueError("a server with TLS needs a certificate and its key")
    certificates = None if tls is None else [(tls.certificate, tls.key)]
    for port in (0,) if ports is None else ports:
        # gRPC complains aloud about a port that is taken.
        if port and not _is_free(host, port):
            continue
        try:
            return _Flight(
                handlers,
                f"{security.scheme}://{_bracketed(host)}:{port}",
                tls_certificates=certificates,
                middleware={"token": _Door(security)},
            )
        except _ERRORS as error:
            if port == 0:
                raise OSError(f"cannot listen at {host}: {error}") from None
    raise OSError(f"all ports of {host} from {ports} are taken: give a wider range")


def _is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class _Door(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Called by Flight before any handler, for every method."""

    def __init__(self, security: Security) -> None:
        super().__init__()
        self._security = security

    def start_call(self, info: Any, headers: dict[str, list[str | bytes]]) -> None:
        if not self._security.admits(headers):
            log.warning("refused %s: %s", info.method.name, "a wrong token" if HEADER in headers else "no token")
            raise flight.FlightUnauthenticatedError("this call does not carry the token of the run")


class _Handlers:
    """Finds the handler of a call, guards it, and tells the client what it raised."""

    def __init__(self, security: Security, actions: dict[str, Action], streams: dict[str, Serve]) -> None:
        self._limit, self._actions, self._streams = security.max_message, actions, streams

    def act(self, name: str, body: Any) -> bytes:
        with _telling(f"the action {short(name)}") as what:
            action = self._actions.get(name)
            if action is None:
                raise _refused(f"{what}: there is none of this name")
            self._refuse_long(what, body.size)
            answer = action(body.to_pybytes())
            if len(answer) > self._limit:
                raise ValueError(f"the answer has {len(answer)} bytes, and the limit is {self._limit}")
        return answer

    def exchange(self, command: bytes | None, reader: Any, writer: Any) -> None:
        with _telling("the opening of a stream"):
            mark, name, hello = _opening(command)
        with _telling(f"the stream {short(name)}") as what:
            serve = self._streams.get(name)
            if serve is None:
                raise _refused(f"{what}: there is none of this name")
            self._refuse_long(what, len(hello))
            stream = _ServerStream(reader, writer, mark, hello, self._limit)
            try:
                if stream._read() != mark:
                    raise _refused(f"{what}: it does not begin with its mark")
                stream._write(mark)
                serve(stream)
                if stream._closed:
                    raise Broken("the stream was closed")
                stream.end()
            finally:
                stream.release()

    def _refuse_long(self, what: str, size: int) -> None:
        if size > self._limit:
            raise _refused(f"{what}: {size} bytes, and the limit is {self._limit}")


@contextlib.contextmanager
def _telling(what: str) -> Iterator[str]:
    """Lets the client know what is raised inside."""
    try:
        yield what
    except Broken as error:
        log.info("%s has ended: %s", what, error)
        raise flight.FlightUnavailableError(str(error)) from None
    except Refused as error:
        raise _error("refused", "", str(error)) from None
    except Exception as error:
        log.exception("%s raised", what)
        raise _error("remote", type(error).__name__, _text(error)) from None


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


class _Flight(flight.FlightServerBase):  # type: ignore[misc]
    """Flight's side: all its methods are here, and those that are not used are refused."""

    def __init__(self, handlers: _Handlers, location: str, **options: Any) -> None:
        self._handlers = handlers  # before calls can come
        super().__init__(location, **options)

    def do_action(self, context: Any, action: Any) -> list[Any]:
        return [pa.py_buffer(self._handlers.act(action.type, action.body))]

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        self._handlers.exchange(descriptor.command, reader, writer)

    def _refuse(self, *arguments: Any) -> NoReturn:
        log.warning("refused a method of Flight that is not used")
        raise NotImplementedError("actions and streams are all there is")

    list_flights = get_flight_info = get_schema = do_get = do_put = list_actions = _refuse


# -- the client ------------------------------------------------------------------------------------------------------


class Client:
    """Calls one server; any thread may. Connects when first used."""

    def __init__(self, address: str, security: Security) -> None:
        self.address = address
        self._security = security
        roots = None if security.tls is None else security.tls.roots
        # A little more than a message, for what is around it. What gRPC refuses it says nothing about, so only as
        # the last resort.
        limit = min(security.max_message + (1 << 20), (1 << 31) - 1)
        self._flight = flight.FlightClient(
            address, tls_root_certs=roots, generic_options=[("grpc.max_receive_message_length", limit)]
        )

    def call(self, action: str, body: bytes = b"", timeout: float | None = None) -> bytes:
        """The answer of an action; `TimeoutError` if it takes longer than so many seconds."""
        self._refuse_long(body)
        try:
            options = flight.FlightCallOptions(timeout=timeout, headers=self._security.headers)
            answers = list(self._flight.do_action(flight.Action(action, body), options))
        except _ERRORS as error:
            raise _translated(error) from None
        if len(answers) != 1:
            raise Broken(f"expected one answer, got {len(answers)}")
        return cast(bytes, answers[0].body.to_pybytes())

    def open(self, stream: str, hello: bytes = b"") -> Stream:
        """A stream to the handler of this name, which gets the hello; comes back when the handler has begun."""
        self._refuse_long(hello)
        mark = secrets.token_bytes(_MARK)
        command = msgpack.packb((mark, stream, hello))
        try:
            options = flight.FlightCallOptions(headers=self._security.headers)
            writer, reader = self._flight.do_exchange(flight.FlightDescriptor.for_command(command), options)
        except _ERRORS as error:
            raise _translated(error) from None
        opened = _ClientStream(reader, writer, mark, hello, self._security.max_message)
        try:
            opened.open()
        except BaseException:
            opened.close()
            raise
        return opened

    def close(self) -> None:
        """Close the streams first."""
        self._flight.close()

    def _refuse_long(self, body: bytes) -> None:
        if len(body) > self._security.max_message:
            raise Refused(f"{len(body)} bytes are more than the limit of {self._security.max_message}")


def _opening(command: bytes | None) -> tuple[bytes, str, bytes]:
    """What the first message of a stream says: its mark, the name of the handler, the hello."""
    try:
        mark, name, hello = msgpack.unpackb(command or b"", use_list=False)
    except Exception:
        raise _refused("a stream without a name") from None
    if not (type(mark) is bytes and len(mark) == _MARK and type(name) is str and type(hello) is bytes):
        raise _refused("a stream without a name")
    return mark, name, hello
