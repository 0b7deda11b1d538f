"""What the benchmarks of saved state share: locations that are filled, sums to check, the disk alone, callers.

A state has an entry for every number below so many, and `Totals` knows what each must be. A state of a gigabyte has a
gigabyte of keys and values, 16 bytes an entry: that is what a snapshot of it writes. In memory it is more than twice as
much.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Bench
from programs import Sums

ENTRY = 16  # bytes of a key and its value
GB = 10**9
BATCH = 1_000_000  # rows
NEVER = {"snapshot_every": 1e9, "snapshot_bytes": 1 << 60}
CALLERS = 8

Numbers = np.ndarray[Any, Any]


class Totals:
    """What the sums must be: the same additions in the same order, so that they are equal to the last bit."""

    def __init__(self, keys: int) -> None:
        self.of = np.zeros(keys)

    def add(self, keys: Numbers, values: Numbers | float) -> None:
        np.add.at(self.of, keys, values)

    def add_batches(self, batches: Sequence[Any]) -> None:
        for batch in batches:
            self.add(batch["key"].to_numpy(), batch["value"].to_numpy())

    def check(self, app: Any, who: str) -> None:
        """All of it is as it must be."""
        table = app.state.totals.to_arrow()
        found = np.full(len(self.of), np.nan)
        found[table["key"].to_numpy()] = table["value"].to_numpy()
        if table.num_rows != len(self.of) or not np.array_equal(found, self.of):
            raise AssertionError(f"{who}: sums are not what was added: {differences(found, self.of)}")


def differences(found: Numbers, expected: Numbers) -> str:
    at = np.flatnonzero(found != expected)
    return f"{len(at)} of {len(expected)}, the first at key {at[0]}: {found[at[0]]}, not {expected[at[0]]}"


@contextmanager
def new_folder(bench: Bench) -> Iterator[Path]:
    """A folder on the disk that is measured; it goes in the end."""
    bench.options.disk.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="durability-", dir=bench.options.disk))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def entries_of(gigabytes: float, bench: Bench) -> int:
    return bench.scaled(round(gigabytes * GB / ENTRY), least=60_000)  # from 50,000 on state is restored at once


def fill(app: Any, keys: int, value: float = 0.0) -> None:
    """Add this to every key."""
    for first in range(0, keys, BATCH):
        numbers = np.arange(first, min(keys, first + BATCH))
        app.add.many(pa.table({"key": numbers, "value": np.full(len(numbers), value)}))


def make_location(bench: Bench, where: Path, keys: int, workers: int) -> None:
    """A location with one snapshot, which has every key."""
    with bench.run(Sums(), workers, checkpoint=where, durability="none") as app:
        fill(app, keys)
        app.checkpoint()


def snapshot_files(where: Path) -> list[Path]:
    """The Arrow files of the last snapshot."""
    return sorted(max((where / "snapshots").iterdir()).iterdir())


def log_bytes(app: Any) -> int:
    """What a run on threads has written to its log."""
    found: int = app._engine.saved.saver.log.bytes
    return found


def last_snapshot(where: Path) -> int:
    """Its version, which goes up with each."""
    return max(int(file.name.partition("-")[0]) for file in (where / "manifests").iterdir())


def bytes_written() -> int:
    """What this process has handed to the system to write."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return int(told["wchar"])


# --- the disk alone ----------------------------------------------------------------------------------------------


def time_appends(folder: Path, size: int, chunks: int) -> list[float]:
    """Seconds of each of so many appends that make up a file of this size; each is on disk before the next."""
    data = memoryview(os.urandom(max(1, size // chunks)))
    path = folder / "raw"
    seconds = []
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for _ in range(chunks):
            start = perf_counter()
            left = data
            while left:
                left = left[os.write(file, left) :]
            os.fdatasync(file)
            seconds.append(perf_counter() - start)
    finally:
        os.close(file)
        path.unlink()
    return seconds


def read_raw(files: Sequence[Path]) -> tuple[float, int]:
    """Seconds that pyarrow takes to read these files into memory, and their rows."""
    gc.collect()
    start = perf_counter()
    tables = []
    for path in files:
        with pa.OSFile(str(path)) as file:  # not a map of it, which would read nothing
            tables.append(pa.ipc.open_file(file).read_all())
    return perf_counter() - start, sum(table.num_rows for table in tables)


# --- callers -----------------------------------------------------------------------------------------------------


def at_once(work: Callable[[int], None], callers: int) -> None:
    """Let so many threads work; what one of them raises is raised here."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Calls:
    """`add` of random keys, which are known by their numbers, so that the sums can be checked."""

    def __init__(self, app: Any, totals: Totals) -> None:
        self._app, self._totals = app, totals
        self._keys = np.random.default_rng(7).integers(0, len(totals.of), 1 << 18)
        self._listed = self._keys.tolist()

    def __call__(self, n: int) -> None:
        self._app.add(self._listed[n % len(self._listed)], 1.0)

    def called(self, calls: int) -> None:
        """All numbers below this were."""
        self._totals.add(np.resize(self._keys, calls), 1.0)

    def check(self, who: str) -> None:
        self._totals.check(self._app, who)


def closed_loop(call: Calls, seconds: float) -> float:
    """Calls a second of callers that each wait for their answer."""
    numbers, answered = count(), [0] * CALLERS
    start = perf_counter()
    end = start + seconds

    def work(caller: int) -> None:
        while perf_counter() < end:
            call(next(numbers))
            answered[caller] += 1

    at_once(work, CALLERS)
    spent = perf_counter() - start
    call.called(sum(answered))
    return sum(answered) / spent


def open_loop(call: Calls, rate: float, seconds: float) -> tuple[list[float], float]:
    """Calls that come at a fixed rate, whatever became of those before: from when each was due to its answer.

    Also how many were answered a second. A call that is due while all callers wait is late, and that counts.
    """
    calls = max(1, round(rate * seconds))
    numbers = count()
    latencies: list[list[float]] = [[] for _ in range(CALLERS)]
    gc.collect()
    start = perf_counter() + 0.01

    def work(caller: int) -> None:
        while (n := next(numbers)) < calls:
            due = start + n / rate
            if (wait := due - perf_counter()) > 0:
                sleep(wait)
            call(n)
            latencies[caller].append(perf_counter() - due)

    at_once(work, CALLERS)
    spent = perf_counter() - start
    call.called(calls)
    return [taken for of in latencies for taken in of], calls / spent
