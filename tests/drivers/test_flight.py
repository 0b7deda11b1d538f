"""Nobody without the token gets anything, whatever they call; streams keep their messages, and end when they must."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
import pytest
from pyarrow import flight

from anabranch.drivers.flight import Broken, Client, Endpoint, Refused, Remote, Security, Server, Stream, Tls

ROOT = Path(__file__).parents[2]
LIMIT = 1 << 20
SECURITY = Security("the-token-of-this-test", max_message=LIMIT)
SOON = 2.0  # seconds; it is milliseconds on an idle machine
PATIENCE = 20.0

# -- handlers ----------------------------------------------------------------------------------------------------


class Counted:
    """Handlers that count how often they were reached."""

    def __init__(self) -> None:
        self.count = 0
        self.seen: list[Any] = []

    def reverse(self, body: bytes) -> bytes:
        self.count += 1
        return body[::-1]

    def fail(self, body: bytes) -> bytes:
        raise KeyError("no such thing " + "x" * 5000)

    def too_long(self, body: bytes) -> bytes:
        return bytes(LIMIT + 1)

    def echo(self, stream: Stream) -> None:
        self.count += 1
        while (message := stream.receive()) is not None:
            stream.send(message)

    def fail_stream(self, stream: Stream) -> None:
        stream.receive()
        raise ZeroDivisionError("by the handler")

    def record(self, stream: Stream) -> None:
        try:
            while (message := stream.receive()) is not None:
                self.seen.append(bytes(message))
            self.seen.append(None)
        except Exception as error:
            self.seen.append(error)
            raise

    def close(self, stream: Stream) -> None:
        stream.receive()
        stream.close()

    def start(self, security: Security = SECURITY, **options: Any) -> Server:
        actions = {"reverse": self.reverse, "fail": self.fail, "too long": self.too_long}
        streams = {"echo": self.echo, "fail": self.fail_stream, "record": self.record, "close": self.close}
        return Server(security, actions, streams, **options)


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def server(counted: Counted) -> Iterator[Server]:
    server = counted.start()
    yield server
    server.stop()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    client = Client(server.address, SECURITY)
    yield client
    client.close()


def wait_until(what: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.005)


# -- everything that can be called, called as a stranger would ---------------------------------------------------

Raw = flight.FlightClient
Options = flight.FlightCallOptions


class Handshake(flight.ClientAuthHandler):
    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._body = body

    def authenticate(self, outgoing: Any, incoming: Any) -> None:
        outgoing.write(self._body)
        incoming.read()

    def get_token(self) -> bytes:
        return b""


def do_action(raw: Raw, options: Options, name: str, body: bytes) -> None:
    list(raw.do_action(flight.Action(name, body), options))


def do_exchange(raw: Raw, options: Options, name: str, body: bytes) -> None:
    mark = bytes(16)
    command = msgpack.packb((mark, name, body)) if name else body
    writer, reader = raw.do_exchange(flight.FlightDescriptor.for_command(command), options)
    try:
        writer.write_metadata(mark)
        reader.read_chunk()
        writer.write_metadata(body)
        reader.read_chunk()
    finally:
        with contextlib.suppress(pa.ArrowException, OSError, NotImplementedError):
            writer.close()


def do_put(raw: Raw, options: Options, name: str, body: bytes) -> None:
    writer, reader = raw.do_put(flight.FlightDescriptor.for_command(body), pa.schema([]), options)
    try:
        writer.write_metadata(body)
        reader.read()
        writer.done_writing()
    finally:
        writer.close()


def handshake(raw: Raw, options: Options, name: str, body: bytes) -> None:
    raw.authenticate(Handshake(body), options)


RAW: dict[str, Callable[[Raw, Options, str, bytes], Any]] = {
    "HANDSHAKE": handshake,
    "LIST_FLIGHTS": lambda raw, options, name, body: list(raw.list_flights(body, options)),
    "GET_FLIGHT_INFO": lambda raw, options, name, body: raw.get_flight_info(
        flight.FlightDescriptor.for_command(body), options
    ),
    "GET_SCHEMA": lambda raw, options, name, body: raw.get_schema(flight.FlightDescriptor.for_command(body), options),
    "DO_GET": lambda raw, options, name, body: raw.do_get(flight.Ticket(body), options).read_all(),
    "DO_PUT": do_put,
    "DO_ACTION": do_action,
    "LIST_ACTIONS": lambda raw, options, name, body: raw.list_actions(options),
    "DO_EXCHANGE": do_exchange,
}
CALLING = {"authenticate", "authenticate_basic_token"} | {m.lower() for m in RAW if m != "HANDSHAKE"}
NOT_CALLING = {"as_async", "close", "connect", "supports_async", "wait_for_available"}  # the last lists flights

REFUSALS = (flight.FlightUnauthenticatedError, flight.FlightServerError, NotImplementedError, OSError)


def refusal(address: str, headers: list[tuple[bytes, bytes]], endpoint: Endpoint, body: bytes) -> str:
    """The text with which a call is refused."""
    with Raw(address) as raw, pytest.raises(REFUSALS) as caught:
        RAW[endpoint.method](raw, Options(timeout=PATIENCE, headers=headers), endpoint.name, body)
    return f"{type(caught.value).__name__}: {caught.value}"


def test_every_method_of_flight_is_known_here() -> None:
    assert set(RAW) == {m.name for m in flight.FlightMethod} - {"INVALID"}
    assert {n for n in dir(Raw) if not n.startswith("_")} == CALLING | NOT_CALLING


def test_a_server_lists_what_can_be_called(server: Server) -> None:
    named = {e for e in server.endpoints if e.name}
    assert {e.method for e in server.endpoints if not e.name} == set(RAW)
    assert named == {Endpoint("DO_ACTION", n) for n in ("reverse", "fail", "too long")} | {
        Endpoint("DO_EXCHANGE", n) for n in ("echo", "fail", "record", "close")
    }


WRONG = {
    "no token": [],
    "an empty token": [(b"authorization", b"")],
    "a wrong token": [(b"authorization", b"Bearer the-token-of-this-tesT")],
    "a token cut off": [(b"authorization", b"Bearer the-token-of-this-tes")],
    "the token alone": [(b"authorization", b"the-token-of-this-test")],
    "a token and another": [*SECURITY.headers, (b"authorization", b"Bearer x")],
    "the token elsewhere": [(b"token", SECURITY.headers[0][1])],
}
BODIES = {
    "nothing": b"",
    "random bytes": random.Random(1).randbytes(1000),
    "too many bytes": bytes(LIMIT + 1),
}


@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_nobody_without_the_token_gets_anything(
    server: Server, counted: Counted, caplog: pytest.LogCaptureFixture, headers: Any, body: bytes
) -> None:
    for endpoint in server.endpoints:
        caplog.clear()
        text = refusal(server.address, headers, endpoint, body)
        assert "unauthenticated" in text.lower(), (endpoint, text)
        assert f"refused {endpoint.method}" in caplog.text
    assert counted.count == 0 and not counted.seen
    assert SECURITY.token not in caplog.text


def test_with_the_token_what_is_not_used_is_refused(
    server: Server, counted: Counted, caplog: pytest.LogCaptureFixture
) -> None:
    for endpoint in server.endpoints:
        if not endpoint.name:
            caplog.clear()
            text = refusal(server.address, SECURITY.headers, endpoint, BODIES["random bytes"])
            assert "Unauthenticated" not in text
            # gRPC refuses a handshake by itself: there is no handler for it.
            assert "refused" in caplog.text or endpoint.method == "HANDSHAKE", endpoint
    assert counted.count == 0 and not counted.seen


def test_with_the_token_what_is_too_long_is_refused(
    server: Server, counted: Counted, caplog: pytest.LogCaptureFixture
) -> None:
    for endpoint in server.endpoints:
        caplog.clear()
        refusal(server.address, SECURITY.headers, endpoint, BODIES["too many bytes"])
        assert "refused" in caplog.text or endpoint.method == "HANDSHAKE", endpoint
    assert counted.count == 0 and not counted.seen


def test_a_long_message_ends_a_stream_and_no_more(client: Client, server: Server, counted: Counted) -> None:
    recorded = client.open("record")
    recorded._limit = LIMIT * 2  # as a stranger's would be
    recorded.send(b"short")
    recorded.send(bytes(LIMIT + 1))
    with pytest.raises(Refused, match=f"a message of {LIMIT + 1} bytes: the limit is {LIMIT}"):
        recorded.receive()
    recorded.close()
    assert counted.seen[0] == b"short" and isinstance(counted.seen[1], Refused)
    assert client.call("reverse", b"ab") == b"ba"


def test_record_batches_are_refused(client: Client, counted: Counted, server: Server) -> None:
    stream = client.open("record")
    schema = pa.schema([("x", pa.int64())])
    stream._writer.begin(schema)
    stream._writer.write_batch(pa.record_batch([pa.array([1])], schema=schema))
    with pytest.raises(Refused, match="no stream's"):
        stream.receive()
    stream.close()


def test_what_is_too_long_is_not_sent(client: Client) -> None:
    with pytest.raises(Refused, match="more than the limit"):
        client.call("reverse", bytes(LIMIT + 1))
    with pytest.raises(Refused, match="more than the limit"):
        client.open("echo", bytes(LIMIT + 1))
    stream = client.open("echo")
    with pytest.raises(Refused, match="longer than the limit"):
        stream.send(bytes(LIMIT + 1))
    stream.close()


@pytest.mark.parametrize("name", ["", "nobody", "\0", "re\u00e9", "x" * 100_000])
def test_names_of_nobody_are_refused(client: Client, name: str) -> None:
    with pytest.raises(Refused, match="there is none of this name"):
        client.call(name)
    with pytest.raises(Refused, match="there is none of this name"):
        client.open(name)
    assert client.call("reverse", b"12") == b"21"


def test_a_client_with_a_wrong_token_is_told(server: Server) -> None:
    client = Client(server.address, Security("other"))
    for call in (lambda: client.call("reverse"), lambda: client.open("echo")):
        with pytest.raises(Refused, match="this call does not carry the token of the run"):
            call()
    client.close()


def test_no_text_shows_the_token_or_the_key() -> None:
    assert "secret" not in repr(Security("secret", Tls(b"c", b"secret")))
    assert len(Security.of_a_run().token) >= 40 and Security.of_a_run() != Security.of_a_run()


@pytest.mark.parametrize("given", [[], [b"\xff"], ["\udcff"], ["Bearer é"], ["bearer the-token-of-this-test"]])
def test_headers_of_any_kind_are_compared(given: list[str | bytes]) -> None:
    assert not SECURITY.admits({"authorization": given})
    assert SECURITY.admits({"authorization": ["Bearer the-token-of-this-test"]})


@pytest.mark.parametrize("token", ["", "a\nb", "é"])
def test_a_token_can_be_a_header(token: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        Security(token)


def from_another_user(address: str, endpoints: list[list[str]]) -> None:
    """Run by a process of its own: gives up its rights, then calls everything."""
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    for endpoint in endpoints:
        for headers in WRONG.values():
            for body in (b"", b"\xff" * 100):
                print(refusal(address, headers, Endpoint(*endpoint), body).partition(":")[0])


def in_process(code: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, cwd=ROOT,
        **options,
    )  # fmt: skip


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a process of another user")
def test_another_user_gets_nothing(server: Server, counted: Counted) -> None:
    code = (
        "import json, sys; from tests.drivers.test_flight import from_another_user;"
        "from_another_user(sys.argv[1], json.loads(sys.argv[2]))"
    )
    with in_process(code, server.address, json.dumps(server.endpoints)) as process:
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert len(out.split()) == len(server.endpoints) * len(WRONG) * 2
    assert counted.count == 0 and not counted.seen


# -- where it listens --------------------------------------------------------------------------------------------


def test_only_this_machine_reaches_a_server(server: Server) -> None:
    assert server.address.startswith("grpc://127.0.0.1:")
    port = int(server.address.rpartition(":")[2])
    names = socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET, socket.SOCK_STREAM)
    others = {name[4] for name in names if not name[4][0].startswith("127.")}
    for other in others:
        with pytest.raises(OSError), socket.create_connection(other, timeout=SOON):
            pass


def test_ports_come_from_the_range(counted: Counted) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        first = taken.getsockname()[1]
        servers = [counted.start(ports=range(first, min(first + 40, 65536))) for _ in range(2)]
        try:
            ports = [int(s.address.rpartition(":")[2]) for s in servers]
            assert first < ports[0] < ports[1] < first + 40
            with pytest.raises(OSError, match="are taken: give a wider range"):
                counted.start(ports=range(first, first + 1))
        finally:
            for server in servers:
                server.stop()


def test_a_host_that_is_not_ours(counted: Counted) -> None:
    with pytest.raises(OSError, match=r"cannot listen at 192\.0\.2\.1"):
        counted.start(host="192.0.2.1")


# -- actions -----------------------------------------------------------------------------------------------------


def test_an_action(client: Client, counted: Counted) -> None:
    assert client.call("reverse") == b""
    assert client.call("reverse", b"abc", timeout=PATIENCE) == b"cba"
    assert client.call("reverse", bytes(LIMIT)) == bytes(LIMIT)
    assert counted.count == 3


def test_what_an_action_raises(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        with pytest.raises(Remote, match="no such thing") as caught:
            client.call("fail")
        assert caught.value.kind == "KeyError" and len(caught.value.text) == 1000
    assert "the action 'fail' raised" in caplog.text and "Traceback" in caplog.text
    with pytest.raises(Remote, match=f"the answer has {LIMIT + 1} bytes"):
        client.call("too long")
    assert client.call("reverse", b"12") == b"21"


def test_an_action_that_takes_too_long() -> None:
    goes_on = threading.Event()
    server = Server(SECURITY, {"wait": lambda body: b"%d" % goes_on.wait(PATIENCE)}, {})
    client = Client(server.address, SECURITY)
    with pytest.raises(TimeoutError):
        client.call("wait", timeout=0.1)
    goes_on.set()
    assert client.call("wait") == b"1"
    client.close()
    server.stop()


def test_there_is_no_server() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        client = Client(f"grpc://127.0.0.1:{free.getsockname()[1]}", SECURITY)
        for call in (lambda: client.call("reverse"), lambda: client.open("echo")):
            with pytest.raises(Broken):
                call()
        client.close()


# -- streams -----------------------------------------------------------------------------------------------------


def test_messages_keep_their_order_and_their_bytes(client: Client) -> None:
    stream = client.open("echo", b"hello")
    chance = random.Random(2)
    messages = [chance.randbytes(chance.choice([0, 0, 1, 15, 16, 17, 18, 1000, 100_000, LIMIT])) for _ in range(200)]
    kinds: list[Callable[[bytes], Any]] = [bytes, memoryview, pa.py_buffer]

    def send() -> None:
        for i, message in enumerate(messages):
            stream.send(kinds[i % 3](message))
        stream.end()

    sender = threading.Thread(target=send)
    sender.start()
    assert [bytes(stream.receive() or b"") for _ in messages] == messages
    assert stream.receive() is None and stream.receive() is None
    sender.join()
    with pytest.raises(Broken, match="has ended"):
        stream.send(b"x")
    stream.end()
    stream.close()
    stream.close()


def test_hello_and_names_reach_the_handler() -> None:
    seen = []
    server = Server(SECURITY, {}, {"größe": lambda stream: seen.append(stream.hello)})
    client = Client(server.address, SECURITY)
    for hello in (b"", b"\0\xff" * 1000):
        stream = client.open("größe", hello)
        assert stream.receive() is None and seen[-1] == hello == stream.hello
        stream.close()
    client.close()
    server.stop()


def test_one_side_ends_and_the_other_goes_on() -> None:
    def serve(stream: Stream) -> None:
        stream.send(b"all I have to say")
        stream.end()
        heard = []
        while (message := stream.receive()) is not None:
            heard.append(bytes(message))
        told.append(heard)

    told: list[list[bytes]] = []
    server = Server(SECURITY, {}, {"half": serve})
    client = Client(server.address, SECURITY)
    stream = client.open("half")
    assert stream.receive() == b"all I have to say" and stream.receive() is None
    stream.send(b"1")
    stream.send(b"2")
    stream.end()
    wait_until(lambda: told)
    assert told == [[b"1", b"2"]]
    stream.close()
    client.close()
    server.stop()


def test_many_threads_send_over_one_stream(client: Client, counted: Counted) -> None:
    stream = client.open("record")
    sent = [[bytes([t]) * (1000 + 37 * i) for i in range(25)] for t in range(8)]
    threads = [threading.Thread(target=lambda ms=ms: [stream.send(m) for m in ms]) for ms in sent]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.end()
    wait_until(lambda: counted.seen and counted.seen[-1] is None)
    stream.close()
    assert len(counted.seen) == 201
    for t, messages in enumerate(sent):
        assert [m for m in counted.seen[:-1] if m[0] == t] == messages


def test_what_a_stream_raises(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    stream = client.open("fail")
    stream.send(b"x")
    with pytest.raises(Remote, match="ZeroDivisionError: by the handler"):
        stream.receive()
    stream.close()
    assert "the stream 'fail' raised" in caplog.text
    assert client.call("reverse", b"12") == b"21"


def test_the_server_closes_a_stream(client: Client) -> None:
    stream = client.open("close")
    stream.send(b"x")
    with pytest.raises(Broken, match="closed"):
        stream.receive()
    stream.close()


def test_who_waits_at_a_stream_that_is_closed_gets_broken(client: Client, counted: Counted) -> None:
    stream = client.open("record")
    stream.send(b"x")
    found: list[Exception] = []

    def receive() -> None:
        try:
            stream.receive()
        except Exception as error:
            found.append(error)

    waiting = threading.Thread(target=receive)
    waiting.start()
    time.sleep(0.05)
    stream.close()
    waiting.join(SOON)
    assert isinstance(found[0], Broken)
    wait_until(lambda: len(counted.seen) == 2)
    assert isinstance(counted.seen[1], Broken)


def test_who_sends_too_fast_is_held_back_and_nobody_else(client: Client, server: Server) -> None:
    goes_on = threading.Event()
    slow = Server(SECURITY, {}, {"slow": lambda stream: (goes_on.wait(PATIENCE), Counted().record(stream))[0]})
    other = Client(slow.address, SECURITY)
    stream, sent = other.open("slow"), [0]

    def send() -> None:
        for _ in range(100):
            stream.send(bytes(LIMIT))
            sent[0] += 1
        stream.end()

    sender = threading.Thread(target=send)
    sender.start()
    last = -1
    while last != sent[0]:
        last = sent[0]
        time.sleep(0.5)
    assert sent[0] < 90
    echo = client.open("echo")
    echo.send(b"x")
    assert echo.receive() == b"x"
    echo.close()
    goes_on.set()
    assert stream.receive() is None
    sender.join(PATIENCE)
    stream.close()
    other.close()
    slow.stop()


# -- ends --------------------------------------------------------------------------------------------------------


def test_stop_ends_with_open_streams(counted: Counted, caplog: pytest.LogCaptureFixture) -> None:
    server = counted.start()
    clients = [Client(server.address, SECURITY) for _ in range(3)]
    streams = [client.open("record") for client in clients for _ in range(3)]
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < SOON
    for stream in streams:
        with pytest.raises(Broken):
            stream.receive()
        stream.close()
    assert [type(x) for x in counted.seen] == [Broken] * 9
    for client in clients:
        with pytest.raises(Broken):
            client.call("reverse")
        client.close()
    server.stop()
    assert "still at work" not in caplog.text


def test_stop_does_not_wait_for_ever_for_a_handler(caplog: pytest.LogCaptureFixture) -> None:
    goes_on = threading.Event()
    server = Server(SECURITY, {}, {"busy": lambda stream: goes_on.wait(PATIENCE) and None})
    client = Client(server.address, SECURITY)
    stream = client.open("busy")
    start = time.monotonic()
    server.stop(patience=0.5)
    assert time.monotonic() - start < SOON and "still at work" in caplog.text
    stream.close()
    client.close()
    goes_on.set()


def test_stop_leaves_other_connections_alone(client: Client, counted: Counted) -> None:
    kept = client.open("echo")
    other = counted.start()
    elsewhere = Client(other.address, SECURITY)
    stream = elsewhere.open("echo")
    other.stop()
    kept.send(b"x")
    assert kept.receive() == b"x"
    for one in (kept, stream, elsewhere):
        one.close()


SERVER = """
import sys
from tests.drivers.test_flight import Counted
server = Counted().start()
print(server.address, flush=True)
sys.stdin.read()
server.stop()
"""

CLIENT = """
import sys
from tests.drivers.test_flight import SECURITY, Client
stream = Client(sys.argv[1], SECURITY).open("record")
stream.send(b"x")
print("sent", flush=True)
stream.receive()
"""


@pytest.fixture
def elsewhere() -> Iterator[subprocess.Popen[str]]:
    with in_process(SERVER) as process:
        yield process
        process.kill()


def test_a_server_in_another_process(elsewhere: subprocess.Popen[str]) -> None:
    assert elsewhere.stdout is not None
    client = Client(elsewhere.stdout.readline().strip(), SECURITY)
    stream = client.open("echo")
    for i in range(100):
        stream.send(b"%d" % i)
    assert [bytes(stream.receive() or b"") for _ in range(100)] == [b"%d" % i for i in range(100)]
    stream.end()
    assert stream.receive() is None
    stream.close()
    client.close()
    elsewhere.communicate(timeout=PATIENCE)
    assert elsewhere.returncode == 0


def test_a_server_that_is_killed(elsewhere: subprocess.Popen[str]) -> None:
    assert elsewhere.stdout is not None
    client = Client(elsewhere.stdout.readline().strip(), SECURITY)
    stream = client.open("echo")
    elsewhere.send_signal(signal.SIGKILL)
    start = time.monotonic()
    with pytest.raises(Broken):
        stream.receive()
    assert time.monotonic() - start < SOON
    with pytest.raises(Broken):
        stream.send(b"x")
    stream.close()
    with pytest.raises(Broken):
        client.call("reverse")
    client.close()


def test_a_client_that_is_killed(server: Server, counted: Counted) -> None:
    with in_process(CLIENT, server.address) as process:
        assert process.stdout is not None and process.stdout.readline() == "sent\n"
        wait_until(lambda: counted.seen)
        process.kill()
        start = time.monotonic()
        wait_until(lambda: len(counted.seen) == 2)
        assert time.monotonic() - start < SOON
    assert isinstance(counted.seen[1], Broken)


@pytest.mark.parametrize("last", ["", "import os; os._exit(0)", "raise SystemExit(0)", "server.stop()"])
def test_a_process_ends_though_everything_is_open(last: str) -> None:
    code = f"""
