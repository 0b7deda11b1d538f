"""A disk in memory that can lose power and be full: for tests and for the seeded simulator.

What `create` and `sync` promise holds. What was appended and not synced survives a crash whole, in part (the rest
missing, or zeros), or not at all; what was appended after a part that did not survive is lost too. A file that was
never synced may vanish. A removed file may be there again.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Sequence

from anabranch.state.checkpoint.location import Part, checked


class PowerLoss(OSError):
    """What a file says that was open when the power went."""


class _File:
    def __init__(self) -> None:
        self.data = bytearray()
        self.ends: list[int] = []  # of each append that was not synced
        self.synced = 0
        self.named = False


class SimulatedDisk:
    """A `Location`. `full` makes every write fail with ENOSPC; `before` gets (operation, name) and may raise."""

    def __init__(self, rng: random.Random | None = None, name: str = "simulated disk") -> None:
        self.name, self.full = name, False
        self.before: Callable[[str, str], None] = lambda operation, name: None
        self._rng = rng or random.Random(0)
        self._files: dict[str, _File] = {}
        self._removed: dict[str, _File] = {}
        self._power = 0

    def crash(self) -> None:
        """Lose power: forget what is not durable. Files that are open now are of no use any more."""
        self._power += 1
        for name, file in sorted(self._removed.items()):
            if name not in self._files and self._rng.random() < 0.3:
                self._files[name] = file
        self._removed = {}
        for name, file in sorted(self._files.items()):
            if not file.named and self._rng.random() < 0.3:
                del self._files[name]
                continue
            length = file.synced
            for end in file.ends:
                fate = self._rng.random()
                if fate < 0.4:
                    length = end
                    continue
                if fate < 0.8:
                    part = self._rng.randint(length, end)
                    zeros = self._rng.randint(part, len(file.data)) - part if self._rng.random() < 0.3 else 0
                    file.data[part:] = bytes(zeros)
                    length = part + zeros
                break
            del file.data[length:]
            file.synced, file.ends, file.named = length, [], True

    def create(self, name: str, data: bytes) -> None:
        self._write("create", name)
        if name in self._files:
            raise FileExistsError(errno.EEXIST, "is there", name)
        file = self._files[name] = _File()
        file.data += data
        file.synced, file.named = len(data), True

    def open(self, name: str) -> SimulatedFile:
        self._write("open", name)
        if name in self._files:
            raise FileExistsError(errno.EEXIST, "is there", name)
        file = self._files[name] = _File()
        return SimulatedFile(self, name, file)

    def read(self, name: str) -> memoryview:
        self.before("read", checked(name))
        if name not in self._files:
            raise FileNotFoundError(errno.ENOENT, "is not there", name)
        return memoryview(bytes(self._files[name].data))

    def sync(self, name: str) -> None:
        file = self._files[name]
        file.synced, file.ends, file.named = len(file.data), [], True

    def exists(self, name: str) -> bool:
        self.before("exists", checked(name))
        return name in self._files

    def list(self, folder: str) -> dict[str, int]:
        self.before("list", checked(folder))
        return {n: len(f.data) for n, f in self._files.items() if n.startswith(folder + "/")}

    def remove(self, name: str) -> None:
        self.before("remove", checked(name))
        file = self._files.pop(name, None)
        if file is not None and file.named:
            self._removed[name] = file

    def change(self, name: str, data: bytes) -> None:
        """Damage a file."""
        file = self._files[name]
        file.data, file.synced, file.ends = bytearray(data), len(data), []

    def copy(self) -> SimulatedDisk:
        """Another disk with the same files, all of them durable as they are now."""
        other = SimulatedDisk(random.Random(0), self.name)
        for name, file in self._files.items():
            other.create(name, bytes(file.data))
        return other

    def _write(self, operation: str, name: str) -> None:
        self.before(operation, checked(name))
        if self.full:
            raise OSError(errno.ENOSPC, "no space left on the simulated disk", name)


class SimulatedFile:
    """An `Appending`."""

    def __init__(self, disk: SimulatedDisk, name: str, file: _File) -> None:
        self._disk, self._name, self._file = disk, name, file
        self._power = disk._power
        self._broken = self._closed = False
        self.size = 0

    def append(self, parts: Sequence[Part]) -> None:
        self._check("append")
        data = b"".join(bytes(p) for p in parts)
        if self._disk.full:
            self._broken = True
            self._file.data += data[: self._disk._rng.randint(0, len(data))]
            self._file.ends.append(len(self._file.data))
            raise OSError(errno.ENOSPC, "no space left on the simulated disk", self._name)
        self._file.data += data
        self._file.ends.append(len(self._file.data))
        self.size += len(data)

    def sync(self) -> None:
        self._check("sync")
        if self._disk.full:
            self._broken = True
            raise OSError(errno.ENOSPC, "no space left on the simulated disk", self._name)
        self._file.synced, self._file.ends, self._file.named = len(self._file.data), [], True

    def close(self) -> None:
        self._closed = True

    def _check(self, operation: str) -> None:
        if self._disk._power != self._power:
            raise PowerLoss(errno.EIO, "the power was lost", self._name)
        if self._broken or self._closed:
            raise OSError(errno.EIO, "the file is broken or closed", self._name)
        try:
            self._disk.before(operation, self._name)
        except BaseException:
            self._broken = True
            raise
