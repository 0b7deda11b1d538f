"""Remove what nothing needs any more.

Law: what `find` gives is the same before and after, also if the newest of the manifests that are kept turn out damaged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from anabranch.state.checkpoint.errors import Damaged, Fenced
from anabranch.state.checkpoint.generations import Generation, base_name, end_name, numbers
from anabranch.state.checkpoint.history import History, candidates, chunk_sizes, history, whole_manifest
from anabranch.state.checkpoint.location import Location
from anabranch.state.checkpoint.manifests import Manifest, manifests, order_of, read_manifest
from anabranch.state.checkpoint.reading import pieces

_SNAPSHOT = re.compile(r"snapshots/(\d+)-(\d+)/.+")


def collect(
    location: Location, keep: int = 2, writing: Collection[str] = (), *, generation: int | None = None
) -> list[str]:
    """Remove what no restore of the newest `keep` whole manifests reads; the names of what was removed.

    The beginning of the logs counts as the oldest manifest. `generation` is that of the caller: only with it are
    unfinished snapshots of that generation removed, but for those below a name in `writing`; `Fenced` if a later one
    was claimed. Without it, nothing is removed then: whoever claimed it may be reading. Claims of generations stay for
    ever: a run that was replaced long ago must still find that it was.
    """
    if keep < 1:
        raise ValueError(f"at least one manifest has to be kept, got keep={keep}")
    past = history(location)
    if past is None:
        return []
    sizes = chunk_sizes(location)
    kept: list[Manifest] = []
    for name in candidates(location, past):
        if len(kept) < keep:
            try:
                kept.append(whole_manifest(location, name, sizes))
            except Damaged:
                continue
    # Now, not before: who claims from here on reads afterwards, finds what is kept and needs nothing else.
    try:
        Generation(location, past.number if generation is None else generation).check()
    except Fenced:
        if generation is None:
            return []
        raise
    removed = []
    for name in [*_unneeded(location, past, kept if len(kept) == keep else None, sizes, writing, generation)]:
        location.remove(name)
        removed.append(name)
    return removed


def _unneeded(
    location: Location,
    past: History,
    kept: list[Manifest] | None,
    sizes: dict[str, int],
    writing: Collection[str],
    generation: int | None,
) -> Iterator[str]:
    """In an order in which what is left is always whole: manifests before what they name.

    Without `kept` there are too few manifests: only what belongs to no history goes.
    """
    counting = {link.generation for link in past.links}
    oldest = kept[-1] if kept else None
    named: set[str] = set()

    def is_past(of: int) -> bool:
        """Whether a generation is left behind: none that is newer than the newest that has begun."""
        return of < past.number and (of not in counting or (oldest is not None and of < oldest.generation))

    for name in manifests(location):
        order = order_of(name)
        if order is None:
            continue
        left_behind = order[0] < past.number and not past.counts(name)
        if left_behind or is_past(order[0]) or (oldest is not None and order < (oldest.generation, oldest.version)):
            yield name
        else:
            named |= _folders(location, name)
    for number, is_base in numbers(location):
        if is_base and is_past(number):
            yield base_name(number)
            if location.exists(end_name(number)):
                yield end_name(number)
    for file in sizes:
        match = _SNAPSHOT.fullmatch(file)
        if match is None or any(file.startswith(n) for n in named) or _is_within(file, writing):
            continue
        if int(match[2]) < past.number or int(match[2]) == generation == past.number:
            yield file
    for piece in pieces(location):
        first = oldest.first_pieces.get(piece.writer, 0) if oldest is not None else 0
        if is_past(piece.generation) or (
            oldest is not None and piece.generation == oldest.generation and piece.number < first
        ):
            yield piece.file


def _folders(location: Location, name: str) -> set[str]:
    """Where the files of a snapshot are; one whose manifest cannot be read may be anywhere, and has none to lose."""
    try:
        return {chunk.file.rpartition("/")[0] + "/" for chunk in read_manifest(location, name).chunks}
    except Damaged:
        return set()


def _is_within(file: str, names: Collection[str]) -> bool:
    return any(file == name or file.startswith(name.rstrip("/") + "/") for name in names)
