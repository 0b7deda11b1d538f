"""Open a checkpoint location: claim it, see what is there, and put it into memory.

Laws: whoever opens a location has the newest generation of it, and what is older can acknowledge nothing more; what is
restored is the state after the last epoch that was acknowledged, or after the one that was in flight besides; no user
code of an epoch runs. Anything that cannot be restored as it was is refused before anything is written.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow.compute as pc

from anabranch.drivers.durable.saver import COORDINATOR, described
from anabranch.drivers.durable.settings import At, Saving
from anabranch.drivers.placing import refuse_what_cannot_move, routing_for
from anabranch.graph.nodes import Graph, State
from anabranch.lang import DenseMatrix, DenseVector, Program
from anabranch.lang.errors import ProgramError
from anabranch.runtime.messages import NOTHING_YET, Version
from anabranch.runtime.routing import Routing, spread_evenly
from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.generations import Base, Generation, claim
from anabranch.state.checkpoint.location import Location, open_location
from anabranch.state.checkpoint.manifests import SavedState
from anabranch.state.checkpoint.reading import Piece, pieces
from anabranch.state.checkpoint.recovery import Found, find, find_last_good, find_whole
from anabranch.state.checkpoint.snapshots import Chunk, batches, check_chunk
from anabranch.state.conversion import Unlike, conversion

log = logging.getLogger(__name__)

TRIES = 5  # to read a location that is in use


@dataclass
class Opened:
    """A location that is this run's."""

    location: Location
    generation: Generation
    found: Found | None
    routing: Routing
    version: Version = NOTHING_YET
    sequence: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def moved(self) -> bool:
        """Are keys with other instances than when they were saved?"""
        return self.found is None or self.found.snapshot.instance_of_bucket != self.routing.instance_of_bucket

    def must_save(self, graph: Graph) -> bool:
        """Does what was found not say all that this run starts from? Then a snapshot comes before its first epoch."""
        if self.found is None or self.moved:
            return True
        saved, now = self.found.snapshot, described(graph)
        return saved.instances < self.routing.instances or any(
            name not in saved.states or not _is_as_before(saved.states[name], state) for name, state in now.items()
        )

    def base(self, manifest: str | None) -> Base:
        """From where this generation goes on: the snapshot it has just made, or what was found."""
        if manifest is None and self.found is not None:
            return self.found.base((COORDINATOR,), (COORDINATOR,))
        at = self.version
        return Base(manifest, (), at.epoch, at.attempt, self.sequence, (COORDINATOR,), (COORDINATOR,))


def open_checkpoint(saving: Saving, graph: Graph, program: Program, workers: int) -> Opened:
    location = open_location(saving.where, saving.fence)
    checked = _Checked()
    found = _find(location, saving.to_version, checked)  # before the claim: what cannot be restored disturbs nobody
    if found is not None:
        _compare(graph, found, location)
        _refuse_other_shapes(graph, program, found)
        _routing(graph, found, workers)
    generation = _claimed(location, graph)
    # Again: whatever was acknowledged before the claim is there now, and what comes later is not acknowledged.
    found = _find(location, saving.to_version, checked)
    if found is None:
        return Opened(location, generation, None, spread_evenly(workers))
    for piece in pieces(location):  # what this run goes on from is to be on disk before anything is built on it
        if any(span.generation == piece.generation for span in found.spans):
            location.sync(piece.file)
    routing = _routing(graph, found, workers)
    return Opened(
        location, generation, found, routing, Version(found.version, found.attempt), found.sequence, [*found.notes]
    )


def open_new(saving: Saving, graph: Graph, at: At) -> Opened:
    """For a run that has its state already. What another has saved is not overwritten."""
    location = open_location(saving.where, saving.fence)
    if find(location) is not None:
        raise ValueError(
            f"{location.name} holds a checkpoint, and a fork begins one of its own: give it another location"
        )
    return Opened(location, _claimed(location, graph), None, at.routing, at.version, at.sequence)


def _claimed(location: Location, graph: Graph) -> Generation:
    info = {"program": graph.name, "host": socket.gethostname(), "pid": os.getpid(), "time": _now()}
    return Generation(location, claim(location, info))


@dataclass
class _Checked:
    """What was read, and was whole."""

    chunks: set[str] = field(default_factory=set)
    logs: dict[Piece, int] | None = None  # all that there were, with their sizes

    def check(self, location: Location, chunk: Chunk) -> None:
        if chunk.file not in self.chunks:
            check_chunk(location, chunk)
            self.chunks.add(chunk.file)


