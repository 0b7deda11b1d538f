"""Connections between workers that break in the middle of an epoch: it is begun again, and nothing is lost or twice."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from anabranch.drivers.callers import StateLost
from anabranch.drivers.flight import Security
from anabranch.drivers.letters import Letters
from anabranch.drivers.resident import Resident
from tests.drivers.processes.tools import LATE, Call, start, wait_until

ROWS = 3000


class Neighbours:
    """Starts workers as threads of this process, each with servers and connections of its own, within reach."""

    carries = False
    security = None
    lost = StateLost
    host = "127.0.0.1"

    def __init__(self, workers: int) -> None:
        self.residents: list[Resident] = []
        self._workers = workers
        self._threads: list[threading.Thread] = []

    def launch(self, address: str, security: Security, *_: Any) -> None:
        for number in range(self._workers):
            thread = threading.Thread(target=self._run, args=(number, address, security), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self, number: int, address: str, security: Security) -> None:
        resident = Resident(number, address, security)
        self.residents.append(resident)
        resident.run()

    def end(self, patience: float) -> None:
        for thread in self._threads:
            thread.join(LATE)
        assert not any(t.is_alive() for t in self._threads), "a worker does not end"


class Here:
    def __init__(self) -> None:
        self.hosts = Neighbours(3)
        self.app: Any = start(workers=3, hosts=self.hosts)
        self.app.come.many({"k": list(range(ROWS))})

    def links(self) -> list[Any]:
        return [link for resident in self.hosts.residents for link in list(resident._neighbours._links.values())]

    def close_streams(self) -> None:
        """As the sender would: the other side gets an error."""
        for link in self.links():
            link.letters.close()

    def cut_sockets(self) -> None:
        """As a network would: both sides hear of it later, or by what they send."""
        ports = {int(r._server.address.rpartition(":")[2]) for r in self.hosts.residents}
        for name in os.listdir("/dev/fd"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                    continue
                with socket.socket(fileno=os.dup(int(name))) as found:
                    if found.family in (socket.AF_INET, socket.AF_INET6) and found.getpeername()[1] in ports:
                        found.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def here() -> Iterator[Here]:
    found = Here()
    yield found
    found.app.stop()


@pytest.mark.parametrize("how", ["close_streams", "cut_sockets"])
def test_connections_that_break_again_and_again(here: Here, how: str, caplog: pytest.LogCaptureFixture) -> None:
    app, turns = here.app, 6
    app.build(1, 1)
    caplog.set_level(logging.WARNING)

    def work() -> list[Any]:
        found = []
        for i in range(turns):
            found.append(app.build.many({"k": list(range(ROWS)), "house": [i] * ROWS})["result"][-1])
            app.move(i, 10 + i)
            app.hear(i)
        return found

    call = Call(work)
    breaks, over = 0, time.monotonic() + LATE
    while call.working and breaks < 25 and time.monotonic() < over:
        time.sleep(0.02)
        getattr(here, how)()
        breaks += 1
    found = call.done()
    assert breaks > 2
    # Before turn i, i of the people have moved away, each from a house that counts one person less.
    extra = [1 if i == 1 else 0 for i in range(turns)]
    assert found == [ROWS - i + extra[i] for i in range(turns)]
    houses = dict(app.state.houses.copy().items())
    assert [houses[10 + i] for i in range(turns)] == [1] * turns
    assert app.state.words.copy().sum() == turns
    assert "the epoch begins again" in caplog.text


def test_a_connection_that_breaks_while_nothing_runs(here: Here) -> None:
    app = here.app
    for i in range(5):
        assert len(app.build.many({"k": list(range(300)), "house": list(range(300))})["result"]) == 300
        (here.close_streams if i % 2 else here.cut_sockets)()
    assert app.state.houses[7] == 5


class Deaf(Letters):
    """Says that it has sent what it has not: as a connection does whose other side has just gone."""

    broken: threading.Event

    def send(self, message: bytes) -> None:
        if self.broken.is_set():
            return
        super().send(message)


def test_what_is_sent_into_a_broken_connection_is_not_lost_in_silence(here: Here) -> None:
    app = here.app
    app.build.many({"k": list(range(300)), "house": list(range(300))})
    wait_until(lambda: len(here.links()) >= 2, "no worker has sent to another")
    broken = threading.Event()
    for link in here.links():
        link.letters.__class__ = Deaf
        link.letters.broken = broken
    broken.set()
    call = Call(lambda: app.build.many({"k": list(range(300)), "house": list(range(300))}))
    time.sleep(0.3)
    assert call.working
    here.cut_sockets()  # and only now it is heard of
    call.done()
    assert app.state.houses[7] == 2
