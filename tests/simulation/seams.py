"""Where the drivers meet the simulator: they open the disk they are given, and their threads are fibers.

Everything else of `saved`, `saver`, `snapshots`, `opening`, `restoring` and `working` runs as it is, and so does all
that moves state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any, Protocol
from unittest.mock import patch

from anabranch.drivers import answers, moving
from anabranch.drivers.durable import copying, opening, snapshots
from anabranch.drivers.durable import worker as working
from anabranch.drivers.durable.labels import Labels
from anabranch.drivers.placing import Placing
from anabranch.drivers.scaling import at_coordinator, at_worker
from anabranch.engines.embedded import here
from anabranch.state.checkpoint.generations import claim
from anabranch.state.checkpoint.snapshots import SnapshotWriter
from tests.simulation.fibers import Fiber, Fibers


class Owner(Protocol):
    """A process: what it starts as a thread."""

    def spawn(self, run: Callable[[], None]) -> Fiber: ...


class Threads:
    """Stands for `threading`: threads are fibers of the process whose fiber starts them, or of the `owner`.

    Who waits for a time waits for `news`.
    """

    def __init__(self) -> None:
        self.fibers = Fibers()
        self.owner: Owner | None = None
        self.news = 0

    def Thread(self, target: Callable[..., None], args: tuple[Any, ...] = (), **_: Any) -> _Thread:
        return _Thread(self, lambda: target(*args))

    def Lock(self) -> _Lock:
        return _Lock(self.fibers)

    def Condition(self) -> _Condition:
        return _Condition(self)

    def Event(self) -> _Event:
        return _Event(self)


class _Thread:
    def __init__(self, threads: Threads, target: Callable[[], None]) -> None:
        self._threads, self._target = threads, target
        self._fiber: Fiber | None = None

    def start(self) -> None:
        current = self._threads.fibers.current
        owner: Any = self._threads.owner if current is None else current.owner
        self._fiber = owner.spawn(self._target)

    def join(self) -> None:
        fiber = self._fiber
        assert fiber is not None
        self._threads.fibers.pause(lambda: fiber.done)


class _Lock:
    def __init__(self, fibers: Fibers) -> None:
        self._fibers, self._held = fibers, False

    def __enter__(self) -> None:
        if self._held:
            self._fibers.pause(lambda: not self._held)
        self._held = True

    def __exit__(self, *_: object) -> None:
        self._held = False


class _Condition:
    """Nobody else runs between two pauses: it needs no lock."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...
    def notify_all(self) -> None: ...

    def wait_for(self, predicate: Callable[[], object]) -> None:
        if not predicate():
            self._threads.fibers.pause(lambda: bool(predicate()))

    def wait(self, timeout: float) -> None:
        seen = self._threads.news
        self._threads.fibers.pause(lambda: self._threads.news != seen)


class _Event:
    def __init__(self, threads: Threads) -> None:
        self._threads, self._set = threads, False

    def set(self) -> None:
        self._set = True

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float) -> bool:
        seen = self._threads.news
        self._threads.fibers.pause(lambda: self._set or self._threads.news != seen)
        return self._set


class _Tokens:
    """Stands for `secrets`: the names of logs are the same in every telling."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def token_hex(self, length: int) -> str:
        return f"{next(self._numbers):0{2 * length}x}"


class _Snapshot:
    """As that of `working`, but what is copied is written at once."""

    def __init__(self, number: int, made: copying.Copying, writer: SnapshotWriter, labels: Labels, piece: int) -> None:
        self.number, self.piece, self.spent = number, piece, 0.0
        self._copying, self._writer, self._labels = made, writer, labels
        self._error: Exception | None = None

    def copy(self) -> bool:
        more = self._copying.copy()
        try:
            if self._error is None:
                self._copying.write(self._writer, self._labels)
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
    real = answers._Waiting

    def waiting(asked: set[int], links: dict[int, Any]) -> Any:
        complete: Any = threads.Event()
        return real(asked, links, {}, complete)

    class Slow(Placing):
        def place(self, *args: Any) -> None:
            threads.fibers.pause()  # what else there is may come first
            super().place(*args)

    with ExitStack() as stack:
        for module, name, other in (
            (opening, "open_location", _given),
            (opening, "claim", _claim),
            (working, "open_location", _given),
            (working, "secrets", _Tokens()),
            (working, "threading", threads),
            (answers, "threading", threads),
            (answers, "_Waiting", waiting),
            (at_coordinator, "threading", threads),
            (at_worker, "threading", threads),
            (here, "threading", threads),
            (moving, "threading", threads),
            (moving, "Placing", Slow),
            (working, "_Snapshot", _Snapshot),
            (snapshots, "threading", threads),
            (snapshots.Snapshots, "start", _start),
            (copying, "SLICE", slice_rows),
        ):
            stack.enter_context(patch.object(module, name, other))
        yield threads
