"""How long an epoch takes with n workers, from what its parts cost: a model, without measurements of its own.

An epoch is one in flight, and its parts follow each other: the coordinator tells the workers and hears of them, each
stage runs, what it made is sent, end marks are waited for, what changed is logged. So its time is the sum of the terms;
the largest says where to look first. The busiest worker counts, and it has its share of the buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, log2, sqrt

BUCKETS = 1024  # as in `anabranch.lang.keys`: a test compares them
BLOCK = 64  # rows without a key that begin at one worker, from there


@dataclass(frozen=True, slots=True)
class Costs:
    """What one of each takes: seconds, or bytes where it says so."""

    kernel_row: float  # a row in a stage
    python_row: float
    crossing_row: float  # a row that goes to another worker, beyond one that stays: both ends
    crossing_bytes: float
    stage: float  # what a worker takes for a stage, whatever its rows
    message: float  # one end of a short message between workers
    look: float  # at whether an end mark is there
    epoch: float  # the coordinator's process, whatever the number of workers
    epoch_worker: float  # the same for each worker: one message to it, and one from it
    epoch_pair: float  # and for each pair of workers
    route_row: float  # a row of a batch that comes through the coordinator
    route_worker: float  # and what each worker adds to such a batch
    row_bytes: float  # of such a row on its way to its worker
    effect_bytes: float  # of one changed entry in the log
    disk: float  # seconds a byte that is appended
    sync: float  # an append that is on disk
    hop: float  # a message from one process to another, when all is quiet
    worker_start: float
    restore: float  # a byte of keys and values, from a snapshot
    skim: float  # a byte of the log that is read, also of other workers'
    move: float  # a byte of keys and values that goes to another worker
    link_files: float  # open files, threads and bytes of a connection from one worker to another and of one back
    link_threads: float
    link_memory: float


@dataclass(frozen=True, slots=True)
class Given:
    """What is assumed."""

    network: float = 10e9 / 8  # bytes a second that a worker, or the coordinator, can send, and receive at once
    hop: float = 50e-6  # seconds that the network adds to a message
    files: int = 1024  # that a process may have open
    detection: float = 0.5  # seconds until a broken connection counts as a lost worker
    state: float = 1e9  # bytes of keys and values a worker
    log: float = 0.1e9  # bytes of log a worker since the last snapshot


@dataclass(frozen=True, slots=True)
class Work:
    """An epoch: so many rows, each visits so many stages. `staged`: feeders bring rows to the workers."""

    rows: int
    stages: int = 1
    python: bool = False
    staged: bool = False
    logged: bool = True
    crossing: float | None = None  # the share of rows that leave their worker; by default that of random keys
    gathered: bool = False  # everywhere, and gathered from there, where it began
    collected: bool = False  # a winding entry: one worker asks for what it touches, and tells all what it changed


@dataclass(frozen=True, slots=True)
class Design:
    """What could be other than it is. `one_message`: an end mark rides on the rows, if there are any; `counted`: end
    marks are counted, not looked for; `tree`: they go by way of log2(n) others; `involved`: only workers that have rows
    take part; `relays`: so many that tell the workers, and hear from them, for the coordinator.
    """

    one_message: bool = False
    counted: bool = False
    tree: bool = False
    involved: bool = False
    relays: bool = False


AS_IS = Design()


@dataclass(frozen=True, slots=True)
class Epoch:
    terms: Mapping[str, float]

    @property
    def seconds(self) -> float:
        return sum(self.terms.values())

    @property
    def largest(self) -> str:
        return max(self.terms, key=lambda name: self.terms[name])

    @property
    def coordination(self) -> float:
        """The share of the time that is spent on neither rows nor their log."""
        of = ("coordinator", "end marks", "way")
        return sum(self.terms[name] for name in of) / self.seconds


def share(workers: int) -> float:
    """Of all keys, what the worker with the most buckets has.

    >>> share(2), round(1000 * share(1000), 2)
    (0.5, 1.95)
    """
    return ceil(BUCKETS / workers) / BUCKETS


def filled(workers: int, rows: int) -> float:
    """The share of the pairs of workers between which an exchange of so many rows to random keys has any."""
    return 1.0 - (1.0 - 1.0 / workers**2) ** rows


def messages(workers: int, work: Work) -> dict[str, float]:
    """Messages of an epoch by kind, in all."""
    n, pairs = workers, workers * (workers - 1)
    if work.collected:
        asked = n * (1.0 - (1.0 - 1.0 / n) ** (2 * work.rows)) * (1.0 - 1.0 / n)
        return {"Collect": 1, "Fetch": asked, "Entries": asked, "Apply": n - 1, "Finished": n, "FinishedFused": 1}
    between = (work.stages - 1) * pairs
    carried = min(n, ceil(work.rows / BLOCK)) * (n - 1) if work.gathered else between * filled(n, work.rows)
    return {"Begin": n, "Rows": carried, "End": between, "Finished": n}


def start_messages(workers: int) -> int:
    """From when all workers are there until they have settled: the coordinator asks all again for each that joins."""
    return workers * (workers + 1)


def coordinator(costs: Costs, workers: float) -> float:
    """Seconds that the process of the coordinator spends to tell so many workers something, and to hear of all."""
    return costs.epoch + workers * costs.epoch_worker + workers**2 * costs.epoch_pair


def epoch(costs: Costs, given: Given, workers: int, work: Work, design: Design = AS_IS) -> Epoch:
    n = min(workers, 2 * work.rows) if design.involved else workers
    most = max(1.0, work.rows * share(workers))  # rows of the busiest worker
    row = costs.python_row if work.python else costs.kernel_row
    told = sqrt(n) if design.relays else n
    asking = coordinator(costs, told) * (2 if design.relays else 1)
    hop = costs.hop + given.hop
    terms = {
        "coordinator": asking,
        "feed": 0.0,
        "compute": work.stages * (most * row + costs.stage),
        "exchange": 0.0,
        "end marks": 0.0,
        "way": (2 + 2 * design.relays + work.stages - 1) * hop,
        "log": 0.0,
    }
    if not work.staged:
        batch = costs.route_worker * n if work.rows > 1 else 0.0
        terms["feed"] = work.rows * max(costs.route_row, costs.row_bytes / given.network) + batch
    if work.logged:
        terms["log"] = costs.sync + most * costs.effect_bytes * costs.disk
    if work.collected:
        # At the collector, at those it asks, at the collector again, and at all.
        terms["compute"] = 2 * work.rows * costs.python_row + 4 * costs.stage
        sent = 2 * min(n, 2 * work.rows) + (min(n, 2 * work.rows) if design.involved else n)
        terms["exchange"] = sent * costs.message  # by the collector
        terms["way"] = 5 * hop
    elif work.stages > 1:
        leave = 1.0 - 1.0 / workers if work.crossing is None else work.crossing
        crossing = (work.stages - 1) * most * leave
        terms["exchange"] = crossing * max(costs.crossing_row, costs.crossing_bytes / given.network)
        terms["end marks"] = (work.stages - 1) * _marks(costs, n, work.rows, design)
    return Epoch(terms)


def _marks(costs: Costs, n: float, rows: int, design: Design) -> float:
    """What it takes one worker to tell all others that it is done with a stage, and to hear it of them."""
    full = filled(int(n), rows)
    marks = log2(n) if design.tree else (n - 1) * (1.0 - full) if design.one_message else n - 1
    looked = 0.0 if design.counted else n * n / 2 * costs.look
    return 2 * (marks + (n - 1) * full) * costs.message + looked


def recovery(costs: Costs, given: Given, workers: int) -> dict[str, float]:
    """Until the keys of a lost worker answer again."""
    return {
        "notice": given.detection,
        "start": costs.worker_start,
        "snapshot": given.state * max(costs.restore, 1 / given.network),
        "log of all workers": workers * given.log * max(costs.skim, 1 / given.network),
        "settle": 2 * coordinator(costs, workers),
    }


def move(costs: Costs, given: Given, moved: float, slices: int, workers: int) -> dict[str, float]:
    """Until new workers do the work; `moved` is the largest share of a worker's state that one sends or receives."""
    return {
        "start": costs.worker_start,
        "state": moved * given.state * max(costs.move, 1 / given.network),
        "steps": (slices + 4) * coordinator(costs, workers),
    }


def first(most: int, holds: Callable[[int], bool]) -> int | None:
    """The least number of workers, up to this, for which something holds."""
    return next((n for n in range(1, most + 1) if holds(n)), None)


def best(costs: Costs, given: Given, work: Work, design: Design = AS_IS, most: int = BUCKETS) -> int:
    """The number of workers with which an epoch takes least."""
    return min(range(1, most + 1), key=lambda n: epoch(costs, given, n, work, design).seconds)


def most_linked(costs: Costs, given: Given) -> int:
    """How many workers there can be until one has too many open files, each being linked to all others."""
    return int(given.files / costs.link_files) + 1
