"""Random programs on worker processes, and as Spark tasks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from anabranch.drivers.fleet import Launcher
from anabranch.drivers.nursery import Nursery
from anabranch.drivers.processes import Processes
from tests.generator.apps import check_apart
from tests.soak.part import Part

PROCESSES = """Each random program runs on two or three worker processes, as Python or as kernels, and is compared
with the plain class and with the replay of what the app says it did, instance by instance."""
SPARK = """The same with workers that are Spark tasks, all in one local session."""


def soak_processes(first: int, programs: int) -> Part:
    nursery = Nursery()
    try:
        return _soak(Part("Worker processes", PROCESSES), first, programs, lambda n: Processes(n, nursery))
    finally:
        nursery.close()


def soak_spark(first: int, programs: int) -> Part:
    from anabranch.engines.spark.session import local_session
    from anabranch.engines.spark.tasks import SparkTasks

    session = local_session(3)
    try:
        return _soak(Part("Spark tasks", SPARK), first, programs, lambda n: SparkTasks(session.sparkContext, n))
    finally:
        session.stop()


def _soak(part: Part, first: int, programs: int, hosts: Callable[[int], Launcher]) -> Part:
    start = time.monotonic()
    for seed in range(first, first + programs):
        try:
            check_apart(seed, hosts)
        except Exception as error:
            told = str(error).splitlines()[0] if str(error) else ""
            part.failures.append(f"seed {seed}: {type(error).__name__}: {told}")
            print(part.failures[-1], file=sys.stderr)
    equal = programs - len(part.failures)
    part.counts = {"programs equal": equal, "minutes": round((time.monotonic() - start) / 60, 1)}
    return part
