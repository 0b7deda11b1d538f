"""The memory that the states of one address space may take: `ab.run(..., memory="4GB")`.

What counts: flat memory as it is allocated, with its undo log; plain states as they are estimated, with what their
journals keep. What does not: the interpreter and its libraries, rows and results on their way, what a snapshot copies.

Laws: only growth is refused, before it happens in flat memory and before it is committed in plain states; a refusal
names what every state takes. The undo log is never refused, so that what removes entries always works, but what it
takes is not there to grow into.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from typing import Any, Protocol

from anabranch.lang.errors import MemoryFull
from anabranch.lang.scalars import short

UNITS = {"": 1, "B": 1} | {
    f"{prefix}{infix}B": base**power
    for infix, base in (("", 1000), ("i", 1024))
    for power, prefix in enumerate("KMGT", 1)
}
MOST = 1 << 63
WAYS_ON = (
    "Give the app more with memory=, run it with more workers on more machines, or remove entries; "
    "state beyond memory is not supported yet"
)


def bytes_of(memory: Any) -> int:
    """The bytes that `memory=` means.

    >>> bytes_of("4GB"), bytes_of("1.5 GiB"), bytes_of("512mb"), bytes_of(1_000_000)
    (4000000000, 1610612736, 512000000, 1000000)
    """
    if isinstance(memory, int) and not isinstance(memory, bool):
        found = int.__int__(memory)
        size: float = found
    elif isinstance(memory, str):
        memory = str.__str__(memory)
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", memory)
        units = {unit.lower(): size for unit, size in UNITS.items()}
        if match is None or match[2].lower() not in units:
            raise ValueError(f'memory is a size such as "4GB", "512MB" or "1.5GiB", got {short(memory)}')
        size = float(match[1]) * units[match[2].lower()]
        found = int(min(size, MOST))
    else:
        raise TypeError(f'memory is a text such as "4GB" or a number of bytes, got {short(memory)}: write memory="4GB"')
    if size >= MOST:
        raise ValueError(f'memory is less than 8 EiB, got {short(memory)}: write memory="4GB"')
    if found < 1:
        raise ValueError(f'memory is more than nothing, got {short(memory)}: write memory="4GB"')
    return found


def as_text(size: int) -> str:
    """
    >>> as_text(999), as_text(4_000_000_000), as_text(1_610_612_736), as_text(123_456)
    ('999 bytes', '4 GB', '1.61 GB', '123 kB')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"


class Holder(Protocol):
    """What takes memory: an arena, or the account of an instance. `pressed` if something was refused since it was last
    made tidy.
    """

    pressed: bool

    @property
    def total(self) -> int: ...
    @property
    def sizes(self) -> dict[str, int]: ...
    @property
    def undo(self) -> int: ...


class Budget:
    """`limit` bytes for the states of this address space, of `whole` for the app. Whoever grows has the `lock`."""

    def __init__(self, limit: int, whole: int | None = None, worker: int | None = None) -> None:
        self.limit, self.whole, self._worker = limit, limit if whole is None else whole, worker
        self.lock = threading.RLock()
        self.arenas: list[Any] = []
        self.accounts: list[list[Any]] = []  # of each memory

    @property
    def holders(self) -> Iterable[Holder]:
        return (*self.arenas, *[account for accounts in self.accounts for account in accounts])

    def leave(self, accounts: list[Any], arenas: Iterable[Any]) -> None:
        """This memory is no more."""
        self.accounts = [other for other in self.accounts if other is not accounts]
        gone = {id(arena) for arena in arenas}
        self.arenas = [arena for arena in self.arenas if id(arena) not in gone]

    @property
    def accounted(self) -> int:
        """Bytes of all that counts."""
        return sum([holder.total + holder.undo for holder in self.holders])

    @property
    def room(self) -> int:
        return self.limit - self.accounted

    def refuse(self, what: str, excess: int) -> MemoryFull:
        """The error that says by how much something would exceed it; what can be had back will be looked for."""
        for holder in self.holders:
            holder.pressed = True
        return MemoryFull(
            f"memory is full: {what} would go {as_text(max(excess, 1))} beyond {self._story()}. "
            f"Nothing of it has taken effect. {WAYS_ON}"
        )

    def check(self, when: str) -> None:
        """Refuse to begin with more than there may be."""
        if self.room < 0:
            raise MemoryFull(f"{when}, the states go {as_text(-self.room)} beyond {self._story()}. {WAYS_ON}")

    def _story(self) -> str:
        sizes: dict[str, int] = {}
        for holder in self.holders:
            for name, size in holder.sizes.items():
                sizes[name] = sizes.get(name, 0) + size
        undo = sum([holder.undo for holder in self.holders])
        named = [f"{name} takes {as_text(size)}" for name, size in sizes.items()]
        if undo:
            named.append(f"what would undo the request {as_text(undo)}")
        share = ""
        if self._worker is not None:
            share = f", the share of worker {self._worker} in memory={as_text(self.whole)!r}"
        return f"the {as_text(self.limit)} that states may take{share}. Now {', '.join(named)}"
