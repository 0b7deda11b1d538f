"""Which generations count, up to which epoch, and which manifests are whole."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.generations import Base, base_name, base_of, latest
from anabranch.state.checkpoint.location import Location
from anabranch.state.checkpoint.manifests import Manifest, manifests, order_of, read_manifest
from anabranch.state.checkpoint.reading import is_empty, pieces
from anabranch.state.checkpoint.snapshots import FOLDER as SNAPSHOTS


@dataclass(frozen=True, slots=True)
class Link:
    """A generation that counts, up to an epoch (None: to the end of its logs)."""

    generation: int
    last: int | None


@dataclass(frozen=True, slots=True)
class History:
    """The newest generation that has begun, and those before it on which it stands, oldest first.

    `origin` is where the oldest begins, if that is known and is the very beginning: then logs alone give all.
    """

    number: int
    base: Base
    links: tuple[Link, ...]
    origin: Base | None

    def counts(self, name: str) -> bool:
        """Whether a manifest belongs to it: not to a run that was replaced, nor to what was left behind."""
        order = order_of(name)
        if order is None:
            return False
        generation, version = order
        return any(k.generation == generation and (k.last is None or version <= k.last) for k in self.links)


def history(location: Location, *, undamaged: bool = False, newest: int | None = None) -> History | None:
    """The history of a location, or of what is undamaged of it, or of a generation that has begun.

    It goes back as far as bases are there: a manifest before them is of no use.
    """
    begun = latest(location, undamaged=undamaged, newest=newest)
    if not undamaged and newest is None:
        _check_none_is_lost(location, 0 if begun is None else begun[0])
    if begun is None:
        return None
    number, base = begun
    links = (*_chain(base), Link(number, None))
    oldest: Base | None = base
    while True:
        first = links[0].generation
        try:
            oldest = base if first == number else base_of(location, first)
        except (FileNotFoundError, Damaged):
            oldest = None
            break
        earlier = tuple(k for k in _chain(oldest) if k.generation < first)
        if not earlier:
            break
        links = (*earlier, *links)
    origin = oldest if oldest is not None and oldest.manifest is None and not oldest.chain else None
    return History(number, base, links, origin)


def _check_none_is_lost(location: Location, newest: int) -> None:
    """A run that never began leaves at most the snapshot that it would have begun with, and an empty log. One of which
    there is more has begun, and acknowledged: where its base is gone, what was before it is not what there is to
    restore.
    """
    logged = {
        p.generation for p in pieces(location) if p.generation > newest and (p.number or not is_empty(location, p))
    }
    saved = [order[0] for name in manifests(location) if (order := order_of(name))]
    for number in sorted({*logged, *(g for g in saved if saved.count(g) > 1)}):
        name = base_name(number)
        if number > newest and not location.exists(name):  # it may be there since just now
            raise Damaged(name, 0, None, f"the file is missing; logs or snapshots of generation {number} are there")


def candidates(location: Location, past: History, skip: Collection[str] = ()) -> list[str]:
    """The manifests that count, the newest first."""
    return [name for name in reversed(manifests(location)) if name not in skip and past.counts(name)]


def chunk_sizes(location: Location) -> dict[str, int]:
    """The files of all snapshots."""
    return location.list(SNAPSHOTS)


def whole_manifest(location: Location, name: str, sizes: dict[str, int]) -> Manifest:
    """The manifest, if all files that it names are there in the right size; else `Damaged`."""
    manifest = read_manifest(location, name)
    for chunk in manifest.chunks:
        size = sizes.get(chunk.file)
        if size is None:
            raise Damaged(chunk.file, 0, None, f"the file is missing; {name} needs it")
        if size != chunk.bytes:
            raise Damaged(chunk.file, 0, None, f"it has {size} bytes, {name} says {chunk.bytes}")
    return manifest


def _chain(base: Base) -> tuple[Link, ...]:
    chain = tuple(Link(generation, last) for generation, last in base.chain)
    order = order_of(base.manifest) if base.manifest is not None else None
    if order is not None and all(k.generation != order[0] for k in chain):
        return (Link(*order), *chain)  # no log of the manifest's own generation is needed
    return chain
