"""Everything that can be called in a run's processes, called by those who may not, and by those who talk nonsense."""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.drivers.flight import Client, Endpoint, Security, Stream
from anabranch.drivers.host_messages import Goodbye, Hello, Ping, Setup
from anabranch.drivers.letters import Letters
from anabranch.drivers.resident import GREETING, Resident, versions
from anabranch.engines.embedded import App
from anabranch.runtime.messages import End, Version
from tests.conformance.engines import nursery
from tests.drivers.processes.tools import LATE, ROOT, pids, start
from tests.drivers.test_flight import RAW, Options, Raw, refusal

WRONG: dict[str, list[tuple[bytes, bytes]]] = {
    "no token": [],
    "an empty token": [(b"authorization", b"")],
    "a wrong token": [(b"authorization", b"Bearer " + b"x" * 43)],
}
NONSENSE = random.Random(5).randbytes(1000)
# Every stream of a run's servers, and what is said here of what it does with nonsense. One that is missing is a test
# that is missing.
STREAMS = {"worker", "peer", "stage", "staged", "results"}


class Run:
    """An app, and what its servers can be asked: the fleet's, and that of each worker."""

    def __init__(self) -> None:
        self.app: Any = start()
        self.app.come.many({"k": list(range(100))})
        driver = self.app._engine.driver
        self.security: Security = driver._fleet.security
        self.fleet: str = driver._fleet.server.address
        self.workers: list[str] = [driver._fleet.links[w].address for w in range(2)]
        self.endpoints: dict[str, tuple[Endpoint, ...]] = {self.fleet: driver._fleet.server.endpoints}
        of_workers = endpoints_of_a_worker(self.app)
        self.endpoints |= dict.fromkeys(self.workers, of_workers)

    def all(self) -> list[tuple[str, Endpoint]]:
        return [(address, endpoint) for address, found in self.endpoints.items() for endpoint in found]

    def state(self) -> dict[int, int]:
        return dict(self.app.state.people.copy().items())

    def is_as_before(self) -> bool:
        return (
            self.state() == dict.fromkeys(range(100), 1) and self.app.build.many({"k": [1], "house": [1]}) is not None
        )


def endpoints_of_a_worker(app: App) -> tuple[Endpoint, ...]:
    """A worker that is sent away by the fleet, as its number is taken, has the server of any other."""
    fleet = app._engine.driver._fleet
    resident = Resident(0, fleet.server.address, fleet.security)
    try:
        return resident._server.endpoints
    finally:
        resident.run()


@pytest.fixture(scope="module")
def running() -> Iterator[Run]:
    found = Run()
    yield found
    assert found.is_as_before(), "something that was refused has changed the state"
    found.app.stop()


def test_all_streams_of_a_run_are_known_here(running: Run) -> None:
    named = {endpoint.name for _, endpoint in running.all() if endpoint.name}
    assert named == STREAMS
    assert {endpoint.method for _, endpoint in running.all()} == set(RAW)
    assert not any(e.method == "DO_ACTION" and e.name for _, e in running.all())


@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("body", [b"", NONSENSE], ids=["nothing", "random bytes"])
def test_nobody_without_the_token_gets_anything(running: Run, headers: Any, body: bytes) -> None:
    for address, endpoint in running.all():
        text = refusal(address, headers, endpoint, body)
        assert "unauthenticated" in text.lower(), (endpoint, text)
    assert running.state() == dict.fromkeys(range(100), 1)


def test_refusals_are_logged_without_the_token(running: Run, caplog: pytest.LogCaptureFixture) -> None:
    for endpoint in running.endpoints[running.fleet]:
        caplog.clear()
        refusal(running.fleet, WRONG["a wrong token"], endpoint, NONSENSE)
        assert f"refused {endpoint.method}: a wrong token" in caplog.text
        assert running.security.token not in caplog.text


def test_methods_that_are_not_used_are_refused_with_the_token_too(running: Run) -> None:
    for address, endpoint in running.all():
        if not endpoint.name:
            assert "Unauthenticated" not in refusal(address, running.security.headers, endpoint, NONSENSE)


def test_what_is_too_long_is_refused(running: Run) -> None:
    body = bytes(running.security.max_message + 1)
    for address in (running.fleet, running.workers[0]):
        for endpoint in running.endpoints[address]:
            if endpoint.name or endpoint.method == "DO_ACTION":
                refusal(address, running.security.headers, endpoint, body)
    assert running.state() == dict.fromkeys(range(100), 1)


def test_streams_that_are_opened_with_nonsense(running: Run) -> None:
    """With the token: the handler is reached, and ends, or says what it does not understand."""
    for address, endpoint in running.all():
        if endpoint.name:
            with Raw(address) as raw:
                options = Options(timeout=5.0, headers=running.security.headers)
                for body in (NONSENSE, b"\xc1" + b"\xff" * 8, b"\x81\x20\x93"):
                    try:
                        RAW[endpoint.method](raw, options, endpoint.name, body)
                    except Exception:
                        continue
    assert running.state() == dict.fromkeys(range(100), 1)
    assert not running.app._engine.driver.closed


