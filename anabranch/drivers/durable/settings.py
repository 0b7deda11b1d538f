"""What a user says about how a run is saved. Light: every run reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.lang.arguments import as_choice, as_number, as_places, as_seconds

if TYPE_CHECKING:
    from anabranch.runtime.messages import Version
    from anabranch.runtime.routing import Routing

DURABILITY = ("epoch", "snapshot", "none")
MODES = ("background", "sync")
FENCES = ("create", "none")


@dataclass(frozen=True, slots=True)
class Saving:
    """`where` is the location. `durability` says what is on disk when an answer is given: all of its epoch, what was
    there at the last snapshot, or what was there when `app.checkpoint()` was last called.

    There is a snapshot `every` so many seconds if anything has changed, and sooner if the log has grown by `size`
    bytes. `mode` "sync" stops the run for it; `to_version` restores an older version than the last.
    """

    where: Any
    durability: str = "epoch"
    mode: str = "background"
    every: float = 60.0
    size: int = 1 << 30
    fence: str = "create"
    to_version: int | None = None
    keep: int = 2


@dataclass(frozen=True, slots=True)
class At:
    """Where a run stands that goes on with the state of another."""

    version: Version
    sequence: int
    routing: Routing


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was found in a location and put into memory when the app started; `app.recovery`."""

    location: str
    version: int
    rows: int
    epochs: int  # whose effects came after the snapshot
    instances: int  # that were saved
    seconds: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = (
            f"restored version {self.version} from {self.location}: {self.rows:,} rows of a snapshot and the effects "
            f"of {self.epochs:,} epochs, saved by {self.instances} instances, in {self.seconds:.2f} s"
        )
        return "; ".join([told, *self.notes])


def saving_of(
    where: Any,
    durability: str = "epoch",
    mode: str = "background",
    every: float = 60.0,
    size: int = 1 << 30,
    fence: str = "create",
    to_version: int | None = None,
) -> Saving:
    """Read what was given to `ab.run`."""
    return Saving(
        as_places("checkpoint", where, "checkpoint='state'"),
        as_choice("durability", durability, DURABILITY),
        as_choice("snapshot_mode", mode, MODES),
        as_seconds("snapshot_every", every, "snapshot_every=60.0"),
        as_number("snapshot_bytes", size, "a number of bytes", "snapshot_bytes=1 << 30", least=1),
        as_choice("fence", fence, FENCES),
        None if to_version is None else as_number("to_version", to_version, "a version", "to_version=120"),
    )
