"""What tests do to worker processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.drivers.fleet import Patience
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import App
from tests.conformance.engines import nursery
from tests.drivers.processes.village import Village

ROOT = Path(__file__).parents[3]
SOON = 2.0  # seconds in which everybody knows what has happened
LATE = 60.0  # seconds that count as never, on however busy a machine
SHORT = Patience(start=60.0, stall=2.0, stop=5.0)


def start(program: ab.Program | None = None, workers: int = 2, patience: Patience = SHORT, **options: Any) -> App:
    options.setdefault("hosts", Processes(workers, nursery()))
    options.setdefault("tier", "python")
    return App(program or Village(), workers, patience=patience, **options)


def pids(app: Any) -> dict[int, int]:
    return dict(app._engine.driver._launcher.pids)


def lives(pid: int) -> bool:
    """Is there such a process, and not only its grave?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == pid:
            found.add(int(stat.parent.name))
    return found


def wait_until(what: Callable[[], object], otherwise: str, patience: float = LATE) -> None:
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, otherwise
        time.sleep(0.005)


@contextmanager
def all_end(app: Any) -> Iterator[dict[int, int]]:
    """Stops the app at the end; nothing of it is left then."""
    mine = pids(app)
    try:
        yield mine
    finally:
        app.stop()
    left = [pid for pid in mine.values() if lives(pid)]
    assert not left, f"{left} are left"
    assert not set(mine.values()) & children(nursery()._process.pid)


class Call:
    """A call on a thread of its own, and how it ended."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(function,), daemon=True)
        self._thread.start()

    def _run(self, function: Callable[[], Any]) -> None:
        try:
            self.result = function()
        except BaseException as error:
            self.error = error

    @property
    def working(self) -> bool:
        return self._thread.is_alive()

    def done(self, seconds: float = LATE) -> Any:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"not answered within {seconds} s"
        if self.error is not None:
            raise self.error
        return self.result
