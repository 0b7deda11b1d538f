"""Where the drivers meet the simulator: they open the disk they are given, and their threads are fibers.

Everything else of `saved`, `saver`, `snapshots`, `opening`, `restoring` and `working` runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any
from unittest.mock import patch

from anabranch.drivers.durable import copying, opening, snapshots
from anabranch.drivers.durable import worker as working
from anabranch.state.checkpoint.generations import claim
from anabranch.state.checkpoint.snapshots import SnapshotWriter


class Threads:
    """Stands for `threading` in `working`: `spawn` gets what a thread would run."""

    def __init__(self) -> None:
        self.spawn: Callable[[Callable[[], None]], None] | None = None

    def Thread(self, target: Callable[[], None], **_: Any) -> _Thread:
        return _Thread(self, target)


class _Thread:
    def __init__(self, threads: Threads, target: Callable[[], None]) -> None:
        self._threads, self._target = threads, target

    def start(self) -> None:
        assert self._threads.spawn is not None, "nobody runs it"
        self._threads.spawn(self._target)


class _Tokens:
    """Stands for `secrets`: the names of logs are the same in every telling."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def token_hex(self, length: int) -> str:
        return f"{next(self._numbers):0{2 * length}x}"


class _Snapshot:
    """As that of `working`, but what is copied is written at once."""

    def __init__(self, number: int, made: copying.Copying, writer: SnapshotWriter, piece: int) -> None:
        self.number, self.piece = number, piece
        self._copying, self._writer = made, writer
        self._error: Exception | None = None

    def copy(self) -> bool:
        more = self._copying.copy()
        try:
            if self._error is None:
                self._copying.write(self._writer)
        except Exception as error:
            self._error = error
        return more

    def finish(self, wanted: bool) -> list[tuple[str, int, str, int, int, int]]:
        if self._error is not None or not wanted:
            self._writer.abandon()
            if self._error is not None:
                raise self._error
            return []
        return [(c.state, c.instance, c.file, c.rows, c.bytes, c.crc) for c in self._writer.finish()]


def _given(where: Any, fence: str = "create") -> Any:
    return where


def _claim(location: Any, info: Any) -> int:
    return claim(location, {"program": info["program"]})  # and not when and by whom: stories are the same every time


def _start(self: Any, taken: int) -> None:
    self._taken = taken  # when there are snapshots, the scheduler says


@contextmanager
def simulated(slice_rows: int) -> Iterator[Threads]:
    """Inside the block drivers run in the simulator. Snapshots copy so many rows at a time."""
    threads = Threads()
    with ExitStack() as stack:
        for module, name, other in (
            (opening, "open_location", _given),
            (opening, "claim", _claim),
            (working, "open_location", _given),
            (working, "secrets", _Tokens()),
            (working, "threading", threads),
            (working, "_Snapshot", _Snapshot),
            (snapshots.Snapshots, "start", _start),
            (copying, "SLICE", slice_rows),
        ):
            stack.enter_context(patch.object(module, name, other))
        yield threads
