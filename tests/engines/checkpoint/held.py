"""Workers that are lost, and stay so for as long as a test wants."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from tests.drivers.processes.tools import LATE, wait_until

A_WHILE = 0.5  # seconds: what is not answered by then waits


class Held:
    """Another comes in the place of a worker that is lost, and restores nothing until it is let go."""

    def __init__(self, app: Any) -> None:
        self._driver, self._go = app._engine.driver, threading.Event()
        give = self._driver._give

        def later(link: Any, version: Any) -> None:
            assert self._go.wait(LATE)
            give(link, version)

        self._driver._give = later

    def lose(self, worker: int, pid: int) -> None:
        was = self._driver._fleet.links[worker]
        os.kill(pid, signal.SIGKILL)
        links, coordinator = self._driver._fleet.links, self._driver.desk.coordinator
        wait_until(lambda: links.get(worker, was) is not was and worker in coordinator.unsettled, "none came back")

    def let_go(self) -> None:
        self._go.set()


def keys_of(app: Any, worker: int, keys: int) -> list[int]:
    """Those of the first integers that a worker has."""
    routing = app._engine.routing
    return [k for k in range(keys) if routing.worker_of(routing.owner(k)) == worker]
