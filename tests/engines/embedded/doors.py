"""A program whose rows take as long as a test wants: they wait at a door until it is opened. No test needs a clock."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anabranch as ab

TIMEOUT = 60.0  # seconds that count as for ever, on however slow a machine
NUMBERS = itertools.count(1)
DOORS: dict[int, Door] = {}


class Door:
    """Closed at first. `reached` has an item for each row that came to it."""

    def __init__(self) -> None:
        self.number = next(NUMBERS)
        self.reached: list[int] = []
        self.lock = threading.Lock()
        self.lock.acquire()
        DOORS[self.number] = self

    def rows(self, n: int) -> dict[str, list[int]]:
        """Input of `House.enter`."""
        return {"k": list(range(n)), "door": [self.number] * n}

    def open(self) -> None:
        if self.lock.locked():
            self.lock.release()


@contextmanager
def closed_door() -> Iterator[Door]:
    """A door that is open at the end, however that comes: no thread is left behind."""
    door = Door()
    try:
        yield door
    finally:
        door.open()


@ab.pure
def pass_through(number: int) -> int:
    door = DOORS[number]
    door.reached.append(number)
    if not door.lock.acquire(timeout=TIMEOUT):
        raise TimeoutError("nobody opened the door")
    door.lock.release()
    return number


class House(ab.Program):
    visits: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def visit(self, k: int) -> int:
        self.visits[k] += 1
        return self.visits[k]

    def enter(self, k: int, door: int) -> int:
        self.visits[k] += 1
        pass_through(door)
        return self.visits[k]


def wait_until(what: Callable[[], object], otherwise: str) -> None:
    end = time.monotonic() + TIMEOUT
    while not what():
        assert time.monotonic() < end, otherwise
        time.sleep(0.001)
