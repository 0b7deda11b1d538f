"""When to kill: after a while, or while something is being written or removed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

DELAY, LOG, SNAPSHOT, COLLECTION = "after a while", "log written", "snapshot written", "files collected"
FILLING, RESTORING, MOVING = "first contents loaded", "state restored", "state moved"
RUNNING = (DELAY, LOG, SNAPSHOT, COLLECTION, MOVING)  # while clients are at work
PULSE = 0.001  # seconds
PATIENCE = 10.0  # seconds; then it is as good as any other moment


def wait_for(moment: str, location: Path, chance: Random, alive: Callable[[], bool]) -> str:
    """Come back at the moment; gives what it came to be."""
    if moment == DELAY:
        time.sleep(chance.uniform(0.05, 1.5))
        return moment
    before = listing(location)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and alive():
        if has_come(moment, before, listing(location)):
            if moment == SNAPSHOT:
                time.sleep(chance.uniform(0.0, 0.05))
            return moment
        time.sleep(PULSE)
    return DELAY


def has_come(moment: str, before: dict[str, int], now: dict[str, int]) -> bool:
    if moment == LOG:
        return any(name.startswith("log/") and size > before.get(name, 0) for name, size in now.items())
    if moment == SNAPSHOT:
        return any(name.startswith("snapshots/") and name not in before for name in now)
    return any(name not in now for name in before if not name.startswith(".partial"))


def listing(location: Path) -> dict[str, int]:
    """All files with their sizes, as far as they are still there."""
    found = {}
    for folder, _, files in os.walk(location):
        for file in files:
            path = Path(folder, file)
            with suppress(FileNotFoundError):
                found[path.relative_to(location).as_posix()] = path.stat().st_size
    return found
