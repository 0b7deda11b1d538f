"""What the benchmarks of saved state share: locations that are filled, sums to check, the disk alone, callers, plots.

A state has an entry for every number below so many, and `Totals` knows what each must be. A state of a gigabyte has a
gigabyte of keys and values, 16 bytes an entry: that is what a snapshot of it writes. In memory it is more than twice as
much.
"""

from __future__ import annotations

import argparse
import gc
import mmap
import os
import shutil
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pyarrow as pa
from harness import ROOT, Bench
from plot import Point, line_plot
from programs import Sums
from report import Spread

ENTRY = 16  # bytes of a key and its value
GB = 10**9
BATCH = 1_000_000  # rows
NEVER = {"snapshot_every": 1e9, "snapshot_bytes": 1 << 60}
CALLERS = 8
FEW = 3  # rounds, where one takes minutes
SOME = 1_000_000  # keys that are looked at where all of them would take too much memory

Numbers = np.ndarray[Any, Any]
Found = defaultdict[str, list[float]]


def few_rounds(bench: Bench) -> range:
    return bench.rounds[:FEW]


def ratios(found: Mapping[str, Sequence[float]], one: str, other: str) -> list[float]:
    return [a / b for a, b in zip(found[one], found[other], strict=True)]


def rotated(ways: Iterable[Any], n: int) -> list[Any]:
    """Another one comes first in each round."""
    listed = [*ways]
    first = n % len(listed)
    return [*listed[first:], *listed[:first]]


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

    def check_some(self, app: Any, who: str) -> None:
        """Keys drawn at random are as they must be: takes little memory, however large the state is."""
        keys = np.random.default_rng(7).integers(0, len(self.of), min(SOME, len(self.of)))
        found = app.total.many(pa.table({"key": keys}))["result"].to_numpy()
        if not np.array_equal(found, self.of[keys]):
            raise AssertionError(f"{who}: sums are not what was added: {differences(found, self.of[keys])}")


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


def fill(app: Any, keys: int, value: float = 0.0, slope: float = 0.0) -> None:
    """Add to every key this value, and so many times the key."""
    for first in range(0, keys, BATCH):
        numbers = np.arange(first, min(keys, first + BATCH))
        app.add.many(pa.table({"key": numbers, "value": value + slope * numbers}))


def make_location(bench: Bench, where: Path, keys: int, workers: int, slope: float = 0.0) -> None:
    """A location with one snapshot, which has every key."""
    with bench.run(Sums(), workers, checkpoint=where, durability="none") as app:
        fill(app, keys, slope=slope)
        app.checkpoint()


@contextmanager
def lent(kept: Path) -> Iterator[Path]:
    """A copy of a location, for a run that must not change it; files are linked, as none is ever written again."""
    folder = kept.with_name(f"{kept.name}, lent")
    shutil.copytree(kept, folder, copy_function=os.link)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


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


@contextmanager
def counted_snapshots(where: Path) -> Iterator[Callable[[], int]]:
    """How many were made meanwhile."""
    over, seen = threading.Event(), [last_snapshot(where)]

    def look() -> None:
        while not over.wait(0.02):
            if (last := last_snapshot(where)) != seen[-1]:
                seen.append(last)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield lambda: len(seen) - 1
    finally:
        over.set()
        thread.join()


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


def forget(where: Path) -> None:
    """Let the system read what is below this folder from the disk again, as after the machine was started."""
    for path in where.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)  # what is not on disk stays in the cache
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)


def read_raw(files: Sequence[Path]) -> tuple[float, int]:
    """Seconds that pyarrow takes to read these files into memory, and their rows."""
    gc.collect()
    start = perf_counter()
    tables = []
    for path in files:
        with pa.OSFile(str(path)) as file:  # not a map of it, which would read nothing
            tables.append(pa.ipc.open_file(file).read_all())
    spent, rows = perf_counter() - start, sum(table.num_rows for table in tables)
    tables.clear()
    pa.default_memory_pool().release_unused()
    return spent, rows


def fetch_memory(nbytes: int) -> float:
    """Let the machine have so many bytes at hand, and give the seconds that it took to get them.

    A guest may hand the pages that nobody uses back to its host, within seconds; to get them again takes longer than
    to fill them. Who is timed afterwards finds them here, as on a machine that keeps its memory.
    """
    gc.collect()
    with mmap.mmap(-1, max(1, nbytes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            pages.madvise(mmap.MADV_HUGEPAGE)
        held = np.frombuffer(pages, dtype=np.uint8)
        start = perf_counter()
        held.fill(1)
        spent = perf_counter() - start
        del held
    return spent


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


# --- plots and options -------------------------------------------------------------------------------------------


def point(x: float, values: Sequence[float]) -> Point:
    spread = Spread.of(values)
    return Point(x, spread.median, spread.low, spread.high)


def draw(bench: Bench, file: str, title: str, x_name: str, y_name: str, lines: Mapping[str, Sequence[Point]]) -> None:
    folder: Path = bench.options.plots
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(line_plot(title, x_name, y_name, lines), encoding="utf-8")
    bench.note(f"there is a plot, {file} in the folder of --plots")


def add_disk_options(parser: argparse.ArgumentParser) -> None:
    temporary = Path(tempfile.gettempdir())
    parser.add_argument("--disk", type=Path, default=temporary, metavar="FOLDER", help="where state is saved")
    folder = ROOT / "docs" / "benchmarks"
    parser.add_argument("--plots", type=Path, default=folder, metavar="FOLDER", help="where plots go")


def add_sizes(parser: argparse.ArgumentParser, part: str, sizes: Sequence[float]) -> None:
    text = f"of the part `{part}` (default: {' '.join(map(str, sizes))})"
    parser.add_argument("--sizes", type=float, nargs="+", default=sizes, metavar="GB", help=text)


def add_parts(parser: argparse.ArgumentParser, parts: Iterable[str]) -> None:
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)} (default: all)")
