"""Which Spark session can host an app, and why another cannot.

Law: a session that would hang, or kill workers for being idle, is refused before anything starts, with the setting to
change.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from anabranch.lang.scalars import short
from anabranch.state.budget import as_text

JOB = "anabranch-job-"  # begins the names of threads that wait for the job of a worker
SPARE = 1  # slots beside the workers: without one, no task could ever feed them


PYTHON_MEMORY = "spark.executor.pyspark.memory"
BESIDE = 3 << 30  # bytes of address space, which is what the limit counts: a worker of two without state has 2.1 GB


class UnfitSession(RuntimeError):
    """The Spark session cannot host an app; the message says what to change."""


def local_session(workers: int) -> SparkSession:
    """A session in this process's own JVM, or the one that there is."""
    found = SparkSession.getActiveSession()
    if found is not None:
        return found
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{workers + 2}]").appName("anabranch")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def session_of(on: object, workers: int, memory: int | None = None) -> SparkSession:
    """The session that `on=` means, if it can host so many workers whose states take so many bytes together."""
    if type(on) is str and on == "spark":
        session = local_session(workers)
    elif isinstance(on, SparkSession):
        session = on
    elif type(on).__module__.startswith("pyspark.sql.connect"):
        raise UnfitSession(
            "on= is a Spark Connect session, whose driver is on another machine: workers could not reach this process; "
            "start the app where the driver is, with SparkSession.builder.master(...)"
        )
    else:
        raise TypeError(f'on is a SparkSession or "spark", got {short(on)}: write ab.run(..., on=spark)')
    _check(session.sparkContext, workers)
    if memory is not None:
        _check_memory(session.sparkContext, workers, memory)
    return session


def check_slots(context: SparkContext, workers: int) -> None:
    """Refuse so many workers more if they would wait for ever."""
    slots, taken = slots_of(context), taken_slots()
    if slots is not None and slots - taken < workers + SPARE:
        others = f", of which workers have {taken} already" if taken else ""
        raise UnfitSession(
            f"{workers} workers need {workers + SPARE} task slots, one of them for what feeds them, and the session "
            f"has {slots}{others}: {_more_slots(master_of(context), workers + taken)}"
        )


def _check(context: SparkContext, workers: int) -> None:
    conf = context.getConf()
    check_slots(context, workers)
    if (conf.get("spark.python.worker.killOnIdleTimeout") or "false").lower() == "true":
        raise UnfitSession(
            "spark.python.worker.killOnIdleTimeout is true: Spark would kill workers that wait for calls; "
            "set it to false"
        )
    speculates = (conf.get("spark.speculation") or "false").lower() == "true"
    if speculates and conf.get("spark.speculation.task.duration.threshold") is not None:
        # Without it Spark never makes a second copy of the only task of a job, which is what a worker is.
        raise UnfitSession(
            "spark.speculation.task.duration.threshold is set: Spark would start a second copy of a worker for running "
            "so long; leave it out"
        )


def _check_memory(context: SparkContext, workers: int, memory: int) -> None:
    """Spark divides what Python may have of an executor by its cores, and that is a limit for each Python process."""
    conf = context.getConf()
    given = conf.get(PYTHON_MEMORY)
    if not given:
        return  # then Spark sets no limit
    cores = int(conf.get("spark.executor.cores") or "1")
    limit = _bytes_of(given) // cores
    need = memory // workers + BESIDE
    if limit < need:
        least = -(-need * cores // (1 << 20))
        raise UnfitSession(
            f"memory= is {as_text(memory)}, {as_text(memory // workers)} for each of {workers} workers, which "
            f"need {as_text(BESIDE)} of address space besides; with {PYTHON_MEMORY}={given} and {cores} cores in an "
            f"executor each gets {as_text(limit)}: set {PYTHON_MEMORY} to {least}m or more, or memory= to less"
        )


def _bytes_of(given: str) -> int:
    """As Spark reads its sizes, in MiB where there is no unit.

    >>> _bytes_of("2g"), _bytes_of("512"), _bytes_of("100mb")
    (2147483648, 536870912, 104857600)
    """
    found = re.fullmatch(r"(\d+)([kmgtp]?)b?", given.strip().lower())
    if found is None:
        raise UnfitSession(f"{PYTHON_MEMORY}={given} is no size: set it to one such as 4g")
    return int(found[1]) << (10 * ("kmgtp".index(found[2] or "m") + 1))


def master_of(context: SparkContext) -> str:
    return context.master or ""


def is_local(master: str) -> bool:
    """Does all of it run in one JVM?"""
    return master == "local" or master.startswith("local[")


def slots_of(context: SparkContext) -> int | None:
    """How many tasks run at once; None where that changes or is not known."""
    conf, master = context.getConf(), master_of(context)
    per_task = int(conf.get("spark.task.cpus") or "1")
    if master == "local":
        return 1
    found = re.fullmatch(r"local\[(\d+|\*)(?:,\s*\d+)?\]", master)
    if found:
        return (os.cpu_count() or 1 if found[1] == "*" else int(found[1])) // per_task
    found = re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]", master)
    if found:
        return int(found[1]) * (int(found[2]) // per_task)
    if (conf.get("spark.dynamicAllocation.enabled") or "false").lower() == "true":
        return None
    executors, cores = conf.get("spark.executor.instances"), conf.get("spark.executor.cores")
    return int(executors) * (int(cores) // per_task) if executors and cores else None


def taken_slots() -> int:
    """How many workers there are already: the context is the only one of this process."""
    return sum(thread.name.startswith(JOB) for thread in threading.enumerate())


def _more_slots(master: str, workers: int) -> str:
    if is_local(master):
        return f"start it with master('local[{workers + SPARE}]') or more, or run fewer workers"
    return "raise spark.executor.instances or spark.executor.cores, or run fewer workers"


def decommissions(context: SparkContext) -> bool:
    """Do executors say that they are about to go?"""
    enabled = (context.getConf().get("spark.decommission.enabled") or "false").lower() == "true"
    return enabled and not is_local(master_of(context))


def address_of_driver(context: SparkContext) -> str:
    """Where executors reach this process."""
    if is_local(master_of(context)):
        return "127.0.0.1"
    return context.getConf().get("spark.driver.host") or "127.0.0.1"


def use_this_python(context: SparkContext) -> None:
    """Tasks on this machine run on this interpreter, unless someone has said which."""
    unsaid: Any = "PYSPARK_PYTHON" not in os.environ and context.getConf().get("spark.pyspark.python") is None
    if unsaid and (is_local(master_of(context)) or master_of(context).startswith("local-cluster")):
        context.pythonExec = sys.executable
