"""What machines, hosts and clients tell each other. All of it is immutable.

A version is an epoch and the attempt at it. Whatever belongs to an older version than its receiver knows of is
dropped; so is what arrives twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from anabranch.runtime.plan import Plan
from anabranch.state.collected import Want


class Version(NamedTuple):
    epoch: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.attempt}"


NOTHING_YET = Version(0, 0)
UNKNOWN = -1  # the sequence number of nobody knows which row
DRIVER = -1  # the machine beside the coordinator, which hosts no instance


class Row(NamedTuple):
    """A row on its way to a task. `order` is the iteration it comes from, `flow` the way (None for an input).

    `home` is the instance at hand, to which what was sent everywhere or by iteration comes back.
    """

    sequence: int
    order: int
    task: str
    flow: int | None
    instance: int
    home: int
    values: tuple[Any, ...]


class Request(NamedTuple):
    """Rows that take effect together or not at all; `number` is the client's name for it.

    `mark` is what is to be remembered with it, so that it is known if it comes again.
    """

    number: int
    entry: str
    rows: Sequence[tuple[Any, ...]]
    mark: Any = None


@dataclass(frozen=True, slots=True)
class AtWorkers:
    """Rows that feeders have brought to the workers: for each partition its number, the attempt that counts, and how
    many rows it has. Their order is that of the partitions. `fast` if they go through kernels; `routing` is the
    version of that by which they were brought.
    """

    query: str
    batch: int
    parts: tuple[tuple[int, int, int], ...]
    fast: bool = False
    routing: int = 0

    def __len__(self) -> int:
        return sum(rows for _, _, rows in self.parts)


@dataclass(frozen=True, slots=True)
class Numbered:
    """Rows that start at a worker, with their sequence numbers."""

    rows: tuple[tuple[int, tuple[Any, ...]], ...]

    def __len__(self) -> int:
        return len(self.rows)


class Placed(NamedTuple):
    """A request with the sequence number of its first row."""

    request: Request
    sequence: int


@dataclass(frozen=True, slots=True)
class Results:
    """One result per row."""

    values: Sequence[Any] | Boxed


@dataclass(frozen=True, slots=True)
class Boxed:
    """The results of a request as kernels left them, in boxes of all workers; `first` is its first sequence number."""

    first: int
    rows: int
    boxes: tuple[Any, ...]

    def __len__(self) -> int:
        return self.rows


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception of the lowest failing row; nothing of the request has taken effect."""

    error: BaseException


Outcome = Results | Raised


class Ran(NamedTuple):
    """A request that has been answered: what an oracle needs to repeat it. With a mark it has its results too."""

    request: Request
    sequence: int
    epoch: int
    failed: bool
    results: Any = None


# -- from clients to the coordinator ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submit:
    request: Request


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The client no longer wants the request: undo it unless it is committed."""

    number: int


@dataclass(frozen=True, slots=True)
class Hold:
    """Ask for all state to oneself, between two epochs.

    If it is to `read` something, that may be answered instead: by what this gives of copies of the state.
    """

    number: int
    read: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """Give it back; `wrote` makes what was done an epoch. With `keeps` also if a worker was lost meanwhile: what was
    written is on disk, or there is nothing.
    """

    number: int
    wrote: bool
    writers: tuple[str, ...] = ()  # whose logs have what was written
    keeps: bool = False


# -- from hosts to the coordinator ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker is gone, and with it what it held in memory."""

    worker: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A worker has started, with nothing in memory."""

    worker: int


@dataclass(frozen=True, slots=True)
class Stalled:
    """Nothing has moved for long: something was lost on the way."""


# -- from the coordinator to workers ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begin:
    """Run an epoch stage by stage, on top of `committed`; `rows` are those that start at this worker."""

    version: Version
    committed: Version
    plan: Plan
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class BeginColumns:
    """Run one request stage by stage through kernels: each worker takes the rows that start at it."""

    version: Version
    committed: Version
    plan: Plan
    placed: Placed


@dataclass(frozen=True, slots=True)
class BeginFused:
    """Run these requests one after the other on all instances of this address space, on top of `committed`."""

    version: Version
    committed: Version
    placed: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Collect:
    """Run these requests one after the other, on top of `committed`, on copies of what others hold."""

    version: Version
    committed: Version
    placed: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """Run what only reads, each on its own, on copies of what the workers that are `there` hold of `committed`.

    `number` counts these orders. Several have the same version, for which nothing is begun.
    """

    number: int
    version: Version
    committed: Version
    there: frozenset[int]
    items: tuple[Placed | Hold, ...]


@dataclass(frozen=True, slots=True)
class Settle:
    """Hold exactly what `committed` left, and begin nothing up to `latest`. Undo, redo and recovery are this one."""

    committed: Version
    latest: Version


# -- between workers --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows made in a stage, with the stages they are for; `number` counts the parcels of this stage to this worker.

    Of an epoch that runs through kernels they are boxes of rows, see `anabranch.kernels.native.stages`.
    """

    version: Version
    source: int
    stage: int
    number: int
    rows: tuple[tuple[int, Any], ...]


