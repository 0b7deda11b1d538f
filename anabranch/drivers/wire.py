"""What machines tell each other, and what their hosts add to it, as bytes.

Law: `decode(encode(m)) == m` for every message that leaves an address space; rows that kernels have made arrive as rows
of words again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from anabranch.drivers.values import Values, records_of
from anabranch.graph.nodes import Graph
from anabranch.runtime.messages import (
    Apply,
    Begin,
    BeginColumns,
    Collect,
    End,
    Entries,
    Failed,
    Fetch,
    Finished,
    FinishedFused,
    Placed,
    Request,
    Results,
    Row,
    Rows,
    Settle,
    Settled,
    Version,
)
from anabranch.runtime.plan import Plan, make_plan
from anabranch.state.collected import Want

# -- between hosts ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is to be: its program (None if it has it already) and where everything lives."""

    program: bytes | None
    instance_of_bucket: tuple[int, ...]
    worker_of_instance: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Hello:
    """A worker that has started; `versions` are those of Python and of the packages that both ends must share."""

    number: int
    address: str
    versions: tuple[tuple[str, str], ...]


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
class WantContent:
    """A worker asks for what its instances hold at a version."""

    version: Version


@dataclass(frozen=True, slots=True)
class Content:
    """By instance and state."""

    version: Version
    parts: tuple[tuple[int, tuple[tuple[str, Any], ...]], ...]


@dataclass(frozen=True, slots=True)
class Install:
    """Get the kernels of an entry, and lay out the states they need."""

    entry: str


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
    """The machine of a worker has broken, which is a mistake of ours."""

    story: str


@dataclass(frozen=True, slots=True)
class Goodbye:
    """End."""


HOSTS = (
    Setup,
    Hello,
    Ready,
    Peers,
    WantContent,
    Content,
    Install,
    Installed,
    Report,
    Reported,
    Ping,
    Severed,
    Broke,
    Goodbye,
)
MACHINES = (
    Version, Row, Request, Placed, Results, Begin, BeginColumns, Collect, Settle, Rows, End, Want, Fetch, Entries,
    Apply, Finished, FinishedFused, Failed, Settled,
)  # fmt: skip


class Wire:
    """Encodes and decodes the messages of the runs of one program."""

    def __init__(self, graph: Graph) -> None:
        self.values = Values([*HOSTS, *MACHINES, *records_of(graph)])
        self._plan = lru_cache(maxsize=1024)(lambda entries: make_plan(graph, entries))

    def encode(self, message: Any) -> bytes:
        if isinstance(message, Begin | BeginColumns):
            message = replace(message, plan=tuple(sorted(message.plan.entries)))  # type: ignore[arg-type]
        return self.values.encode(message)

    def decode(self, data: bytes | memoryview) -> Any:
        message = self.values.decode(data)
        if isinstance(message, Begin | BeginColumns):
            plan: Plan | None = self._plan(message.plan)
            assert plan is not None, f"no stages for {message.plan}"
            message = replace(message, plan=plan)
        return message