def open_stream(running: Run, address: str, name: str, hello: bytes) -> tuple[Client, Stream]:
    client = Client(address, running.security)
    return client, client.open(name, hello)


def ends(client: Client, stream: Stream) -> bool:
    """Does the other side end the stream, whatever it thinks of it?"""
    try:
        while stream.receive() is not None:
            pass
    except Exception:
        pass
    finally:
        stream.close()
        client.close()
    return True


HELLOS: dict[str, bytes] = {
    "nothing": b"",
    "random bytes": NONSENSE,
    "no hello": GREETING.encode(Ping(1)),
    "a value": GREETING.encode((1, 2, 3)),
    "a setup": GREETING.encode(Setup(None, (), ())),
    "a number that is taken": GREETING.encode(Hello(0, "grpc://127.0.0.1:1", versions())),
    "a number that nobody has": GREETING.encode(Hello(2, "grpc://127.0.0.1:1", versions())),
    "a negative number": GREETING.encode(Hello(-1, "grpc://127.0.0.1:1", versions())),
    "a number of another type": GREETING.encode(Hello(True, "grpc://127.0.0.1:1", versions())),
    "a text as number": GREETING.encode(Hello("0", "grpc://127.0.0.1:1", versions())),  # type: ignore[arg-type]
    "other versions": GREETING.encode(Hello(1, "grpc://127.0.0.1:1", (("python", "2.7"),))),
    "no versions": GREETING.encode(Hello(1, "grpc://127.0.0.1:1", 7)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("hello", HELLOS.values(), ids=HELLOS.keys())
def test_workers_that_nobody_expects_are_sent_away(
    running: Run, hello: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert ends(*open_stream(running, running.fleet, "worker", hello))
    assert "sent away" in caplog.text or "raised" in caplog.text
    assert running.security.token not in caplog.text
    assert not running.app._engine.driver.closed and running.app.state.people[1] == 1


PEERS: dict[str, bytes] = {
    "nothing": b"",
    "a long one": bytes(10_000),
    "itself": (0).to_bytes(4, "big"),
    "nobody": (9).to_bytes(4, "big"),
}


@pytest.mark.parametrize("hello", PEERS.values(), ids=PEERS.keys())
def test_peers_that_are_none_are_sent_away(running: Run, hello: bytes) -> None:
    assert ends(*open_stream(running, running.workers[0], "peer", hello))
    assert running.app.build(1, 1000) >= 1


def test_a_peer_that_talks_nonsense(running: Run) -> None:
    """Under the number of a real one, with the token: its stream ends, and the run goes on."""
    wire = running.app._engine.driver._fleet._wire
    messages = [
        NONSENSE,
        b"",
        wire.encode(Goodbye()),
        wire.encode(Ping(0)),
        wire.values.encode("a text"),
        b"\xc1" + (1 << 60).to_bytes(8, "big"),
        b"\xc1",
    ]
    for message in messages:
        client, stream = open_stream(running, running.workers[0], "peer", (1).to_bytes(4, "big"))
        Letters(stream).send(message)
        assert ends(client, stream), message
    for frame in (b"", b"\xc1", (1 << 60).to_bytes(8, "little"), (3).to_bytes(8, "little") + b"four"):
        client, stream = open_stream(running, running.workers[0], "peer", (1).to_bytes(4, "big"))
        stream.send(frame)
        assert ends(client, stream), frame
    assert running.app.build(1, 1001) >= 1
    assert not running.app._engine.driver.closed


def test_messages_of_versions_that_never_were(running: Run) -> None:
    wire = running.app._engine.driver._fleet._wire
    client, stream = open_stream(running, running.workers[0], "peer", (1).to_bytes(4, "big"))
    for version in (Version(0, 0), Version(-5, 3)):
        Letters(stream).send(wire.encode(End(version, 1, 0, 0)))
    stream.end()
    assert ends(client, stream)
    assert running.app.build(1, 1002) >= 1


# -- who could read the token -----------------------------------------------------------------------------------------


def test_no_process_shows_the_token(running: Run) -> None:
    token = running.security.token.encode()
    ours = [os.getpid(), nursery()._process.pid, *pids(running.app).values()]
    assert len(ours) == 4
    for pid in ours:
        assert token not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert token not in Path(f"/proc/{pid}/environ").read_bytes()


def from_another_user(called: list[list[str]]) -> None:
    """Run by a process of its own: gives up its rights, then calls everything."""
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    for address, method, name in called:
        for headers in WRONG.values():
            print(refusal(address, headers, Endpoint(method, name), NONSENSE).partition(":")[0])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a process of another user")
def test_another_user_gets_nothing(running: Run) -> None:
    code = (
        "import json, sys; from tests.drivers.processes.test_security import from_another_user;"
        "from_another_user(json.loads(sys.argv[1]))"
    )
    called = json.dumps([(address, *endpoint) for address, endpoint in running.all()])
    done = subprocess.run([sys.executable, "-c", code, called], cwd=ROOT, capture_output=True, text=True, timeout=LATE)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == len(running.all()) * len(WRONG)


def test_servers_listen_on_this_machine_only(running: Run) -> None:
    assert all(address.startswith("grpc://127.0.0.1:") for address in running.endpoints)