def _find(location: Location, to_version: int | None, checked: _Checked) -> Found | None:
    for left in reversed(range(TRIES)):
        there = pieces(location)
        try:
            found = find_whole(location, to_version, checked.check, logs=there != checked.logs)
            checked.logs = there
            break
        except Damaged as error:
            if left and pieces(location).keys() != there.keys():
                continue  # a run goes on there, and has removed what it needs no more
            raise _with_way_on(location, error, checked) from error
    if found is not None and to_version is not None and found.version < to_version:
        last = find(location)
        if last is not None and last.version < to_version:
            raise ProgramError(
                f"{location.name} has no version {to_version}: the last is {last.version}; "
                "`anabranch inspect` lists them"
            )
    return found


def _with_way_on(location: Location, error: Damaged, checked: _Checked) -> Damaged:
    """The same damage, with the version that can be restored all the same."""
    good = find_last_good(location, checked.check)
    told = Damaged(error.file, error.offset, None if good is None else (good.version, good.attempt), error.why)
    for note in getattr(error, "__notes__", ()):
        told.add_note(note)
    return told


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _compare(graph: Graph, found: Found, location: Location) -> None:
    """A state that is gone or is another one cannot be restored, and is not thrown away silently."""
    saved, current = found.snapshot.states, described(graph)
    gone = [name for name in saved if name not in current]
    if gone:
        named = ", ".join(gone)
        raise ProgramError(
            f"{location.name} holds {named}, and {graph.name} has no such state: was it renamed or removed? "
            f"write `anabranch migrate {location.name} --rename {gone[0]}=NEW`, or `--drop {gone[0]}` to give it up"
        )
    for name, was in saved.items():
        now = current[name]
        if was.axis != now.axis:
            raise ProgramError(
                f"{name} is spread by {now.axis} in {graph.name}, and {location.name} holds it spread by {was.axis}: "
                "reach it as the code that saved it did, or copy it to a state of another name"
            )
        if not _is_as_before(was, now):
            _refuse_unlike(graph, graph.state(name), was, now, location)


def _is_as_before(was: SavedState, now: SavedState) -> bool:
    return (was.distribution, was.type, was.schema) == (now.distribution, now.type, now.schema)


def _refuse_unlike(graph: Graph, state: State, was: SavedState, now: SavedState, location: Location) -> None:
    """A state whose values cannot become those of today; see `anabranch.state.conversion`."""
    why = ""
    if was.distribution == now.distribution and was.type.partition("[")[0] == now.type.partition("[")[0]:
        try:
            changes = conversion(state, was.schema, optional=was.type.endswith("| None]")) is not None
        except Unlike as unlike:
            where = f" at {unlike.place}" if unlike.place else ""
            why = f"{where}: {location.name} has {unlike.was}, {graph.name} has {unlike.now}"
        else:
            if changes or now.type == f"{was.type[:-1]} | None]" or was.type == now.type:
                return
    raise ProgramError(
        f"{state.name} is {now.distribution}[{now.type}] in {graph.name}, and {location.name} holds "
        f"{was.distribution}[{was.type}] of it, which is another{why}. A record may get fields with a default, int may "
        "become float and T may become T | None, in values but not in keys: give the new state another name, or give "
        f"up what is saved with `anabranch migrate {location.name} --drop {state.name}`"
    )


def _refuse_other_shapes(graph: Graph, program: Program, found: Found) -> None:
    """Rows of dense state name all its places, of all instances together: the last of them says its shape."""
    for state in graph.states:
        chunks = [chunk for chunk in found.snapshot.chunks if chunk.state == state.name]
        if state.cls not in (DenseVector, DenseMatrix) or not chunks:
            continue
        held: Any = program.__anabranch_states__[state.name]
        now, was = _shape(held), [0] * len(_shape(held))
        for chunk in chunks:
            for rows in batches(found.location.read(chunk.file), chunk):
                for i, column in enumerate(rows.columns[: len(was)]):
                    was[i] = max(was[i], (pc.max(column).as_py() or 0) + 1 if len(rows) else 0)
        if tuple(was) != now:
            raise ProgramError(
                f"{state.name} has the shape {_sizes(now)} in {graph.name}, and {found.location.name} holds the shape "
                f"{_sizes(was)} of it: give it the shape that it had, give the new one another name, or give up what "
                f"is saved with `anabranch migrate {found.location.name} --drop {state.name}`"
            )


def _shape(held: Any) -> tuple[int, ...]:
    return tuple(held.shape) if isinstance(held, DenseMatrix) else (len(held),)


def _sizes(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def _routing(graph: Graph, found: Found, workers: int) -> Routing:
    saved = found.instances
    routing = routing_for(graph, saved, workers)
    spread, has = found.snapshot.instance_of_bucket, f"was saved by {saved} workers"
    refuse_what_cannot_move(graph, spread, routing, has, f"start with workers={saved}")
    return routing
