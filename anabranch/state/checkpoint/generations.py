"""Who may write: each run that opens a location claims the next number, and from then on the one before is fenced.

A run that was replaced may not know it and go on writing to the log of its own generation, also after the new run has
read it. So a run syncs its log, then checks that nobody came after it, then acknowledges; a new run claims, then reads.
Laws: whatever was acknowledged is read by the next; what was written later is never acknowledged, and the chain of the
next run's base says where the older logs end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from anabranch.state.checkpoint.errors import Damaged, Fenced
from anabranch.state.checkpoint.location import Location
from anabranch.state.checkpoint.sealed import sealed, unsealed

FOLDER = "generations"

_NAME = re.compile(rf"{FOLDER}/(\d{{8,}})(\.base)?")


@dataclass(frozen=True, slots=True)
class Base:
    """Where a generation begins: at `version`, which is what the manifest and the logs of the chain give.

    The chain has (generation, last epoch that counts) of the earlier generations after that manifest, oldest first.
    `logs` are the writers whose log of this generation has its first piece: if that is not there, it is lost.
    """

    manifest: str | None
    chain: tuple[tuple[int, int], ...]
    version: int
    attempt: int
    sequence: int
    writers: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """Where the log of what a run committed ends, if that run ended in peace: in a piece that has so many bytes, with
    this epoch.
    """

    piece: int
    size: int
    epoch: int


class Generation:
    """The right of a run to write, until another claims the next."""

    def __init__(self, location: Location, number: int) -> None:
        self._location, self.number = location, number

    def check(self) -> None:
        """`Fenced` if another run has opened the location since. To be asked after a sync, before acknowledging."""
        if self._location.exists(claim_name(self.number + 1)):
            newest = max(n for n, is_base in numbers(self._location) if not is_base)
            raise Fenced(
                f"{self._location.name} was opened by another run since: generation {newest}, "
                f"{_said(self._location, newest)}. This run is generation {self.number} and acknowledges nothing more; "
                "what it has acknowledged is safe. Only one run at a time can use a location: stop one of them"
            )

    def begin(self, base: Base) -> None:
        """Say where this generation begins. Before that, nothing of it counts."""
        content = {
            "manifest": base.manifest,
            "chain": [list(link) for link in base.chain],
            "version": base.version,
            "attempt": base.attempt,
            "sequence": base.sequence,
            "writers": list(base.writers),
            "logs": list(base.logs),
            "generation": self.number,
        }
        self._location.create(base_name(self.number), sealed("base", content))

    def end(self, end: End) -> None:
        """Say that nothing more is written: a log that is shorter later was cut off by something else than a crash."""
        self.check()
        self._location.create(end_name(self.number), sealed("end", {**asdict(end), "generation": self.number}))


def claim(location: Location, info: Mapping[str, Any]) -> int:
    """A number greater than that of every run before. `info` tells others who we are: program, host, pid, time."""
    number = 0
    while True:
        number = max([number, *(n for n, _ in numbers(location))]) + 1
        try:
            location.create(claim_name(number), sealed("generation", {**info, "generation": number}))
        except FileExistsError:
            continue
        return number


def claimed_by(location: Location, number: int) -> dict[str, Any]:
    """What the run of a generation said about itself."""
    return _of_generation(location, claim_name(number), "generation", number)


def latest(location: Location, *, undamaged: bool = False, newest: int | None = None) -> tuple[int, Base] | None:
    """The newest generation that has begun, and where; or the newest of which that can be read.

    With `newest` those above it are passed over.
    """
    begun = [n for n, is_base in numbers(location) if is_base and (newest is None or n <= newest)]
    for number in sorted(begun, reverse=True):
        try:
            return number, base_of(location, number)
        except Damaged:
            if not undamaged:
                raise
    return None


def base_of(location: Location, number: int) -> Base:
    """Where a generation begins; FileNotFoundError if it has not begun."""
    name = base_name(number)
    content = _of_generation(location, name, "base", number)
    try:
        content.setdefault("logs", ())
        chain = tuple((generation, epoch) for generation, epoch in content["chain"])
        return Base(**{**content, "chain": chain, "writers": tuple(content["writers"]), "logs": tuple(content["logs"])})
    except (KeyError, TypeError, ValueError) as error:
        raise Damaged(name, 0, None, f"it is no base of a generation: {error!r}") from error


def end_of(location: Location, number: int) -> End | None:
    """Where a generation ended; None if it did not end in peace, or has not ended."""
    name = end_name(number)
    try:
        return End(**_of_generation(location, name, "end", number))
    except FileNotFoundError:
        return None
    except TypeError as error:
        raise Damaged(name, 0, None, f"it is no end of a generation: {error!r}") from error


def _of_generation(location: Location, name: str, kind: str, number: int) -> dict[str, Any]:
    """The content of a file, without the generation that it names itself."""
    content = unsealed(location, name, kind)
    named = content.pop("generation", number)
    if named != number:
        raise Damaged(name, 0, None, f"it was written for generation {named}")
    return content


def numbers(location: Location) -> Iterator[tuple[int, bool]]:
    """All generations that were claimed, and all that have begun (True)."""
    for name in location.list(FOLDER):
        if match := _NAME.fullmatch(name):
            yield int(match[1]), match[2] is not None


def claim_name(number: int) -> str:
    return f"{FOLDER}/{number:08}"


def base_name(number: int) -> str:
    return f"{FOLDER}/{number:08}.base"


def end_name(number: int) -> str:
    return f"{FOLDER}/{number:08}.end"


def _said(location: Location, number: int) -> str:
    try:
        return (
            ", ".join(f"{key} {value}" for key, value in claimed_by(location, number).items()) or "which says nothing"
        )
    except (Damaged, FileNotFoundError):
        return "of which nothing is known"
