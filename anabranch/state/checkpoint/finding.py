"""What a restore needs: the newest snapshot that is whole, and the effects of what was committed since.

Laws: what is found holds every epoch that was acknowledged; it never holds part of one. Where that cannot be said,
`Damaged` is raised.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.found import COORDINATOR, Commit, Found, Span
from anabranch.state.checkpoint.generations import base_of, end_of
from anabranch.state.checkpoint.history import History, Link, candidates, chunk_sizes, history, whole_manifest
from anabranch.state.checkpoint.location import Location
from anabranch.state.checkpoint.manifests import Manifest, order_of
from anabranch.state.checkpoint.reading import Piece, pieces, read_log
from anabranch.state.checkpoint.snapshots import Chunk, check_chunk

LARGE = 1 << 26  # bytes of files that are worth threads
IsWhole = Callable[[Location, Chunk], object]


def find(
    location: Location, to_version: int | None = None, *, skip: Collection[str] = (), newest: int | None = None
) -> Found | None:
    """What the newest generation that has begun goes on from; None if there is none.

    With `to_version`, what came after that epoch is ignored: the way on after damage. Manifests in `skip` are taken as
    damaged: for a caller that found the rows of one to be so. With `newest`, no later generation is looked at.
    """
    try:
        past = history(location, newest=newest)
    except Damaged as error:
        return _before_damaged_base(location, to_version, skip, error)
    return None if past is None else _in(location, past, to_version, skip)


def _before_damaged_base(
    location: Location, to_version: int | None, skip: Collection[str], damage: Damaged
) -> Found | None:
    """Nothing of the newest generation can be said. What was before it is given only to who asks for no more."""
    past = history(location, undamaged=True)
    try:
        found = None if past is None else _in(location, past, to_version, skip)
    except Damaged:  # what is left leads nowhere: what was found first is what is wrong
        found = None
    if found is not None and found.version == to_version:
        return replace(found, notes=(f"{damage.file} cannot be used: {damage.why}", *found.notes))
    good = None if found is None else (found.version, found.attempt)
    raise Damaged(damage.file, damage.offset, good, damage.why) from damage


def _in(location: Location, past: History, to_version: int | None, skip: Collection[str]) -> Found:
    """What a history gives."""
    sizes, notes, first = chunk_sizes(location), [f"{name} is left out" for name in skip], None
    for name in candidates(location, past, skip):
        try:
            manifest = whole_manifest(location, name, sizes)
        except Damaged as error:
            first = first or error
            notes.append(f"{name} cannot be used: {error.file}: {error.why}")
            continue
        if to_version is None or manifest.version <= to_version:
            return _noted(location, past, manifest, to_version, notes)
    if past.origin is not None and (to_version is None or past.origin.version <= to_version):
        return _noted(location, past, None, to_version, notes)
    if first is not None or to_version is None:
        where = past.base.manifest or "manifests"
        damage = first or Damaged(
            where, 0, None, "no manifest is there, and logs alone do not go back to the beginning"
        )
        for note in notes:
            damage.add_note(note)
        raise damage
    raise ValueError(f"{location.name} has no snapshot of version {to_version} or before: choose a later one")


def find_whole(
    location: Location, to_version: int | None = None, is_whole: IsWhole = check_chunk, *, logs: bool = False
) -> Found | None:
    """The same, with all files of the snapshot read and checked: one that has a damaged file is passed over, if there
    is an older one from which the logs lead on. `is_whole` raises `Damaged` if a file is not as it was written. With
    `logs` all frames are read too.
    """
    skip: list[str] = []
    while True:
        found = find(location, to_version, skip=skip)
        if found is None:
            return None
        try:
            _check_all(location, found.snapshot.chunks, is_whole)
        except Damaged as error:
            assert found.name is not None
            skip.append(found.name)
            try:
                find(location, to_version, skip=skip)
            except (Damaged, ValueError):
                raise error from None  # there is none: this is what is wrong
        else:
            for _ in found.frames() if logs else ():
                pass
            return found


def _check_all(location: Location, chunks: Sequence[Chunk], is_whole: IsWhole) -> None:
    """Large ones by several threads: a checksum is made at the speed of a core."""
    if len(chunks) < 2 or sum([chunk.bytes for chunk in chunks]) < LARGE:
        for chunk in chunks:
            is_whole(location, chunk)
        return
    with ThreadPoolExecutor(os.cpu_count() or 1, "anabranch-check") as pool:
        for done in [pool.submit(is_whole, location, chunk) for chunk in chunks]:
            done.result()


def find_last_good(location: Location, is_whole: IsWhole = check_chunk) -> Found | None:
    """After damage: the newest version that can be restored when asked for, with all that it needs read and checked."""
    past = history(location, undamaged=True)
    kept = [order_of(name) for name in (() if past is None else candidates(location, past))]
    ends = {v for order in kept if order for v in (order[1], order[1] - 1) if v >= 0}
    below: int | None = None
    while True:  # each time an older one is tried
        told: int | None = None
        try:
            return find_whole(location, below, is_whole, logs=True)
        except Damaged as error:
            told = error.last_good and error.last_good[0]
        except ValueError:  # there is no snapshot as old as that
            return None
        older = [v for v in {*ends, told} if v is not None and (below is None or v < below)]
        if not older:
            return None
        below = max(older)


def _noted(
    location: Location, past: History, manifest: Manifest | None, to_version: int | None, notes: list[str]
) -> Found:
    try:
        found = _from(location, past, manifest, to_version)
    except Damaged as error:
        good = error.last_good
        if good is not None and manifest is not None and good[0] < manifest.version and not _can(location, good[0]):
            error = Damaged(error.file, error.offset, None, error.why)
        for note in notes:
            error.add_note(note)
        raise error from None
    return replace(found, notes=tuple(notes))


def _can(location: Location, version: int) -> bool:
    """Whether a version can be restored, from an older manifest."""
    try:
        found = find(location, version)
    except (Damaged, ValueError):
        return False
    return found is not None and found.version == version


def _from(location: Location, past: History, manifest: Manifest | None, to_version: int | None) -> Found:
    """What there is after a manifest, or from the very beginning."""
    reached = _start(past, manifest)
    begun = 0 if manifest is None else manifest.begun
    spans: list[Span] = []
    chain: list[tuple[int, int]] = []
    for link in past.links:
        if manifest is not None and link.generation < manifest.generation:
            continue
        own = manifest is not None and link.generation == manifest.generation
        first = dict(manifest.first_pieces) if own and manifest is not None else {}
        limit = min((x for x in (link.last, to_version) if x is not None), default=None)
        begun = COORDINATOR in (manifest.logs if own and manifest is not None else _logs_of(location, link.generation))
        commits, reached = _commits(location, link, first, limit, reached, begun)
        if limit is not None and link.last == limit and reached.epoch < limit:
            file = Piece(link.generation, COORDINATOR, first.get(COORDINATOR, 0)).file
            why = f"its commits end with epoch {reached.epoch}, a later run has gone on from epoch {limit}"
            raise Damaged(file, 0, (reached.epoch, reached.attempt), why)
        spans.append(Span(link.generation, first, tuple(c for c in commits if c.epoch >= begun)))
        chain.append((link.generation, reached.epoch))
        if to_version is not None and reached.epoch >= to_version:
            break
    if manifest is not None and reached.epoch < manifest.version:
        file = Piece(manifest.generation, COORDINATOR, manifest.first_pieces.get(COORDINATOR, 0)).file
        why = f"its commits end with epoch {reached.epoch}, {manifest.name} needs them up to {manifest.version}"
        raise Damaged(file, 0, None, why)
    if to_version is None:
        _check_end(location, past.number, reached)
    return Found(
        location,
        past,
        None if manifest is None else manifest.name,
        manifest,
        reached.epoch,
        reached.attempt,
        reached.sequence,
        tuple(spans),
        tuple(chain),
        (),
    )


def _start(past: History, manifest: Manifest | None) -> Commit:
    """The version before the first commit that is read."""
    if manifest is None:
        origin = past.origin or past.base
        return Commit(origin.version, origin.attempt, origin.sequence, None)
    if manifest.begun > manifest.version:
        return Commit(manifest.version, manifest.attempt, manifest.sequence, None)
    return Commit(manifest.begun - 1, 0, 0, None)


def _logs_of(location: Location, generation: int) -> tuple[str, ...]:
    """The writers whose log in a generation is known to have been begun."""
    try:
        return base_of(location, generation).logs
    except (FileNotFoundError, Damaged):
        return ()


def _check_end(location: Location, generation: int, reached: Commit) -> None:
    """If the last run ended in peace, its log has all that it had then."""
    try:
        end = end_of(location, generation)
    except Damaged:
        return  # what it would tell is not needed to restore; `verify` reports it
    if end is None:
        return
    piece, good = Piece(generation, COORDINATOR, end.piece), (reached.epoch, reached.attempt)
    size = pieces(location).get(piece)
    if size is None:
        raise Damaged(piece.file, 0, good, "the file is missing")
    if size != end.size or reached.epoch < end.epoch:
        why = f"it had {end.size} bytes, up to epoch {end.epoch}, when its run ended in peace"
        raise Damaged(piece.file, size, good, f"it has {size} bytes, up to epoch {reached.epoch}; {why}")


def _check_snapshots(
    location: Location, noted: Sequence[Mapping[str, Any]], limit: int | None, reached: Commit
) -> None:
    """What a later snapshot held, and was in no log, is lost with it."""
    for note in noted:
        name, version = note.get("snapshot", ""), note.get("version", 0)
        if version > reached.epoch and (limit is None or version <= limit):
            why = "it cannot be used" if location.exists(name) else "the file is missing"
            why += f", and the logs alone lead to epoch {reached.epoch} only"
            raise Damaged(name, 0, (reached.epoch, reached.attempt), why)


def _commits(
    location: Location, link: Link, first: dict[str, int], limit: int | None, reached: Commit, begun: bool
) -> tuple[list[Commit], Commit]:
    """The commits of a generation up to an epoch, and the last of them. With `begun` its log is known to be there."""
    commits: list[Commit] = []
    noted: list[dict[str, Any]] = []
    number = first.get(COORDINATOR, 0)
    if limit is not None and reached.epoch >= limit:
        return commits, reached  # also if what follows is damaged
    try:
        for frame in read_log(location, link.generation, COORDINATOR, number, begun=begun, noted=noted.append):
            if limit is not None and frame.epoch > limit:
                break
            if frame.head.get("commit"):
                if frame.head.get("after", 0) > reached.epoch:
                    continue  # of a snapshot that was not finished: not all between was logged
                writers = frame.head.get("writers")
                commit = Commit(
                    frame.epoch,
                    frame.attempt,
                    frame.head.get("sequence", 0),
                    None if writers is None else frozenset(writers),
                    frame.head.get("instances", 0),
                )
                commits.append(commit)
                reached = commit if commit.epoch >= reached.epoch else reached
                if commit.epoch == limit:
                    break
    except Damaged as error:
        raise Damaged(error.file, error.offset, (reached.epoch, reached.attempt), error.why) from error
    _check_snapshots(location, noted, limit, reached)
    return commits, reached
