"""All processes of a story, wherever they hang in the tree: they inherit a mark in their environment."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "ANABRANCH_KILLS"
PULSE = 0.02  # seconds


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    command: str

    def __str__(self) -> str:
        for part, name in NAMES.items():
            if part in self.command:
                return name
        return self.command[:60]


NAMES = {
    "tests.kills.driver": "driver",
    "anabranch.drivers.nursery": "worker process",
    "CoarseGrainedExecutorBackend": "executor",
    "pyspark.daemon": "Python worker of Spark",
    "java": "JVM of the driver",
}


def living(token: str) -> dict[int, Process]:
    """The processes that have the mark; one that is dead and not yet buried has none."""
    wanted, found = f"{MARK}={token}".encode(), {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                found[int(folder.name)] = Process(int(folder.name), parent, command)
    return found


def of(token: str, part: str, below: str = "") -> list[Process]:
    """Those whose command has a part, and that of their parent another."""
    all_of_it = living(token)
    found = [p for p in all_of_it.values() if part in p.command]
    if below:
        found = [p for p in found if p.parent in all_of_it and below in all_of_it[p.parent].command]
    return sorted(found, key=lambda p: p.pid)


def kill(processes: Iterable[Process]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def kill_all(token: str) -> list[Process]:
    """Until there is none: one may have started another meanwhile."""
    killed: dict[int, Process] = {}
    while found := living(token):
        kill(found.values())
        killed |= found
    return list(killed.values())


def wait_for_end(token: str, patience: float) -> list[Process]:
    """Those that are left after so many seconds."""
    end = time.monotonic() + patience
    while (left := living(token)) and time.monotonic() < end:
        time.sleep(PULSE)
    return list(left.values())
