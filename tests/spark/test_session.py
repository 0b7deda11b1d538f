"""Which sessions are refused, before anything starts, and what to change about them."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.engines.spark import session as sessions
from anabranch.engines.spark import tasks
from anabranch.engines.spark.session import UnfitSession, slots_of
from tests.spark.market import Market

EXECUTORS = {"spark_executor_instances": "3", "spark_executor_cores": "2"}


class Context:
    """As much of a SparkContext as is looked at."""

    def __init__(self, master: str, **settings: str) -> None:
        self.master = master
        self.settings = {name.replace("_", "."): value for name, value in settings.items()}
        self.pythonExec = "python3"

    def getConf(self) -> Context:
        return self

    def get(self, name: str) -> str | None:
        return self.settings.get(name)


def refused(context: Context, workers: int = 2) -> str:
    with pytest.raises(UnfitSession) as caught:
        sessions._check(context, workers)  # type: ignore[arg-type]
    return str(caught.value)


def test_too_few_slots(spark: SparkSession) -> None:
    told = (
        "4 workers need 5 task slots, one of them for what feeds them, and the session has 4: "
        "start it with master('local[5]') or more, or run fewer workers"
    )
    with pytest.raises(UnfitSession, match=f"^{re.escape(told)}$"):
        ab.run(Market(), on=spark, workers=4)


def test_slots_that_another_app_has(spark: SparkSession) -> None:
    told = (
        "2 workers need 3 task slots, one of them for what feeds them, and the session has 4, of which workers have "
        "2 already: start it with master('local[5]') or more, or run fewer workers"
    )
    with ab.run(Market(), on=spark, workers=2), pytest.raises(UnfitSession, match=f"^{re.escape(told)}$"):
        ab.run(Market(), on=spark, workers=2)
    ab.run(Market(), on=spark, workers=3).stop()  # now they are free


@pytest.mark.parametrize(
    ("master", "settings", "slots"),
    [
        ("local", {}, 1),
        ("local[3]", {}, 3),
        ("local[3,4]", {}, 3),
        ("local[8]", {"spark_task_cpus": "3"}, 2),
        ("local-cluster[2,3,1024]", {}, 6),
        ("local-cluster[2,3,1024]", {"spark_task_cpus": "2"}, 2),
        ("spark://host:7077", EXECUTORS, 6),
        ("yarn", {**EXECUTORS, "spark_dynamicAllocation_enabled": "true"}, None),
        ("k8s://host", {}, None),
    ],
)
def test_slots_of_masters(master: str, settings: dict[str, str], slots: int | None) -> None:
    assert slots_of(Context(master, **settings)) == slots  # type: ignore[arg-type]


def test_what_to_do_on_a_cluster() -> None:
    assert refused(Context("local-cluster[2,1,1024]")).endswith(
        "has 2: raise spark.executor.instances or spark.executor.cores, or run fewer workers"
    )


def test_workers_that_would_be_killed() -> None:
    assert refused(Context("local[4]", spark_python_worker_killOnIdleTimeout="true")) == (
        "spark.python.worker.killOnIdleTimeout is true: Spark would kill workers that wait for calls; set it to false"
    )


def test_workers_that_would_be_started_twice() -> None:
    """Of a job with a single task Spark makes a second copy only if it is told after how long."""
    sessions._check(Context("local[4]", spark_speculation="true"), 2)  # type: ignore[arg-type]
    settings = {"spark_speculation": "True", "spark_speculation_task_duration_threshold": "10m"}
    assert refused(Context("local[4]", **settings)) == (
        "spark.speculation.task.duration.threshold is set: Spark would start a second copy of a worker for running so "
        "long; leave it out"
    )


def test_sessions_of_spark_connect() -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(UnfitSession, match=r"^on= is a Spark Connect session, .*; start the app where"):
        ab.run(Market(), on=remote, workers=1)


@pytest.mark.parametrize("on", ["sparks", 7, SparkSession, object()])
def test_what_is_no_session(on: object) -> None:
    told = re.escape(f'on is a SparkSession or "spark", got {on!r}: write ab.run(..., on=spark)')
    with pytest.raises(TypeError, match=f"^{told}$"):
        ab.run(Market(), on=on, workers=1)


def test_the_session_that_there_is(spark: SparkSession) -> None:
    with ab.run(Market(), on="spark", workers=1) as app:
        assert app.add(1, 2) == 2
        assert [row["result"] for row in app.add.many(spark.range(2).withColumnRenamed("id", "item")).collect()] == [
            1,
            3,
        ]
    assert spark.range(3).count() == 3


def test_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tasks on this machine it is this one, unless someone has said which."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    for master, settings, expected in [
        ("local[4]", {}, sys.executable),
        ("local-cluster[2,2,1024]", {}, sys.executable),
        ("local[4]", {"spark_pyspark_python": "/usr/bin/python9"}, "python3"),
        ("yarn", {}, "python3"),
    ]:
        context: Any = Context(master, **settings)
        sessions.use_this_python(context)
        assert context.pythonExec == expected


# -- executors that lack something ------------------------------------------------------------------------------------


def test_executors_of_another_version(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    here = dict(tasks.versions())
    monkeypatch.setattr(tasks, "versions", lambda: tuple((here | {"anabranch": "9.9", "msgpack": "7"}).items()))
    told = (
        f"an executor differs from this process: anabranch {here['anabranch']} there, 9.9 here, msgpack 1 there, 7 here"
    )
    with pytest.raises(UnfitSession, match=f"^{re.escape(told)}; install the same versions on all of them$"):
        tasks.check_executors(spark.sparkContext)


def test_executors_without_the_package(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe is sent by value, and says what it could not import."""
    monkeypatch.setattr(tasks, "_PROBE", tasks._PROBE.replace("anabranch.drivers.resident", "anabranch.nowhere"))
    told = "an executor cannot import anabranch: No module named 'anabranch.nowhere'; install the same version"
    with pytest.raises(UnfitSession, match=f"^{re.escape(told)}"):
        tasks.check_executors(spark.sparkContext)
