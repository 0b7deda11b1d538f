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
from anabranch.drivers.fleet import Ended
from anabranch.drivers.flight import Security
from anabranch.drivers.resident import Resident, versions
from anabranch.engines.spark.session import JOB, UnfitSession, address_of_driver, check_slots, is_local, master_of

log = logging.getLogger(__name__)

POOL = "anabranch"
BACK_OFF = 0.5  # seconds, doubled from try to try
LONGEST = 8.0  # seconds between two tries
STEADY = 5.0  # seconds after which a job that ends is not one that cannot start
TASKS = 100  # tries of a task that are looked at


class SparkTasks:
    """Starts workers as jobs of a context; ends them by ending what they do."""

    carries = True  # the program is in the closure of the task: code comes to executors by Spark alone
    security = None
    lost = StateLost

    def __init__(self, context: SparkContext, workers: int) -> None:
        self._context, self._workers = context, workers
        self.host = address_of_driver(context)
        self._threads: dict[int, threading.Thread] = {}  # by worker
        self._lives: dict[int, int] = {}  # jobs, by worker
        self._task: Callable[[int, int], Any] = lambda number, life: None
        self._told_of_ends: Ended = lambda worker, why, life: False
        self._group = f"anabranch-{uuid.uuid4()}"
        self._ending = False
        if not is_local(master_of(context)):
            check_executors(context)

    def launch(self, address: str, security: Security, ports: range | None, program: bytes, ended: Ended) -> None:
        local = is_local(master_of(self._context))
        self._task = lambda number, life: resident_task(number, life, address, security, ports, program, local)
        self._told_of_ends = ended
        for number in range(self._workers):
            self.more(number)

    def more(self, worker: int) -> None:
        """One more job of one task. It waits for a slot only where there may be more of them than there are now."""
        check_slots(self._context, 1)
        thread = InheritableThread(target=self._run, args=(worker, self._task, self._told_of_ends), daemon=True)
        thread.name = f"{JOB}{worker}"
        self._threads[worker] = thread
        thread.start()

    def fewer(self, worker: int, patience: float) -> None:
        thread = self._threads.pop(worker, None)
        if thread is None:  # there was no slot for it
            return
        thread.join(patience)
        if thread.is_alive():
            self.kill(worker)
            thread.join(patience)

    def _run(self, number: int, task: Callable[[int, int], Any], ended: Ended) -> None:
        """The thread of a job: it blocks as long as the task stays. One that ends is submitted again where it may."""
        context, wait = self._context, BACK_OFF
        while True:
            began = monotonic()
            life = self._lives[number] = self._lives.get(number, 0) + 1
            try:
                context.setJobGroup(self._group_of(number), f"anabranch worker {number}", interruptOnCancel=True)
                context.setLocalProperty("spark.scheduler.pool", POOL)
                context.parallelize([number], 1).mapPartitions(task(number, life)).count()
                why = "its Spark job ended"
            except Exception as error:
                why = f"its Spark job failed: {_brief(error)}"
            if self._ending or not ended(number, why, life):
                return
            if monotonic() - began >= STEADY:
                wait = BACK_OFF
            sleep(wait)
            wait = min(2 * wait, LONGEST)

    def _group_of(self, worker: int, life: int | None = None) -> str:
        """The job group of one life of a worker, of the last one if it is not said: each life is a job."""
        return f"{self._group}-{worker}-{self._lives.get(worker, 0) if life is None else life}"

    def kill(self, worker: int, life: int | None = None) -> None:
        try:
            self._context.cancelJobGroup(self._group_of(worker, life))
        except Exception as error:  # the JVM is gone, and all jobs with it: whoever waits for them is told
            log.warning("the job of worker %s could not be cancelled: %s", worker, _brief(error))

    def leaving(self) -> frozenset[int]:
        """The workers on executors that are being decommissioned: these go when their tasks have ended."""
        scheduler: Any = self._context._jsc.sc().taskScheduler()
        return frozenset(
            worker
            for worker in list(self._threads)
            if (executor := self._executor_of(worker)) is not None
            and scheduler.getExecutorDecommissionState(executor).isDefined()
        )

    def _executor_of(self, worker: int) -> str | None:
        """Where the task of a worker runs, as the driver knows; None while it does not run."""
        status: Any = self._context._jsc.sc().statusStore()
        tracker = self._context.statusTracker()
        for job in tracker.getJobIdsForGroup(self._group_of(worker)):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info is not None and info.status == "RUNNING" else ():
                tasks = status.taskList(stage, 0, TASKS)
                found = [tasks.apply(i) for i in range(tasks.size())]
                for task in found:
                    if task.status() == "RUNNING":
                        return str(task.executorId())
        return None

    def end(self, patience: float) -> None:
        self._ending = True
        end = monotonic() + patience
        threads = dict(self._threads)
        for thread in threads.values():
            thread.join(max(0.0, end - monotonic()))
        for number, thread in threads.items():
            if thread.is_alive():
                self._context.cancelJobGroup(self._group_of(number))
        for thread in threads.values():
            thread.join(max(1.0, end - monotonic()))


def resident_task(
    number: int, life: int, address: str, security: Security, ports: range | None, program: bytes, local: bool
) -> Any:
    """What a worker's task does: it stays until the coordinator says goodbye."""

    def stay(_: Iterable[Any]) -> Iterator[Any]:
        host = "127.0.0.1" if local else _address_towards(address)
        Resident(number, address, security, host, ports, life=life).run(program)
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
    lines = [line for line in lines if not line.startswith("at ")]  # those of a stack
    told = [line for line in lines if "Error" in line or "Exception" in line]
    return (told or lines or [type(error).__name__])[-1][:300]
