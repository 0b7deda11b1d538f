"""Workers as Spark tasks that stay.

Each worker is its own job of one task: a job of several would be aborted as a whole when one of them fails for the last
time, and its healthy workers with it.
"""

from __future__ import annotations

import logging
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

from pyspark import InheritableThread, SparkContext

from anabranch.drivers.callers import StateLost
from anabranch.drivers.flight import Security
from anabranch.drivers.resident import Resident, versions
from anabranch.engines.spark.session import JOB, UnfitSession, address_of_driver, is_local, master_of

log = logging.getLogger(__name__)

POOL = "anabranch"
BACK_OFF = 0.5  # seconds, doubled from try to try


class SparkTasks:
    """Starts workers as jobs of a context; ends them by ending what they do."""

    carries = True  # the program is in the closure of the task: code comes to executors by Spark alone
    security = None
    lost = StateLost

    def __init__(self, context: SparkContext, workers: int) -> None:
        self._context, self._workers = context, workers
        self.host = address_of_driver(context)
        self._threads: list[threading.Thread] = []
        self._group = f"anabranch-{uuid.uuid4()}"
        self._ending = False
        if not is_local(master_of(context)):
            check_executors(context)

    def launch(
        self, address: str, security: Security, ports: range | None, program: bytes, ended: Callable[[int, str], bool]
    ) -> None:
        for number in range(self._workers):
            task = resident_task(number, address, security, ports, program, is_local(master_of(self._context)))
            thread = InheritableThread(target=self._run, args=(number, task, ended), daemon=True)
            thread.name = f"{JOB}{number}"
            self._threads.append(thread)
            thread.start()

    def _run(self, number: int, task: Any, ended: Callable[[int, str], bool]) -> None:
        """The thread of a job: it blocks as long as the task stays. One that ends is submitted again where it may."""
        context, wait = self._context, BACK_OFF
        while True:
            try:
                context.setJobGroup(f"{self._group}-{number}", f"anabranch worker {number}", interruptOnCancel=True)
                context.setLocalProperty("spark.scheduler.pool", POOL)
                context.parallelize([number], 1).mapPartitions(task).count()
                why = "its Spark job ended"
            except Exception as error:
                why = f"its Spark job failed: {_brief(error)}"
            if self._ending or not ended(number, why):
                return
            sleep(wait)
            wait *= 2

    def kill(self, worker: int) -> None:
        try:
            self._context.cancelJobGroup(f"{self._group}-{worker}")
        except Exception as error:  # the JVM is gone, and all jobs with it: whoever waits for them is told
            log.warning("the job of worker %s could not be cancelled: %s", worker, _brief(error))

    def end(self, patience: float) -> None:
        self._ending = True
        end = monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, end - monotonic()))
        for number, thread in enumerate(self._threads):
            if thread.is_alive():
                self._context.cancelJobGroup(f"{self._group}-{number}")
        for thread in self._threads:
            thread.join(max(1.0, end - monotonic()))


def resident_task(
    number: int, address: str, security: Security, ports: range | None, program: bytes, local: bool
) -> Any:
    """What a worker's task does: it stays until the coordinator says goodbye."""

    def stay(_: Iterable[Any]) -> Iterator[Any]:
        host = "127.0.0.1" if local else _address_towards(address)
        Resident(number, address, security, host, ports).run(program)
        return iter(())

    return stay


def _address_towards(address: str) -> str:
    """The address of this machine on the way to another."""
    parts = urlsplit(address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((parts.hostname or "127.0.0.1", parts.port or 1))  # sends nothing
        return str(probe.getsockname()[0])


def check_executors(context: SparkContext) -> None:
    """Every executor has the packages, in the versions of this process; else nothing starts."""
    wanted = versions()
    # By value: a function of this package could not even be read where the package is missing.
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(_PROBE, space)
    tasks = max(2, context.defaultParallelism)
    for found in set(context.parallelize(range(tasks), tasks).mapPartitions(space["probe"]).collect()):
        if found != wanted:
            there = dict(found)
            if "import" in there:
                raise UnfitSession(
                    f"an executor cannot import anabranch: {there['import']}; install the same version on all of them"
                )
            named = ", ".join(f"{name} {there.get(name, 'is missing')} there, {v} here" for name, v in wanted
                              if there.get(name) != v)  # fmt: skip
            raise UnfitSession(
                f"an executor differs from this process: {named}; install the same versions on all of them"
            )


_PROBE = """
def probe(_):
    try:
        from anabranch.drivers.resident import versions
        return iter([versions()])
    except ImportError as error:
        return iter([(("import", str(error)),)])
"""


def _brief(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "Error" in line or "Exception" in line]
    return (told or lines or [type(error).__name__])[-1][:300]
