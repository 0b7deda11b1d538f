"""Workers as processes of this machine."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic

from anabranch.drivers.flight import Security
from anabranch.drivers.nursery import Nursery


class Processes:
    """Starts them from a nursery: its own, or one that it is given and others use too."""

    carries = False
    host = "127.0.0.1"

    def __init__(self, workers: int, nursery: Nursery | None = None) -> None:
        self._workers = workers
        self._own = nursery is None
        self._nursery = nursery
        self.pids: dict[int, int] = {}  # by worker, of those that live
        self._gone: set[int] = set()
        self._changed = threading.Condition()

    def launch(
        self, address: str, security: Security, ports: range | None, program: bytes, ended: Callable[[int, str], bool]
    ) -> None:
        tls = security.tls
        pem = None if tls is None else [x and x.decode() for x in (tls.certificate, tls.key, tls.roots)]
        between = None if ports is None else [ports.start, ports.stop, ports.step]
        told = {"address": address, "token": security.token, "tls": pem, "ports": between}
        if self._nursery is None:  # only now: a program that cannot start costs no process
            self._nursery = Nursery()
        for number in range(self._workers):
            pid = self._nursery.start({"number": number, **told}, partial(self._ended, number, ended))
            with self._changed:
                if number not in self._gone:
                    self.pids[number] = pid

    def _ended(self, number: int, ended: Callable[[int, str], bool], code: int | None) -> None:
        with self._changed:
            self._gone.add(number)
            self.pids.pop(number, None)
            self._changed.notify_all()
        ended(number, f"its process ended{_how(code)}")

    def end(self, patience: float) -> None:
        """Wait for their ends, and make an end of those that do not."""
        end = monotonic() + patience
        with self._changed:
            self._changed.wait_for(lambda: not self.pids, patience)
            for pid in self.pids.values():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._changed.wait_for(lambda: not self.pids, max(1.0, end - monotonic()))
        if self._own and self._nursery is not None:
            self._nursery.close()


def _how(code: int | None) -> str:
    if code is None:
        return ""
    if code >= 0:
        return f" with code {code}"
    try:
        return f" with signal {signal.Signals(-code).name}"
    except ValueError:
        return f" with signal {-code}"
