"""What a checkpoint location holds, and whether it is whole: what `anabranch inspect` shows.

Laws: nothing is changed and nothing is raised for what is damaged; `ab.run` restores `version`, or `last_good` if it is
told to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.generations import base_of, claimed_by, numbers
from anabranch.state.checkpoint.history import candidates, history
from anabranch.state.checkpoint.location import Location, Where, open_location
from anabranch.state.checkpoint.manifests import Manifest, manifests, order_of, read_manifest
from anabranch.state.checkpoint.reading import pieces
from anabranch.state.checkpoint.recovery import Found, find_last_good, find_whole, verify
from anabranch.state.checkpoint.snapshots import Chunk

FOLDERS = ("generations", "manifests", "snapshots", "log")

Watch = Callable[[int, int], None]
"""Told how many bytes were read, of how many."""


@dataclass(frozen=True, slots=True)
class Run:
    """A generation: who opened the location, and at which version it began; None if it never did, or if that is no
    longer needed.
    """

    generation: int
    from_version: int | None
    said: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version that is kept. One that does not count belongs to what was left behind, and will be removed."""

    manifest: str
    version: int
    generation: int
    rows: int
    bytes: int
    counts: bool


@dataclass(frozen=True, slots=True)
class Part:
    """What an instance has of a state. `buckets` are ranges, first and last; of partitioned state only."""

    instance: int
    buckets: tuple[tuple[int, int], ...]
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Held:
    """A state in the snapshot from which a restore begins."""

    name: str
    type: str
    distribution: str
    rows: int
    bytes: int
    instances: tuple[Part, ...]


@dataclass(slots=True)
class Inspection:
    """`version` is what `ab.run` would restore, None if it cannot or there is nothing. `damage` is by file."""

    location: str
    verified: bool
    program: str | None = None
    version: int | None = None
    manifest: str | None = None
    runs: list[Run] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    states: list[Held] = field(default_factory=list)
    log_bytes: int = 0
    log_files: int = 0
    epochs: int = 0
    """Committed since the snapshot: what a restore has to apply."""
    files: int = 0
    bytes: int = 0
    damage: dict[str, str] = field(default_factory=dict)
    last_good: int | None = None
    """The version to go on from; where nothing that matters is damaged, the same as `version`."""
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.damage

    @property
    def way_on(self) -> str | None:
        """What to do about the damage."""
        if self.ok:
            return None
        if self.version is not None:
            return f"Version {self.version} can be restored all the same: what is damaged is not needed for it"
        if self.last_good is None:
            return "No version can be restored: to go on, restore the damaged files from a copy"
        return (
            f"The last good version is {self.last_good}. To go on, restore the damaged files from a copy, or start "
            f"with ab.run(..., to_version={self.last_good}), which gives up what came after it"
        )

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok, "way_on": self.way_on}


def inspect(
    location: Where | Sequence[Where], *, verifying: bool = True, watch: Watch = lambda done, of: None
) -> Inspection:
    """Look at a location. Without `verifying` only what is needed to tell is read, and damage elsewhere is not seen."""
    return look(open_location(location, writing=False), verifying=verifying, watch=watch)


def look(place: Location, *, verifying: bool = True, watch: Watch = lambda done, of: None) -> Inspection:
    sizes = {file: size for folder in FOLDERS for file, size in place.list(folder).items()}
    seen = Inspection(place.name, verifying, files=len(sizes), bytes=sum(sizes.values()))
    if verifying:
        done = 0

        def read(file: str) -> None:
            nonlocal done
            done += sizes.get(file, 0)
            watch(done, seen.bytes)

        report = verify(place, read)
        bad = {file: said for file, said in report.files.items() if not said.startswith("ok")}
        seen.damage = _not_removed(place, bad) if bad else {}
    seen.runs = [*_runs(place)]
    seen.snapshots = [*_snapshots(place)]
    logs = pieces(place)
    seen.log_files, seen.log_bytes = len(logs), sum(logs.values())
    found = _restorable(place, seen)
    if seen.damage and found is None:
        found = find_last_good(place, partial(_not_among, seen.damage))
    if found is not None:
        snapshot = found.snapshot
        seen.program, seen.manifest, seen.notes = snapshot.program, snapshot.name, found.notes
        seen.states = [*_states(snapshot)]
        seen.epochs = sum(c.epoch > snapshot.version for span in found.spans for c in span.commits)
        seen.last_good = found.version
    return seen


