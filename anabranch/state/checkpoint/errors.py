"""What can be wrong with a checkpoint location."""

from __future__ import annotations


class Damaged(Exception):
    """A file that is not what was written. `last_good` is the last (epoch, attempt) known to be whole before it."""

    def __init__(self, file: str, offset: int, last_good: tuple[int, int] | None, why: str) -> None:
        self.file, self.offset, self.last_good, self.why = file, offset, last_good, why
        good = (
            "Nothing before it is known to be whole"
            if last_good is None
            else f"The last good version is {last_good[0]} (attempt {last_good[1]})"
        )
        way = "restore the file from a copy"
        if last_good is not None:
            n = last_good[0]
            way += f", or go on from version {n}: ab.run(..., to_version={n}) gives up what came after it"
        super().__init__(
            f"{file} is damaged at byte {offset}: {why}. {good}. "
            f"Files of a checkpoint are never changed once written: a disk, a copy or a person did. To go on, {way}"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return Damaged, (self.file, self.offset, self.last_good, self.why)


class Fenced(Exception):
    """Another run has opened the location since: this one may acknowledge nothing more."""


class NotExclusive(Exception):
    """A location that overwrites what it was asked to create only if absent: two runs could not fence each other."""
