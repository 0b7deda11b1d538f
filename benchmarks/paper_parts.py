"""What the parts of an epoch cost one by one, without an app: machine, codec, connection, disk. For on_paper.py."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from crowd import coordinator_of, measure_epochs
from harness import Bench, run_script
from locations import new_folder, time_appends
from programs import Sums

import anabranch as ab
from anabranch.drivers.flight import Client, Security, Server
from anabranch.drivers.letters import Letters
from anabranch.drivers.pieces import length_of
from anabranch.drivers.wire import Wire
from anabranch.engines.embedded.apart import Crew
from anabranch.kernels.native.blocks import block_of
from anabranch.runtime.exchange import Arrivals
from anabranch.runtime.messages import BeginColumns, End, Finished, Joined, Placed, Request, Settled, Submit, Version
from anabranch.runtime.plan import make_plan
from anabranch.runtime.routing import spread_evenly

SIZES = (2, 10, 30, 100, 300, 1000)
FEW = (2, 10, 30)
Point = tuple[int, float]


def sizes_of(bench: Bench) -> tuple[int, ...]:
    return SIZES if bench.options.scale >= 1 else FEW


def seconds(run: Callable[[], object]) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def spent(run: Callable[[], object]) -> float:
    """Processor seconds of this process: what others do on the machine is not in them."""
    start = process_time()
    run()
    return process_time() - start


def rounds(bench: Bench, run: Callable[[], float], most: int = 100) -> list[float]:
    """What it gives, once in each round; the first time it may compile, and does not count."""
    run()
    return [run() for _ in bench.rounds[:most]]


# -- the coordinator --------------------------------------------------------------------------------------------------


def measure_machine(bench: Bench) -> list[Point]:
    """`Coordinator.handle` alone: an epoch of one row, from `Submit` to the last `Finished`."""
    found = []
    for workers in sizes_of(bench):
        coordinator = coordinator_of(workers)
        for worker in range(workers):
            coordinator.handle(Joined(worker))
        for worker in range(workers):
            coordinator.handle(Settled(worker, coordinator.committed, coordinator.latest))
        number = 0

        def epoch(workers: int = workers, coordinator: Any = coordinator) -> float:
            nonlocal number
            number += 1
            begun = process_time()
            coordinator.handle(Submit(Request(number, "add", [(number, 1.0)])))
            first = coordinator.sequence
            for worker in range(workers):
                results = ((first, None),) if worker == 0 else ()
                coordinator.handle(Finished(worker, coordinator.latest, results))
            return process_time() - begun

        values = [1e6 * value for value in rounds(bench, epoch)]
        bench.figure(f"machine of the coordinator, an epoch with {workers:,} workers", values, "us")
        found.append((workers, median(values) / 1e6))
    return found


def measure_fleet(bench: Bench) -> tuple[list[Point], list[Point], list[Point]]:
    """The process of the coordinator with a crowd of workers: processor seconds and seconds an epoch, and a start."""
    times: list[Point] = []
    walls: list[Point] = []
    starts: list[Point] = []
    for workers in sizes_of(bench):
        few = 3 if workers <= 100 else 1  # a thousand take half a minute to settle
        runs = [measure_epochs(workers, max(5, 1000 // workers)) for _ in bench.rounds[:few]]
        for what, points, column, unit, factor in (
            ("until all have settled", starts, 0, "s", 1.0),
            ("an epoch, processor time", times, 1, "ms", 1e3),
            ("an epoch", walls, 2, "ms", 1e3),
        ):
            values = [run[column] for run in runs]
            bench.figure(f"process of the coordinator, {workers:,} workers, {what}", [factor * v for v in values], unit)
            points.append((workers, median(values)))
    return times, walls, starts


def fit(points: Sequence[Point]) -> tuple[float, float, float]:
    """A constant, what a worker adds, and what a pair of workers adds, none below zero; small numbers count as much."""
    n = np.array([float(x) for x, _ in points])
    y = np.array([y for _, y in points])
    for powers in ((0, 1, 2), (0, 1), (1, 2), (1,)):
        columns = np.stack([n**p for p in powers], axis=1)
        found, *_ = np.linalg.lstsq(columns / y[:, None], np.ones(len(y)), rcond=None)
        if (found >= 0).all():
            by = dict(zip(powers, (float(x) for x in found), strict=True))
            return by.get(0, 0.0), by.get(1, 0.0), by.get(2, 0.0)
    raise AssertionError(f"costs that fall with more workers: {points}")


def measure_feed(bench: Bench) -> tuple[float, float, float]:
    """Rows of a batch in columns, dealt out and encoded: seconds a row, seconds a worker, bytes a row."""
    rows = bench.size("rows that are dealt out", 200_000, least=10_000)
    graph, program = ab.compile(Sums), Sums()
    wire, plan = Wire(graph), make_plan(graph, ["add"])
    assert plan is not None
    types = tuple(p.type for p in graph.entry("add").parameters)
    rng = np.random.default_rng(7)
    block = block_of(types, list(zip(rng.integers(0, 1 << 40, rows).tolist(), rng.random(rows).tolist(), strict=True)))
    by_workers: dict[int, float] = {}
    size = 0
    few, many = sizes_of(bench)[0], sizes_of(bench)[-1]
    for workers in (few, many):
        crew = Crew(graph, program, spread_evenly(workers))
        placed = Placed(Request(1, "add", block), 0)

        def deal(crew: Crew = crew, placed: Placed = placed) -> float:
            nonlocal size
            begun = process_time()
            shares = [BeginColumns(Version(1, 0), Version(0, 0), plan, own) for own in crew.split(placed)]
            data = [wire.encode(begin) for begin in shares]
            taken = process_time() - begun
            size = sum(map(length_of, data))
            return taken

        values = rounds(bench, deal)
        bench.figure(
            f"a batch dealt out to {workers:,} workers and encoded, a row", [1e9 * v / rows for v in values], "ns"
        )
        by_workers[workers] = median(values)
        if workers == few:
            row_bytes = size / rows
    bench.figure("bytes a row of a batch on its way to its worker", [row_bytes])
    worker = max(0.0, (by_workers[many] - by_workers[few]) / (many - few))
    return (by_workers[few] - few * worker) / rows, worker, row_bytes


# -- between workers --------------------------------------------------------------------------------------------------


def measure_message(bench: Bench) -> float:
    """An end mark over a connection, with its codec: processor seconds of one end; both are in this process."""
    count = bench.size("messages", 20_000, least=1000)
    wire, mail, security = Wire(ab.compile(Sums)), SimpleQueue[Any](), Security.of_a_run()

    def hear(stream: Any) -> None:
        letters = Letters(stream)
        while (data := letters.receive()) is not None:
            mail.put(wire.decode(data))

    server = Server(security, {}, {"peer": hear})
    client = Client(server.address, security)
    letters = Letters(client.open("peer"))

    def send() -> float:
        begun = process_time()
        for n in range(count):
            letters.send(wire.encode(End(Version(1, 0), n % 1000, 0, 1)))
        for _ in range(count):
            mail.get()
        return (process_time() - begun) / count / 2

    values = rounds(bench, send)
    letters.end()
    letters.close()
    client.close()
    server.stop()
    bench.figure("one end of a short message, processor time", [1e6 * v for v in values], "us")
    return median(values)


def measure_hop(bench: Bench) -> float:
    """Half of the way there and back of a short message, nothing else at work."""
    security = Security.of_a_run()

    def echo(stream: Any) -> None:
        letters = Letters(stream)
        while (data := letters.receive()) is not None:
            letters.send(bytes(data))

    server = Server(security, {}, {"echo": echo})
    client = Client(server.address, security)
    letters = Letters(client.open("echo"))

    def there_and_back() -> float:
        def ask() -> None:
            letters.send(b"x")
            letters.receive()

        return float(np.percentile([seconds(ask) for _ in range(300)], 10)) / 2

    values = rounds(bench, there_and_back)
    letters.close()
    client.close()
    server.stop()
    bench.figure("a short message, one way, fastest tenth", [1e6 * v for v in values], "us")
    return median(values)


def measure_looks(bench: Bench) -> float:
    """Whether a stage has all end marks: seconds for each that is looked at."""
    peers = range(1000)
    arrivals = Arrivals(Version(1, 0))
    for peer in peers:
        arrivals.receive(End(Version(1, 0), peer, 0, 0))

    def look() -> float:
        return spent(lambda: [arrivals.complete(1, peers) for _ in range(100)]) / len(peers) / 100

    values = rounds(bench, look)
    bench.figure("a look at whether an end mark is there", [1e9 * v for v in values], "ns")
    return median(values)


def measure_links(bench: Bench) -> tuple[float, float, float]:
    """Files, threads and bytes of a connection to another worker and of one from it; in a process of its own."""
    found = run_script("paper_parts.py")
    for what, value in found.items():
        bench.figure(f"{what} of a link to another worker and back", [value])
    return found["open files"], found["threads"], found["bytes of memory"]


def count_links(links: int = 50) -> dict[str, float]:
    """This process has both ends of each, as a worker has one end of two."""
    security = Security.of_a_run()

    def hear(stream: Any) -> None:
        while stream.receive() is not None:
            pass

    def held() -> tuple[int, int, int]:
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
        files = len(list(Path("/proc/self/fd").iterdir()))
        return files, int(status["Threads"]), 1024 * int(status["VmRSS"].split()[0])

    servers = [Server(security, {}, {"peer": hear}) for _ in range(links)]
    kept: list[Any] = []

    def mind(letters: Letters) -> None:
        try:
            letters.receive()
        except Exception:
            return

    def connect(server: Server) -> None:
        client = Client(server.address, security)
        letters = Letters(client.open("peer"))
        threading.Thread(target=mind, args=(letters,), daemon=True).start()
        letters.send(b"x")
        kept.append((client, letters))

    connect(servers[0])
    before = held()
    for server in servers[1:]:
        connect(server)
    files, threads, memory = ((now - then) / (links - 1) for now, then in zip(held(), before, strict=True))
    return {"open files": files, "threads": threads, "bytes of memory": memory}


# -- the disk ---------------------------------------------------------------------------------------------------------


def measure_disk(bench: Bench) -> tuple[float, float]:
    """Seconds a byte of a long append, seconds of a short one; each is on disk before the next."""
    size = bench.size("bytes of a long append", 64_000_000, least=1_000_000)
    with new_folder(bench) as folder:
        long = rounds(bench, lambda: sum(time_appends(folder, size, 1)) / size, 5)
        short = rounds(bench, lambda: median(time_appends(folder, 4096 * 20, 20)))
    bench.figure("append of the disk alone", [1e-6 / v for v in long], "MB/s")
    bench.figure("append of 4 kB that is on disk, the disk alone", [1e3 * v for v in short], "ms")
    return median(long), median(short)


if __name__ == "__main__":
    print(json.dumps(count_links()), flush=True)
    os._exit(0)  # nobody closes the connections one by one
