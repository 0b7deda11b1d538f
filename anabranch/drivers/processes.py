"""Workers as processes of this machine."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

from anabranch.drivers.callers import StateLost
from anabranch.drivers.fleet import Ended
from anabranch.drivers.flight import Security
from anabranch.drivers.nursery import Nursery


class Processes:
    """Starts them from a nursery: its own, or one that it is given and others use too."""

    carries = False
    host = "127.0.0.1"
    security = None
    lost = StateLost

    def __init__(self, workers: int, nursery: Nursery | None = None) -> None:
        self._workers = workers
        self._own = nursery is None
        self._nursery = nursery
        self.pids: dict[int, int] = {}  # by worker, of those that live
        self._told: dict[str, Any] = {}
        self._told_of_ends: Ended = lambda worker, why, life: False
        self._lives: dict[int, int] = {}  # starts, by worker
        self._changed = threading.Condition()

    def launch(self, address: str, security: Security, ports: range | None, program: bytes, ended: Ended) -> None:
        tls = security.tls
        pem = None if tls is None else [x and x.decode() for x in (tls.certificate, tls.key, tls.roots)]
        between = None if ports is None else [ports.start, ports.stop, ports.step]
        told = {"address": address, "token": security.token, "tls": pem, "ports": between}
        if self._nursery is None:  # only now: a program that cannot start costs no process
            self._nursery = Nursery()
        self._told, self._told_of_ends = told, ended
        for number in range(self._workers):
            self.more(number)

    def more(self, worker: int) -> None:
        self._start({"number": worker, **self._told}, self._told_of_ends)

    def fewer(self, worker: int, patience: float) -> None:
        with self._changed:
            if self._changed.wait_for(lambda: worker not in self.pids, patience):
                return
        self.kill(worker)
        with self._changed:
            self._changed.wait_for(lambda: worker not in self.pids, patience)

    def _start(self, told: dict[str, Any], ended: Ended) -> None:
        assert self._nursery is not None
        gone = threading.Event()
        with self._changed:
            life = self._lives[told["number"]] = self._lives.get(told["number"], 0) + 1
        pid = self._nursery.start({**told, "life": life}, partial(self._ended, told, ended, gone, life))
        with self._changed:
            if not gone.is_set():
                self.pids[told["number"]] = pid

    def _ended(self, told: dict[str, Any], ended: Ended, gone: threading.Event, life: int, code: int | None) -> None:
        with self._changed:
            gone.set()
            if self._lives[told["number"]] == life:  # else another has been started since
                self.pids.pop(told["number"], None)
            self._changed.notify_all()
        if ended(told["number"], f"its process ended{_how(code)}", life):
            # By someone else: this thread hears of births.
            threading.Thread(target=self._start_again, args=(told, ended), daemon=True).start()

    def _start_again(self, told: dict[str, Any], ended: Ended) -> None:
        why = ""
        while not why or ended(told["number"], why, self._lives[told["number"]]):
            try:
                return self._start(told, ended)
            except RuntimeError as error:
                why = str(error)

    def kill(self, worker: int, life: int | None = None) -> None:
        with self._changed:
            pid = self.pids.get(worker) if life in (None, self._lives.get(worker)) else None
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

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
