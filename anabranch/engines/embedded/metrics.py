"""What an app has done so far, in numbers. Time is measured here, around the machines, never inside them."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from anabranch.drivers.timing import Cells, TimedCode
from anabranch.engines.embedded.hot import HotKey
from anabranch.runtime.messages import Committed, Seen
from anabranch.runtime.rows import Code

KEPT = 4096  # latencies per entry: percentiles are of the last ones
MOVES = 100  # the last ones


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds from call to answer, of the last requests of an entry."""

    p50: float
    p90: float
    p99: float
    max: float

    def __str__(self) -> str:
        return f"p50 {_time(self.p50)}, p90 {_time(self.p90)}, p99 {_time(self.p99)}"


@dataclass(frozen=True, slots=True)
class EntryMetrics:
    """`requests` and `rows` so far; `failed` are the requests that were undone because they raised."""

    requests: int
    failed: int
    rows: int
    latency: Latency | None

    def __str__(self) -> str:
        failed = f", {self.failed:,} failed" if self.failed else ""
        times = self.latency or "no latency yet"
        return f"{_count(self.requests, 'request')}{failed}, {_count(self.rows, 'row')}, {times}"


@dataclass(frozen=True, slots=True)
class TaskMetrics:
    """`share` is that of the work of all tasks."""

    rows: int
    seconds: float
    share: float

    def __str__(self) -> str:
        return f"{_count(self.rows, 'row')}, {_time(self.seconds)}, {self.share:.0%} of the work"


@dataclass(frozen=True, slots=True)
class MemoryMetrics:
    """Bytes: what `memory=` allows, and what of it is taken; `share` is how much of it that is."""

    budget: int
    accounted: int
    share: float

    def __str__(self) -> str:
        return f"{self.accounted:,} of {self.budget:,} bytes, {self.share:.0%}"


@dataclass(frozen=True, slots=True)
class Move:
    """State that went where another routing puts it: when, in seconds since the app started; the numbers of workers
    before and after; why; how long all of it took, and for how long of that no epoch could run.
    """

    at: float
    before: int
    after: int
    why: str
    seconds: float
    pause: float

    def __str__(self) -> str:
        workers = f"{self.before} to {_count(self.after, 'worker')}" if self.before != self.after else "spread anew"
        took = f"{_time(self.seconds)}, {_time(self.pause)} of it without epochs"
        return f"at {self.at:.1f} s, {workers}: {self.why} ({took})"


