"""The disk as a process sees it: slow, and of no use once the process is dead."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch.state.checkpoint.location import Part
from tests.state.checkpoint.disk import SimulatedDisk, SimulatedFile

Touch = Callable[[str, str], None]


class Mount:
    """A `Location`. `touch` is told of every operation before it happens, and may raise or wait."""

    def __init__(self, disk: SimulatedDisk, touch: Touch) -> None:
        self._disk, self._touch = disk, touch

    @property
    def name(self) -> str:
        return self._disk.name

    def create(self, name: str, data: bytes) -> None:
        self._touch("create", name)
        self._disk.create(name, data)

    def open(self, name: str) -> MountedFile:
        self._touch("open", name)
        return MountedFile(self._disk.open(name), name, self._touch)

    def read(self, name: str) -> memoryview:
        self._touch("read", name)
        return self._disk.read(name)

    def sync(self, name: str) -> None:
        self._touch("sync", name)
        self._disk.sync(name)

    def exists(self, name: str) -> bool:
        self._touch("exists", name)
        return self._disk.exists(name)

    def list(self, folder: str) -> dict[str, int]:
        self._touch("list", folder)
        return self._disk.list(folder)

    def remove(self, name: str) -> None:
        self._touch("remove", name)
        self._disk.remove(name)


class MountedFile:
    """An `Appending`."""

    def __init__(self, file: SimulatedFile, name: str, touch: Touch) -> None:
        self._file, self._name, self._touch = file, name, touch

    @property
    def size(self) -> int:
        return self._file.size

    def append(self, parts: Sequence[Part]) -> None:
        self._touch("append", self._name)
        self._file.append(parts)

    def sync(self) -> None:
        self._touch("sync", self._name)
        self._file.sync()

    def close(self) -> None:
        self._file.close()