@dataclass(frozen=True, slots=True)
class End:
    """The end mark of a stage: this many parcels were sent."""

    version: Version
    source: int
    stage: int
    parcels: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """A collector asks for what its requests have touched, as `committed` left it; `round` counts its questions."""

    version: Version
    committed: Version
    collector: int
    round: int
    wants: tuple[Want, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """The answer."""

    version: Version
    collector: int
    worker: int
    round: int
    found: tuple[tuple[Want, Any], ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """What collected requests have changed, by instance, on top of `committed`: the worker's part of the epoch."""

    version: Version
    committed: Version
    effects: tuple[tuple[int, tuple[Any, ...]], ...]


# -- from workers to the coordinator ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finished:
    """All stages are done, nothing failed. `results` by sequence number, or `boxes` of them.

    `writer` is whose log has what changed, once that is on disk; empty if nothing did, or nothing is logged.
    """

    worker: int
    version: Version
    results: tuple[tuple[int, Any], ...]
    boxes: tuple[Any, ...] = ()
    entry: str = ""  # of the boxes
    writer: str = ""


@dataclass(frozen=True, slots=True)
class FinishedFused:
    worker: int
    version: Version
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class FinishedReads:
    """What came of the items of a `Read`; None of one that touches what is not there."""

    number: int
    outcomes: tuple[Outcome | None, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """A row has raised: the epoch cannot go on with its request in it. `full` is the message of a `MemoryFull`."""

    worker: int
    version: Version
    sequence: int
    full: str = ""


@dataclass(frozen=True, slots=True)
class Settled:
    worker: int
    committed: Version
    latest: Version


# -- from hosts to workers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Loaded:
    """The worker's instances are in memory again, as `version` left them."""

    version: Version


# -- commands ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToWorker:
    worker: int
    message: Begin | BeginColumns | BeginFused | Collect | Read | Settle | Rows | End | Fetch | Entries | Apply


@dataclass(frozen=True, slots=True)
class ToCoordinator:
    message: Finished | FinishedFused | FinishedReads | Failed | Settled


@dataclass(frozen=True, slots=True)
class Again:
    """There is more to do: call `step`, after whatever else has arrived."""


@dataclass(frozen=True, slots=True)
class Load:
    """Put the instances of this worker into memory as `version` left them, then say `Loaded`."""

    version: Version


class Committed(NamedTuple):
    """A new version is decided; the journals of the one before may go."""

    version: Version
    ran: tuple[Ran, ...]
    stages: int  # none if a client that held the state has written it by hand
    writers: tuple[str, ...] = ()  # whose logs have what it changed


class Seen(NamedTuple):
    """Requests that only read are about to be answered, after all that `version` has; no other comes of them."""

    version: Version
    ran: tuple[Ran, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    number: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The request was taken back: nothing of it has taken effect."""

    number: int


@dataclass(frozen=True, slots=True)
class Grant:
    """All state is the client's until it says `Release`."""

    number: int


CoordinatorEvent = (
    Submit
    | Withdraw
    | Hold
    | Release
    | Lost
    | Joined
    | Stalled
    | Finished
    | FinishedFused
    | FinishedReads
    | Failed
    | Settled
)
WorkerEvent = (
    Begin | BeginColumns | BeginFused | Collect | Read | Settle | Rows | End | Fetch | Entries | Apply | Loaded
)
CoordinatorCommand = ToWorker | Committed | Seen | Reply | Withdrawn | Grant
WorkerCommand = ToWorker | ToCoordinator | Again | Load


class RowsLost(Exception):
    """Rows were staged at a worker that is gone: whoever brought them has to bring them again."""


class RowsMoved(RowsLost):
    """Rows were staged where workers were that are others now: the same."""


class IllegalTransition(AssertionError):
    """A machine was told something that cannot happen where it is: a mistake of ours, told with its story."""


def law(holds: bool, machine: object, text: str) -> None:
    if not holds:
        raise IllegalTransition(f"{text}: {machine!r}")