@dataclass(frozen=True, slots=True, repr=False)
class Metrics:
    """What `app.metrics()` gives.

    `workers` is the share of the app's time in which each was busy; `states` are bytes, estimated; `memory` is what
    counts of them and of what undoes requests, where there is a budget; `moves` are the last times that state moved,
    `hot` the keys at which most rows begin, where that is many.

    Times are wall time: a thread that waits for another one's turn of the interpreter is busy.
    """

    seconds: float
    rows: int
    requests: int
    epochs: int
    stages: int
    entries: Mapping[str, EntryMetrics]
    tasks: Mapping[str, TaskMetrics]
    workers: tuple[float, ...]
    states: Mapping[str, int]
    memory: MemoryMetrics | None = None
    moves: tuple[Move, ...] = ()
    hot: tuple[HotKey, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON; a key that is neither a number nor a text is shown as one."""
        hot = [{"key": h.key if isinstance(h.key, int | str) else repr(h.key), "share": h.share} for h in self.hot]
        return dataclasses.asdict(self) | {"hot": hot, "moves": [dataclasses.asdict(m) for m in self.moves]}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        busy = ", ".join(f"{share:.0%}" for share in self.workers)
        lines = [
            f"{_count(self.rows, 'row')} in {_count(self.requests, 'request')}, {_count(self.epochs, 'epoch')}, "
            f"{_count(self.stages, 'stage')}, "
            f"{self.seconds:.1f} s; workers busy {busy}"
        ]
        for name, entry in self.entries.items():
            lines.append(f"  entry {name}: {entry}")
        for name, task in self.tasks.items():
            lines.append(f"  task {name}: {task}")
        for name, size in self.states.items():
            lines.append(f"  state {name}: {size:,} bytes")
        if self.memory is not None:
            lines.append(f"  memory: {self.memory}")
        lines += [f"  hot key {hot}" for hot in self.hot]
        lines += [f"  move {move}" for move in self.moves]
        return "\n".join(lines)


class Meter:
    """Counts for one app. What several threads count is kept by worker, or is counted under the engine's lock."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._start = perf_counter()
        self._epochs = self._stages = 0
        self._entries: dict[str, list[int]] = {}  # requests, failed, rows
        self._latencies: dict[str, deque[float]] = {}
        self._tasks: list[Cells] = [{} for _ in range(workers)]  # rows, seconds
        self._moves: deque[Move] = deque(maxlen=MOVES)

    def resize(self, workers: int) -> None:
        """There are so many workers now; what others have counted stays."""
        self.workers = workers
        self._tasks += [{} for _ in range(len(self._tasks), workers)]

    def moved(self, before: int, why: str, began: float, pause: float) -> None:
        """State has moved, since a moment of `perf_counter`."""
        seconds = perf_counter() - began
        self._moves.append(Move(began - self._start, before, self.workers, why, seconds, pause))

    def cells(self, worker: int) -> Cells:
        """Rows and seconds by task, as one worker counts them."""
        return self._tasks[worker]

    def timed(self, code: Code, worker: int) -> TimedCode:
        return TimedCode(code, self._tasks[worker])

    def add(self, committed: Committed | Seen) -> None:
        if isinstance(committed, Committed):
            self._epochs += 1
            self._stages += committed.stages
        for ran in committed.ran:
            entry = ran.request.entry
            counts = self._entries.get(entry) or self._entries.setdefault(entry, [0, 0, 0])
            counts[0] += 1
            counts[1] += ran.failed
            counts[2] += len(ran.request.rows)

    def refused(self, entry: str, rows: int) -> None:
        """A request that no epoch has."""
        counts = self._entries.setdefault(entry, [0, 0, 0])
        counts[0] += 1
        counts[1] += 1
        counts[2] += rows

    def latency(self, entry: str, seconds: float) -> None:
        kept = self._latencies.get(entry)
        if kept is None:
            kept = self._latencies.setdefault(entry, deque(maxlen=KEPT))
        kept.append(seconds)

    def read(
        self,
        busy: Sequence[float],
        states: Mapping[str, int],
        elsewhere: Sequence[Cells] = (),
        memory: MemoryMetrics | None = None,
        hot: tuple[HotKey, ...] = (),
    ) -> Metrics:
        """`elsewhere` is what workers in other processes have counted."""
        seconds = perf_counter() - self._start
        entries = {
            name: EntryMetrics(requests, failed, rows, _percentiles(list(self._latencies.get(name, ()))))
            for name, (requests, failed, rows) in sorted(self._entries.items())
        }
        return Metrics(
            seconds,
            sum(e.rows for e in entries.values()),
            sum(e.requests for e in entries.values()),
            self._epochs,
            self._stages,
            entries,
            self._read_tasks(elsewhere),
            tuple(min(1.0, b / seconds) for b in busy),
            states,
            memory,
            tuple(self._moves),
            hot,
        )

    def _read_tasks(self, elsewhere: Sequence[Cells]) -> dict[str, TaskMetrics]:
        found: dict[str, list[float]] = {}
        for cells in (*self._tasks, *elsewhere):
            for name, (rows, seconds) in list(cells.items()):
                total = found.setdefault(name, [0, 0.0])
                total[0] += rows
                total[1] += seconds
        work = sum(seconds for _, seconds in found.values()) or 1.0
        return {n: TaskMetrics(int(rows), seconds, seconds / work) for n, (rows, seconds) in sorted(found.items())}


def _percentiles(seconds: list[float]) -> Latency | None:
    """The least value that this share of all does not exceed.

    >>> _percentiles([0.1, 0.3, 0.2])
    Latency(p50=0.2, p90=0.3, p99=0.3, max=0.3)
    """
    if not seconds:
        return None
    seconds.sort()
    p50, p90, p99 = (seconds[math.ceil(len(seconds) * p) - 1] for p in (0.5, 0.9, 0.99))
    return Latency(p50, p90, p99, seconds[-1])


def _time(seconds: float) -> str:
    """
    >>> _time(0.00123), _time(12.3456)
    ('1.23 ms', '12.3 s')
    """
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
