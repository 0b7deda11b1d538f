"""What hosts of machines tell each other, beside what their machines do: who is there, what is saved, moved and shown.

The bytes that they become are made in `anabranch.drivers.wire`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.runtime.messages import Version


@dataclass(frozen=True, slots=True)
class SavedAt:
    """The checkpoint location of a run, its generation there, the one it was restored from (0: none), whether every
    epoch is logged, and under which instance the keys of a bucket are saved.
    """

    where: tuple[str, ...]
    fence: str
    generation: int
    found: int
    always: bool
    instance_of_bucket: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is to be: its program (None if it has it already), where everything lives and is saved; `memory` is
    what the states of all workers may take, in bytes. A worker without an instance uses the kernels of these `entries`;
    others are told that with what they have to load.
    """

    program: bytes | None
    instance_of_bucket: tuple[int, ...]
    worker_of_instance: tuple[int, ...]
    saved: SavedAt | None = None
    memory: int | None = None
    routing: int = 0  # its version
    entries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hello:
    """A worker that has started; `versions` are those of Python and of the packages that both ends must share.

    `life` says which start of it this is, from 1; 0 where each is started once and cannot come again by itself.
    """

    number: int
    address: str
    versions: tuple[tuple[str, str], ...]
    life: int = 0


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker has its program; `problem` says why not."""

    fingerprint: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Peers:
    """Where the workers are, by number."""

    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """Fork yourself, with all you hold as `committed` left it; or, if `empty`, with nothing of it."""

    number: int  # of the question
    fork: int
    version: Version
    committed: Version
    empty: bool = False


@dataclass(frozen=True, slots=True)
class SplitOff:
    """There is the fork; `problem` says why not."""

    number: int
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Lead:
    """A fork shall work for the coordinator at this address."""

    fork: int
    address: str


@dataclass(frozen=True, slots=True)
class Part:
    """A fork is no longer wanted."""

    fork: int


@dataclass(frozen=True, slots=True)
class Parted:
    """The process of a fork has ended."""

    fork: int


@dataclass(frozen=True, slots=True)
class WantContent:
    """A worker asks for what its instances hold at a version."""

    version: Version


@dataclass(frozen=True, slots=True)
class Content:
    """By instance and state; these entries have kernels in use."""

    version: Version
    parts: tuple[tuple[int, tuple[tuple[str, Any], ...]], ...]
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FromDisk:
    """Its content is in the checkpoint location, in the history of a generation; these entries have kernels in use."""

    version: Version
    stands_on: int
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy a slice of the state, as `committed` left it, for a snapshot; the first begins it."""

    number: int  # of the question
    snapshot: int
    version: Version
    committed: Version


@dataclass(frozen=True, slots=True)
class Copied:
    """There is more of it or not; `piece` is that of the log with which the effects after its beginning begin, `spent`
    the seconds that what was copied before took to be written.
    """

    number: int
    more: bool
    writer: str
    piece: int
    problem: str | None = None
    spent: float = 0.0


@dataclass(frozen=True, slots=True)
class Keep:
    """All is copied: put it on disk, and the log too. Or give it up."""

    number: int
    snapshot: int
    wanted: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """The files of the snapshot: state, instance, file, rows, bytes, checksum."""

    number: int
    chunks: tuple[tuple[str, int, str, int, int, int], ...]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Prepare:
    """State will move: have at hand what that takes, and the kernels of these entries. Epochs may run meanwhile."""

    number: int  # of the question
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grow:
    """Begin to hold, beside what you do, what will be yours under another routing, and to send what will be others'.

    `sources` are the workers that have something to send; `entries` have kernels in use.
    """

    number: int  # of the question
    move: int
    version: Version
    committed: Version
    instance_of_bucket: tuple[int, ...]
    worker_of_instance: tuple[int, ...]
    routing: int  # its version
    sources: tuple[int, ...]
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """Send a slice more of what you have, as `committed` left it."""

    number: int
    move: int
    version: Version
    committed: Version


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Say when all is placed that has come so far, and whether much has come since. Epochs run meanwhile."""

    number: int
    move: int


@dataclass(frozen=True, slots=True)
class Flush:
    """Send what is left, as `committed` left it, and say when all that will be yours is there."""

    number: int
    move: int
    version: Version
    committed: Version


@dataclass(frozen=True, slots=True)
class Switch:
    """Work under the new routing, in which what you hold as `committed` left it is `version`; `before` is how many
    instances there were.
    """

    number: int
    move: int
    version: Version
    committed: Version
    routing: int
    before: int


@dataclass(frozen=True, slots=True)
class Done:
    """It is done; there is `more` of it; `writer` has logged something of it; `problem` says why not, `full` that there
    is no memory for it. It is `late` for one who knows nothing of the move.
    """

    number: int
    more: bool = False
    writer: str = ""
    problem: str | None = None
    late: bool = False
    full: str | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The move has come to nothing."""

    move: int


@dataclass(frozen=True, slots=True)
class MovedRows:
    """Between workers: rows of an instance that was, as an Arrow message; `turn` numbers those of one to another."""

    move: int
    turn: int
    state: str
    instance: int
    whole: bool
    rows: bytes


@dataclass(frozen=True, slots=True)
class AllMoved:
    """Between workers: who sends this has sent all, which is so many messages."""

    move: int
    messages: int


@dataclass(frozen=True, slots=True)
class Install:
    """Get the kernels of an entry, and lay out the states they need, as `committed` left them."""

    entry: str
    version: Version
    committed: Version


@dataclass(frozen=True, slots=True)
class Installed:
    entry: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Say how busy you are, how large your states are, and how far the epoch is."""

    number: int


@dataclass(frozen=True, slots=True)
class Reported:
    number: int  # of the question
    busy: float
    rows: tuple[tuple[str, int, float], ...]  # by entry: rows and seconds
    sizes: tuple[tuple[str, int], ...]  # by state: bytes
    progress: float
    sent: int  # messages to other workers so far
    sent_bytes: int
    accounted: int = 0  # bytes that count, where there is a budget


@dataclass(frozen=True, slots=True)
class Show:
    """Give a slice more of what you hold of a state, as `committed` left it; or the `first` of them."""

    number: int  # of the question
    state: str
    first: bool
    version: Version
    committed: Version


@dataclass(frozen=True, slots=True)
class Shown:
    """The rows as an Arrow message; None if that was all. It is `late` for one who is not at that version."""

    number: int
    rows: bytes | None
    problem: str | None = None
    late: bool = False


@dataclass(frozen=True, slots=True)
class Ping:
    """Are you there? Answered by the host, whatever its machine is doing."""

    number: int


@dataclass(frozen=True, slots=True)
class Severed:
    """The connection to a peer has broken, and something may have been lost with it."""

    peer: int


@dataclass(frozen=True, slots=True)
class Broke:
    """The machine of a worker has broken, which is a mistake of ours; or what it was to hold is `full`: why."""

    story: str
    full: str | None = None


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows of words as buffers without addresses."""

    parts: list[Any]


@dataclass(frozen=True, slots=True)
class Lifted:
    """Stands for a long part of what is packed, which comes behind the message."""

    number: int


@dataclass(frozen=True, slots=True)
class Drop:
    """What was staged for these batches, and what of results was kept of older ones, is not needed any more."""

    query: str
    batch: int


@dataclass(frozen=True, slots=True)
class Goodbye:
    """End."""
