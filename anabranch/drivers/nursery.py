"""A process that starts workers by forking itself, so that what takes long to import is imported once.

It has no thread of ours and no connections. It is told over a pipe where a worker shall connect and with which token:
arguments and environment could be read by others. Whoever runs it may end, and then it ends; workers end by themselves
when their coordinator is gone.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Any

from anabranch.drivers.leaving import leave, print_whole_lines

Ended = Callable[[int | None], None]  # is told the exit code, negative for a signal; None where nobody knows it

WORKER = "ANABRANCH_WORKER"  # in the environment of a worker: its own process number, so that no child has it too
PULSE = 0.1  # seconds


class Nursery:
    """`start` gives the process number of a new worker; `ended` is told its end, on another thread."""

    def __init__(self) -> None:
        orders, self._orders = _pipe()
        self._news, news = _pipe()
        home = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "anabranch.drivers.nursery", str(orders), str(news)],
            pass_fds=(orders, news),
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the caller
        )
        os.close(orders)
        os.close(news)
        self._lock = threading.Lock()
        self._names = itertools.count()
        self._unborn: dict[str, _Birth] = {}
        self._living: dict[int, Ended] = {}
        self._closed = self._over = False
        threading.Thread(target=self._listen, name="anabranch-nursery", daemon=True).start()

    def start(self, worker: dict[str, Any], ended: Ended, patience: float = 60.0) -> int:
        birth, name = _Birth(ended), str(next(self._names))
        with self._lock:
            if self._closed or self._over:
                raise RuntimeError("the process that starts workers has ended; see what it has printed")
            self._unborn[name] = birth
            with suppress(BrokenPipeError):  # then nobody is born
                os.write(self._orders, json.dumps({"name": name, **worker}).encode() + b"\n")
        if not birth.over.wait(patience):
            raise RuntimeError(f"no worker process has started within {patience:g} s; see what was printed")
        if not birth.pid:
            raise RuntimeError("the process that starts workers has ended; see what it has printed")
        return birth.pid

    def close(self, patience: float = 10.0) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._orders)
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        with os.fdopen(self._news, "rb") as news:
            for line in news:
                told = json.loads(line)
                with self._lock:
                    if "name" in told:
                        birth = self._unborn.pop(told["name"])
                        birth.pid = told["pid"]
                        self._living[birth.pid] = birth.ended
                        birth.over.set()
                        continue
                    ended = self._living.pop(told["pid"])
                ended(told["code"])
        with self._lock:
            self._over = True
            for birth in self._unborn.values():
                birth.over.set()
        self._watch_orphans()

    def _watch_orphans(self) -> None:
        """The nursery is gone, and workers go on: they have their connections."""
        while self._living:
            for pid in list(self._living):
                try:
                    os.kill(pid, 0)
                except ProcessLookupError:
                    self._living.pop(pid)(None)
                except PermissionError:
                    pass
            sleep(PULSE)


def _pipe() -> tuple[int, int]:
    """None of its ends is standard input or output, also where this process has none: those are given to a child."""
    low = os.pipe()
    reads, writes = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in low)
    for end in low:
        os.close(end)
    return reads, writes


@dataclass(eq=False)
class _Birth:
    ended: Ended
    pid: int = 0
    over: threading.Event = field(default_factory=threading.Event)


def main(orders: int, news: int) -> None:
    """The process itself."""
    import anabranch.drivers.resident  # noqa: F401  # what workers would each import

    selector = selectors.DefaultSelector()
    selector.register(orders, selectors.EVENT_READ)
    awake, alarm = os.pipe()
    os.set_blocking(alarm, False)
    selector.register(awake, selectors.EVENT_READ)
    signal.set_wakeup_fd(alarm)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    rest = b""
    while True:
        ready = [key.fd for key, _ in selector.select()]
        if awake in ready:
            os.read(awake, 4096)
            _bury(news)
        if orders in ready:
            data = os.read(orders, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                _bear(json.loads(line), (orders, news, awake, alarm))


def _bear(worker: dict[str, Any], ours: tuple[int, int, int, int]) -> None:
    orders, news, awake, alarm = ours
    pid = os.fork()
    if pid:
        os.write(news, json.dumps({"name": worker["name"], "pid": pid}).encode() + b"\n")
        return
    code = 1
    try:
        os.environ[WORKER] = str(os.getpid())
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for fd in (orders, news, awake, alarm):
            os.close(fd)
        from anabranch.drivers.flight import Security, Tls
        from anabranch.drivers.resident import Resident

        print_whole_lines()
        pem = worker["tls"]
        tls = None if pem is None else Tls(*[x and x.encode() for x in pem])
        ports = None if worker["ports"] is None else range(*worker["ports"])
        security, life = Security(worker["token"], tls), worker["life"]
        Resident(worker["number"], worker["address"], security, ports=ports, life=life).run()
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        leave(code)


def _bury(news: int) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        code = os.waitstatus_to_exitcode(status)
        with suppress(BrokenPipeError):  # nobody is left to hear it
            os.write(news, json.dumps({"pid": pid, "code": code}).encode() + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
