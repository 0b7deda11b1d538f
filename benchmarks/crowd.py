"""The coordinator's side for many workers, with the fleet, the codec and the connections of a real run.

The workers are a crowd: threads of one other process, each with a connection of its own, that say at once what a
worker would say in the end. So what the process of the coordinator spends on an epoch can be measured for far more
workers than this machine could host. Its processor time counts: that of the crowd is another process's.

    python benchmarks/crowd.py          # is the crowd, told on its standard input where to go
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from programs import Sums  # noqa: E402

import anabranch as ab  # noqa: E402
from anabranch.drivers.fleet import Fleet, Link, Patience  # noqa: E402
from anabranch.drivers.flight import Client, Security  # noqa: E402
from anabranch.drivers.host_messages import Goodbye, Hello, Ping, Ready, Setup  # noqa: E402
from anabranch.drivers.letters import Letters  # noqa: E402
from anabranch.drivers.resident import GREETING, versions  # noqa: E402
from anabranch.drivers.shipping import fingerprint  # noqa: E402
from anabranch.drivers.streams import Broken  # noqa: E402
from anabranch.drivers.tls import MAX_MESSAGE  # noqa: E402
from anabranch.drivers.wire import Wire  # noqa: E402
from anabranch.kernels import PythonCode  # noqa: E402
from anabranch.lang.spec import describe  # noqa: E402
from anabranch.runtime.backlog import Backlog, Limits  # noqa: E402
from anabranch.runtime.coordinator import Coordinator  # noqa: E402
from anabranch.runtime.memory import Memory  # noqa: E402
from anabranch.runtime.messages import (  # noqa: E402
    Begin,
    Finished,
    Joined,
    Reply,
    Request,
    Settle,
    Settled,
    Submit,
    ToWorker,
)
from anabranch.runtime.routing import spread_evenly  # noqa: E402
from anabranch.runtime.rows import Runner  # noqa: E402

START = 300.0  # seconds for a crowd to come


def coordinator_of(workers: int) -> Coordinator:
    graph, program = ab.compile(Sums), Sums()
    memory = Memory(graph, None, spread_evenly(workers))
    runner = Runner(graph, PythonCode(graph, program), memory, dict(describe(Sums).entries))
    return Coordinator(workers, Backlog(graph, Limits(fused_rows=-1)), runner.starts, apart=True)


class Office:
    """A fleet and its coordinator, under one lock, as at the desk of an app."""

    def __init__(self, workers: int) -> None:
        graph = ab.compile(Sums)
        self.coordinator = coordinator_of(workers)
        self._lock = threading.RLock()
        self._moved = threading.Condition(self._lock)
        self._replies: set[int] = set()
        self._number = 0
        self.error: BaseException | None = None
        routing = spread_evenly(workers)
        self.fleet = Fleet(
            workers,
            Setup(b"", routing.instance_of_bucket, routing.worker_of_instance),
            fingerprint(graph),
            Wire(graph),
            self,
            Patience(stall=START),
            Security.of_a_run(),
            "127.0.0.1",
            None,
        )

    # -- told by the fleet ----------------------------------------------------------------------------------------

    def arrived(self, worker: int) -> None:
        pass

    def joined(self, workers: Sequence[int]) -> None:
        for worker in workers:
            self.tell(Joined(worker))

    def take(self, link: Link, message: Any) -> None:
        if not isinstance(message, Ping):
            self.tell(message)

    def lost(self, worker: int, why: str) -> None:
        self.failed(RuntimeError(f"worker {worker} is lost: {why}"))

    def failed(self, error: BaseException) -> None:
        with self._lock:
            self.error = self.error or error
            self._moved.notify_all()

    # -- epochs ---------------------------------------------------------------------------------------------------

    def tell(self, event: Any) -> None:
        with self._lock:
            for command in self.coordinator.handle(event):
                match command:
                    case ToWorker(worker, message) if worker >= 0:
                        self.fleet.post(worker, message)
                    case Reply(number):
                        self._replies.add(number)
            if self.coordinator.idle:
                self._moved.notify_all()

    def wait_for_all(self) -> None:
        with self._lock:
            self._moved.wait_for(lambda: self.coordinator.idle or self.error is not None, START)
            self._check()

    def call(self) -> None:
        """One epoch of one row."""
        with self._lock:
            self._number += 1
            self.tell(Submit(Request(self._number, "add", [(self._number, 1.0)])))
            self._moved.wait_for(lambda: self._number in self._replies or self.error is not None, START)
            self._check()

    def _check(self) -> None:
        if self.error is not None or not self.coordinator.idle:
            raise RuntimeError(f"the crowd has not answered: {self.coordinator!r:.200}") from self.error


@contextmanager
def crowd(office: Office) -> Iterator[float]:
    """Let it come; gives the seconds from when all are connected, or nearly, until all have settled."""
    security = office.fleet.security
    told = {
        "address": office.fleet.server.address,
        "token": security.token,
        "workers": office.fleet.workers,
        "fingerprint": fingerprint(ab.compile(Sums)),
    }
    people = subprocess.Popen([sys.executable, str(HERE / "crowd.py")], stdin=subprocess.PIPE, text=True)
    assert people.stdin is not None
    try:
        people.stdin.write(json.dumps(told))
        people.stdin.close()
        end = perf_counter() + START
        while len(office.fleet.links) < office.fleet.workers - 1 and perf_counter() < end and people.poll() is None:
            threading.Event().wait(0.005)
        here = perf_counter()
        office.wait_for_all()
        yield perf_counter() - here
    finally:
        office.fleet.end()
        try:
            people.wait(30)
        except subprocess.TimeoutExpired:
            people.kill()
        office.fleet.server.stop()


def measure_epochs(workers: int, epochs: int) -> tuple[float, float, float]:
    """Seconds until all have settled; processor seconds of this process an epoch; seconds an epoch."""
    office = Office(workers)
    with crowd(office) as settled:
        office.call()
        cpu, start = process_time(), perf_counter()
        for _ in range(epochs):
            office.call()
        return settled, (process_time() - cpu) / epochs, (perf_counter() - start) / epochs


# -- the crowd --------------------------------------------------------------------------------------------------------


def be_worker(number: int, address: str, token: str, fingerprint: str, wire: Wire) -> None:
    # Another limit for each: gRPC lets clients of one process that are alike share a connection.
    client = Client(address, Security(token, max_message=MAX_MESSAGE - number))
    letters = Letters(client.open("worker", GREETING.encode(Hello(number, f"grpc://nowhere:{number}", versions()))))
    letters.receive()
    letters.send(GREETING.encode(Ready(fingerprint)))
    try:
        while (data := letters.receive()) is not None:
            match wire.decode(data):
                case Settle(committed, latest):
                    letters.send(wire.encode(Settled(number, committed, latest)))
                case Begin(version, rows=rows):
                    results = tuple([(row.sequence, None) for row in rows])
                    letters.send(wire.encode(Finished(number, version, results)))
                case Goodbye():
                    break
    except Broken:
        pass
    letters.close()
    client.close()


def main() -> None:
    told = json.load(sys.stdin)
    wire = Wire(ab.compile(Sums))
    threading.stack_size(1 << 20)
    people = [
        threading.Thread(target=be_worker, args=(n, told["address"], told["token"], told["fingerprint"], wire))
        for n in range(told["workers"])
    ]
    for person in people:
        person.start()
    for person in people:
        person.join()


if __name__ == "__main__":
    main()
