"""Rename or drop states of a checkpoint location, so that a changed program can start from it.

Laws: nothing is changed if it is refused; what is kept is as it was, under its new name; it counts whole or not at all.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from anabranch.drivers.durable.marks import Marks, as_json, in_json
from anabranch.inspecting.reading import found_at, with_found
from anabranch.state.checkpoint.generations import Base, Generation, claim
from anabranch.state.checkpoint.location import Location, Where, open_location
from anabranch.state.checkpoint.manifests import Manifest, write_manifest
from anabranch.state.checkpoint.recovery import COORDINATOR, Found
from anabranch.state.checkpoint.rows import Batches, latest_rows, written_rows
from anabranch.state.checkpoint.snapshots import SnapshotWriter

ROWS = 1 << 16
"""In a batch of a new file."""

Watch = Callable[[int, int], None]
"""Told how many steps are done, of how many."""


class CannotMigrate(ValueError):
    """What was asked for cannot be done; the message says why. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Migration:
    """What was done, or would be: `states` has the new name of each, or None if it is dropped."""

    location: str
    version: int
    states: dict[str, str | None]
    rows: dict[str, int]
    """Of each state that is kept, by its new name, in all instances; empty in a dry run."""
    generation: int | None
    """That was made; None in a dry run."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def migrate(
    location: Where | Sequence[Where],
    rename: Mapping[str, str],
    drop: Collection[str] = (),
    *,
    dry_run: bool = False,
    fence: str = "create",
    watch: Watch = lambda done, of: None,
) -> Migration:
    """Make a new generation that begins with the newest version, its states renamed or dropped.

    A run that uses the location acknowledges nothing more from then on, as if another had opened it.
    """
    if dry_run:
        place = open_location(location, fence, writing=False)
        found = found_at(place)
        return Migration(place.name, found.version, _renamed(found, rename, drop), {}, None)
    _renamed(found_at(open_location(location, fence, writing=False)), rename, drop)
    place = open_location(location, fence)
    generation = Generation(place, claim(place, _who(rename, drop)))
    # Again: whatever was acknowledged before the claim is there now.
    states = _renamed(found_at(place), rename, drop)
    kept = {old: new for old, new in states.items() if new is not None}
    progress = _Progress(watch)
    found, written = with_found(place, None, lambda found: progress.reading(found, kept))
    rows = _write(place, generation, found, kept, written, progress)
    return Migration(place.name, found.version, states, rows, generation.number)


def _renamed(found: Found, rename: Mapping[str, str], drop: Collection[str]) -> dict[str, str | None]:
    """The new names of all states."""
    saved = found.snapshot.states
    there = f"{found.location.name} holds {', '.join(saved) or 'no states'}"
    if not rename and not drop:
        raise CannotMigrate(f"nothing to do: say what to rename (OLD=NEW) or to drop; {there}")
    for name in [*rename, *drop]:
        if name not in saved:
            raise CannotMigrate(f"there is no state {name!r}: {there}")
    for name in drop:
        if name in rename:
            raise CannotMigrate(f"{name} is to be dropped and to be renamed: choose one")
    states = {name: None if name in drop else rename.get(name, name) for name in saved}
    kept = {old: name for old, name in states.items() if name is not None}
    new: dict[str, str] = {}
    for old, name in kept.items():
        if not name.isidentifier():
            raise CannotMigrate(f"{old} cannot be renamed to {name!r}: the name of a state is that of an attribute")
        if name in new:
            which = old if rename.get(old) == name else new[name]
            raise CannotMigrate(
                f"{which} cannot be renamed to {name}: there would be two of that name; {there}. Rename or drop the "
                "other one too"
            )
        new[name] = old
    return states


class _Progress:
    def __init__(self, watch: Watch) -> None:
        self._watch, self._done, self._of = watch, 0, 0

    def reading(self, found: Found, kept: Mapping[str, str]) -> dict[tuple[str, int], Batches]:
        """All rows, with a step for each file of the snapshot and each epoch."""
        self._done = 0
        self._of = len(found.snapshot.chunks) * 2 + sum(len(span.commits) for span in found.spans)
        return written_rows(found, kept, self.step)

    def step(self) -> None:
        self._done += 1
        self._of = max(self._of, self._done)
        self._watch(self._done, self._of)


def _write(
    place: Location,
    generation: Generation,
    found: Found,
    kept: Mapping[str, str],
    written: dict[tuple[str, int], Batches],
    progress: _Progress,
) -> dict[str, int]:
    """A new snapshot, and the generation that begins with it; gives the rows of each state."""
    was = found.snapshot
    rows = dict.fromkeys(kept.values(), 0)
    with SnapshotWriter(place, generation.number, found.version) as writer:
        for (state, instance), batches in written.items():
            table = latest_rows(was.states[state], batches)
            for batch in table.to_batches(max_chunksize=ROWS):
                writer.add(kept[state], instance, batch)
            rows[kept[state]] += len(table)
            progress.step()
        chunks = tuple(writer.finish())
    manifest = Manifest(
        generation=generation.number,
        begun=found.version + 1,
        version=found.version,
        attempt=found.attempt,
        sequence=found.sequence,
        program=was.program,
        fingerprint=was.fingerprint,
        instances=was.instances,
        instance_of_bucket=was.instance_of_bucket,
        states={kept[name]: saved for name, saved in was.states.items() if name in kept},
        chunks=chunks,
        first_pieces={},
        extra={**was.extra, "marks": _marks(found)},
    )
    generation.check()
    name = write_manifest(place, manifest)
    generation.begin(Base(name, (), found.version, found.attempt, found.sequence, (COORDINATOR,)))
    return rows


def _marks(found: Found) -> list[Any]:
    """Which requests were carried out already, also those of the log: that is given up, and they may come again."""
    marks = Marks()
    for mark in in_json(found.snapshot.extra.get("marks", ())):
        marks.add(mark)
    for frame in found.frames([COORDINATOR]):
        for mark in frame.head.get("marks", ()):
            marks.add(mark)
    return as_json(marks.all())


def _who(rename: Mapping[str, str], drop: Collection[str]) -> dict[str, Any]:
    asked = [*(f"--rename {old}={new}" for old, new in rename.items()), *(f"--drop {name}" for name in drop)]
    return {
        "program": f"anabranch migrate {' '.join(asked)}",
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
