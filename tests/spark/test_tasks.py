"""Jobs of workers: where the JVM of the driver is gone, and how soon one that ends is tried again."""

from __future__ import annotations

from typing import Any

from anabranch.engines.spark import tasks


class Gone:
    """A context of which nothing answers any more."""

    master = "local[2]"

    def __getattr__(self, name: str) -> Any:
        raise ConnectionRefusedError("Connection refused")


def test_every_try_to_start_a_worker_is_told(monkeypatch: Any) -> None:
    """Else those who wait for the worker would wait for ever."""
    monkeypatch.setattr(tasks, "BACK_OFF", 0.0)
    jobs = tasks.SparkTasks(Gone(), 1)  # type: ignore[arg-type]
    told: list[str] = []

    def ended(number: int, why: str, life: int) -> bool:
        assert life == len(told) + 1
        told.append(why)
        jobs.kill(number)
        return len(told) < 3

    jobs._run(0, lambda number, life: None, ended)
    assert told == ["its Spark job failed: Connection refused"] * 3


class Ending:
    """A context whose jobs stay for so many seconds of a clock, one after the other, and end."""

    master = "local[2]"

    def __init__(self, *stays: float) -> None:
        self.stays, self.now, self.slept = list(stays), 0.0, list[float]()

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: self

    def count(self) -> None:
        self.now += self.stays.pop(0)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def test_one_that_was_there_for_long_is_tried_again_at_once(monkeypatch: Any) -> None:
    """However often a worker was lost before: only one that cannot start is waited for longer and longer."""
    context = Ending(0.1, 0.1, 60.0, 60.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
    monkeypatch.setattr(tasks, "sleep", context.sleep)
    monkeypatch.setattr(tasks, "monotonic", lambda: context.now)
    jobs = tasks.SparkTasks(context, 1)  # type: ignore[arg-type]
    jobs._run(0, lambda number, life: None, lambda number, why, life: bool(context.stays))
    assert context.slept == [0.5, 1.0, 0.5, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0]


def test_the_reason_of_an_end_is_no_line_of_a_stack() -> None:
    told = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: [SPARK_JOB_CANCELLED] Job 7 cancelled part of cancelled job group anabranch-0
\tat org.apache.spark.errors.SparkCoreErrors$.sparkJobCancelled(SparkCoreErrors.scala:222)
"""
    assert tasks._brief(RuntimeError(told)).endswith("Job 7 cancelled part of cancelled job group anabranch-0")


def test_the_job_of_one_that_came_since_is_left_alone() -> None:
    """A worker is known to be lost some time after its job has ended, when another may have been submitted."""
    context = Cancelled()
    jobs = tasks.SparkTasks(context, 1)  # type: ignore[arg-type]
    jobs._lives[0] = 2
    jobs.kill(0, 1)
    assert jobs._group_of(0) not in context.cancelled
    jobs.kill(0, 2)
    jobs.kill(0)
    assert context.cancelled[1:] == [jobs._group_of(0)] * 2


class Cancelled:
    master = "local[2]"

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def getConf(self) -> dict[str, str]:
        return {}

    def cancelJobGroup(self, group: str) -> None:
        self.cancelled.append(group)