def _restorable(place: Location, seen: Inspection) -> Found | None:
    """What `ab.run` would restore, if it can."""
    try:
        found = find_whole(place, None, partial(_not_among, seen.damage), logs=seen.verified)
        seen.version = None if found is None else found.version
        return found
    except Damaged as error:
        seen.version = None
        seen.damage.setdefault(error.file, f"byte {error.offset}: {error.why}")
        return None


def _not_among(damaged: Collection[str], _: Location, chunk: Chunk) -> None:
    if chunk.file in damaged:
        raise Damaged(chunk.file, 0, None, "it is damaged")


def _not_removed(place: Location, bad: dict[str, str]) -> dict[str, str]:
    """Without what a run that goes on has removed meanwhile, because nothing needs it any more."""
    there = {file for folder in FOLDERS for file in place.list(folder)}
    for name in manifests(place):
        try:
            there |= {chunk.file for chunk in read_manifest(place, name).chunks}
        except Damaged:
            continue
    return {file: said for file, said in bad.items() if file in there}


def _runs(place: Location) -> Iterable[Run]:
    known = sorted(numbers(place))
    begun = {number for number, is_base in known if is_base}
    for number, is_base in known:
        if is_base:
            continue
        said: dict[str, Any] = {}
        version = None
        try:
            said = claimed_by(place, number)
            version = base_of(place, number).version if number in begun else None
        except (Damaged, FileNotFoundError):
            pass  # it is among the damaged files
        yield Run(number, version, said)


def _snapshots(place: Location) -> Iterable[Snapshot]:
    try:
        past = history(place, undamaged=True)
    except Damaged:
        past = None
    counting = [] if past is None else candidates(place, past)
    for name in manifests(place):
        generation, version = order_of(name) or (0, 0)
        try:
            chunks = read_manifest(place, name).chunks
        except Damaged:
            chunks = ()
        rows, size = sum(c.rows for c in chunks), sum(c.bytes for c in chunks)
        yield Snapshot(name, version, generation, rows, size, name in counting)


def _states(snapshot: Manifest) -> Iterable[Held]:
    buckets = _ranges(snapshot.instance_of_bucket)
    for name, saved in snapshot.states.items():
        of: dict[int, tuple[int, int]] = {}
        if saved.distribution != "Replicated":  # of which there is one
            of = dict.fromkeys(range(snapshot.instances), (0, 0))
        for chunk in snapshot.chunks:
            if chunk.state == name:
                rows, size = of.get(chunk.instance, (0, 0))
                of[chunk.instance] = rows + chunk.rows, size + chunk.bytes
        owned = buckets if saved.distribution == "Partitioned" else {}
        parts = tuple(Part(i, owned.get(i, ()), *of[i]) for i in sorted(of))
        rows, size = sum(p.rows for p in parts), sum(p.bytes for p in parts)
        yield Held(name, saved.type, saved.distribution, rows, size, parts)


def _ranges(instance_of_bucket: Sequence[int]) -> dict[int, tuple[tuple[int, int], ...]]:
    """The buckets of each instance, as ranges.

    >>> _ranges([0, 0, 1, 0])
    {0: ((0, 1), (3, 3)), 1: ((2, 2),)}
    """
    found: dict[int, tuple[tuple[int, int], ...]] = {}
    at = 0
    for instance, run in groupby(instance_of_bucket):
        length = len(list(run))
        found[instance] = (*found.get(instance, ()), (at, at + length - 1))
        at += length
    return found