import threading
from tests.drivers.test_flight import SECURITY, Client, Counted
server = Counted().start()
client = Client(server.address, SECURITY)
stream = client.open("echo")
def receive():
    try:
        stream.receive()
    except ConnectionError:
        pass
threading.Thread(target=receive, daemon=True).start()
{last}
"""
    with in_process(code, stderr=subprocess.PIPE) as process:
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 0, errors


# -- TLS ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext".split()
    subprocess.run(
        [*command, "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    return Tls(certificate.read_bytes(), key.read_bytes(), certificate.read_bytes())


def test_tls(counted: Counted, tls: Tls) -> None:
    secure = Security(SECURITY.token, tls)
    server = counted.start(secure)
    assert server.address.startswith("grpc+tls://127.0.0.1:")
    client = Client(server.address, secure)
    assert client.call("reverse", b"12") == b"21"
    stream = client.open("echo")
    stream.send(b"x")
    assert stream.receive() == b"x"
    stream.close()
    client.close()
    plain = server.address.replace("grpc+tls", "grpc")
    for address, security in (
        (server.address, Security(SECURITY.token, Tls())),
        (plain, SECURITY),
        (server.address, Security("other", tls)),
    ):
        stranger = Client(address, security)
        with pytest.raises((Broken, Refused)):
            stranger.call("reverse", timeout=PATIENCE)
        with pytest.raises((Broken, Refused)):
            stranger.open("echo")
        stranger.close()
    assert counted.count == 2
    server.stop()


def test_a_server_with_tls_needs_its_certificate(counted: Counted) -> None:
    with pytest.raises(ValueError, match="needs a certificate and its key"):
        counted.start(Security("t", Tls(roots=b"x")))


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
