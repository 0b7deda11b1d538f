"""Much of everything: many rows, long values, long messages; and reads while callers run."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from typing import Any

import numpy as np
import pytest

import anabranch as ab
from anabranch.drivers.fleet import Patience
from anabranch.drivers.flight import Broken, Client, Security, Server
from anabranch.drivers.letters import Letters
from tests.drivers.processes.tools import LATE, Call, all_end, start, wait_until
from tests.drivers.processes.village import Village

MIB = 1 << 20
SECURITY = Security("of-this-test", max_message=MIB)

# -- messages in pieces -----------------------------------------------------------------------------------------------


def echo(stream: Any) -> None:
    letters = Letters(stream, 1000)
    while (data := letters.receive()) is not None:
        letters.send(bytes(data))


def test_messages_of_all_lengths_come_back() -> None:
    server = Server(SECURITY, {}, {"echo": echo})
    client = Client(server.address, SECURITY)
    letters = Letters(client.open("echo"), 1000)
    chance = random.Random(3)
    for length in (0, 1, 8, 9, 10, 999, 1000, 1001, 2000, 2001, 3 * MIB):
        for first in (b"", b"\xc1", b"\xc1" + bytes(8)):
            message = first + chance.randbytes(length)
            letters.send(message)
            assert letters.receive() == message
    letters.end()
    assert letters.receive() is None
    client.close()
    server.stop()


def test_pieces_of_several_senders_are_not_mixed() -> None:
    server = Server(SECURITY, {}, {"echo": echo})
    client = Client(server.address, SECURITY)
    letters = Letters(client.open("echo"), 1000)
    messages = [bytes([i]) * (500 * (i + 1)) for i in range(20)]
    threads = [threading.Thread(target=letters.send, args=(m,)) for m in messages]
    for thread in threads:
        thread.start()
    found = [bytes(letters.receive() or b"") for _ in messages]
    assert sorted(found) == sorted(messages)
    letters.end()
    client.close()
    server.stop()


@pytest.mark.parametrize(
    "sent",
    [
        [b"\xc1"],
        [b"\xc1" + (5).to_bytes(8, "big"), b"123456"],
        [b"\xc1" + (5).to_bytes(8, "big"), b"123", b""],
        [b"\xc1" + (5).to_bytes(8, "big"), b"123"],
        [b"\xc1" + b"\xff" * 8, b"123"],
        [b"\xc1" + (5).to_bytes(9, "big")],
    ],
)
def test_pieces_that_do_not_fit_break_the_stream(sent: list[bytes]) -> None:
    found: list[Any] = []

    def hear(stream: Any) -> None:
        try:
            found.append(Letters(stream).receive())
        except Exception as error:
            found.append(error)

    server = Server(SECURITY, {}, {"hear": hear})
    client = Client(server.address, SECURITY)
    stream = client.open("hear")
    with contextlib.suppress(Broken):  # the other end may have given up already
        for piece in sent:
            stream.send(piece)
        stream.end()
    wait_until(lambda: found, "it is never heard")
    assert isinstance(found[0], Broken)
    client.close()
    server.stop()


# -- apps -------------------------------------------------------------------------------------------------------------


def test_reads_and_loads_while_callers_run() -> None:
    app = start(history=True)
    over = threading.Event()

    def come() -> int:
        n = 0
        while not over.is_set():
            app.come.many({"k": [k % 50 for k in range(300)]})
            app.build(n % 50, n % 7)
            app.move(n % 50, n % 7)
            n += 1
        return n

    with all_end(app):
        callers = [Call(come) for _ in range(3)]
        try:
            end = time.monotonic() + 2.0
            while time.monotonic() < end:
                before = sum(app.state.people.copy().values())
                assert sum(v for _, v in app.state.people.scan()) >= 0 and before >= 0
                app.state.texts.load({"key": [1, 2, 3], "value": ["a", "b", "c"]})
                assert app.state.texts[2] == "b"
                metrics = app.metrics()
                assert len(metrics.workers) == 2
                assert app.state.people.nbytes > 0 and app.state.people.to_arrow().num_rows <= 50
                app.history()
        finally:
            over.set()
        turns = sum(caller.done() for caller in callers)
        assert turns > 3
        assert sum(app.state.people.copy().values()) == turns * 299
        assert sum(app.state.houses.copy().values()) >= turns


def test_history_replays() -> None:
    app = start(history=True)
    with all_end(app):
        app.come.many({"k": [k % 20 for k in range(200)]})
        for k in range(10):
            app.build(k, k + 1)
            app.move(k, k + 2)
            app.hear(k)
        again, _ = app.history().replay(Village())
        for name in ("people", "houses"):
            assert dict(app.state[name].copy().items()) == dict(again.state(name).items()), name
        assert app.history().complete
        assert "come" in str(app.explain())
        metrics = app.metrics()
        assert metrics.rows == 230


def test_ten_thousand_rows_are_loaded() -> None:
    app = start()
    with all_end(app):
        begun = time.monotonic()
        app.state.people.load({"key": list(range(10_000)), "value": list(range(10_000))})
        assert time.monotonic() - begun < LATE / 3
        assert app.state.people[9_999] == 9_999 and len(app.state.people) == 10_000
        assert app.come(5) == 6


def test_long_values() -> None:
    app = start(patience=Patience())
    text = "x" * (30 * MIB)
    with all_end(app):
        assert app.write(1, text) == len(text)
        assert app.read(1) == text
        assert app.state.texts[1] == text
        app.write.many({"k": [2, 3, 4], "text": [text] * 3})  # more than a message may have
        assert app.read.many({"k": [1, 2, 3, 4]})["result"] == [text] * 4
        whole = app.state.texts.copy()
        assert [len(whole[k]) for k in (1, 2, 3, 4)] == [len(text)] * 4
        assert app.state.texts.to_arrow().num_rows == 4
        app.state.texts.load({"key": [5, 6, 7], "value": [text + "5", text, text]})
        assert app.read(5) == text + "5"


class Dense(ab.Program):
    weights: ab.Replicated[ab.DenseVector]
    sums: ab.Partial[ab.DenseVector]

    def __init__(self, weights: ab.DenseVector) -> None:
        self.weights = weights
        self.sums = ab.DenseVector.zeros(3)

    def get(self, k: int) -> float:
        self.sums[0] += 1.0
        return self.weights[k]

    def put(self, k: int, x: float) -> None:
        ab.everywhere(self.weights)[k] = x


def test_a_state_that_is_longer_than_a_message() -> None:
    """From the start: 68 MB of it at each worker, and as much in the template of the program."""
    many = 8_500_000
    app = start(Dense(ab.DenseVector(np.arange(many, dtype=float))), patience=Patience())
    with all_end(app):
        assert app.get(many - 1) == many - 1.0
        app.put(3, 2.5)
        assert app.get(3) == 2.5
        whole = app.state.weights.copy().to_numpy()
        assert len(whole) == many and whole[3] == 2.5 and whole[-1] == many - 1.0


@pytest.mark.parametrize("tier", ["python", "compiled"])
def test_workers_count_the_bytes_that_they_send_each_other(tier: str) -> None:
    app = start(tier=tier)
    rows = 20_000
    with all_end(app):
        before = sum(told.sent_bytes for told in app._engine.driver.report())
        app.build.many({"k": list(range(rows)), "house": [7] * rows})
        sent = sum(told.sent_bytes for told in app._engine.driver.report()) - before
        assert 2 * rows < sent < 200 * rows  # about half of the rows travel
