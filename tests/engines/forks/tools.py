"""Apps to fork, and what tests find out about the processes of forks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anabranch as ab
from tests.drivers.processes.tools import lives, start
from tests.engines.checkpoint.bank import Bank

HOSTS = ("threads", "processes")


def app_of(hosts: str, tier: str = "python", workers: int = 2, program: ab.Program | None = None) -> Any:
    """An app that is not saved."""
    program = program or Bank()
    if hosts == "threads":
        return ab.run(program, workers=workers, tier=tier)
    return start(program, workers, tier=tier)


def children(pid: int | str) -> set[int]:
    """The processes that it has started and that live."""
    found: set[int] = set()
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        found |= {int(child) for child in listed.read_text().split()}
    return {child for child in found if lives(child)}
