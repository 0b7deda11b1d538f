"""Real Spark: `spark` is a session of local[4], `retrying` one that tries a task up to four times, as clusters do, and
`cluster` one of two executors in processes of their own.

A process has at most one SparkContext. All tests of a process share it; who asks for another kind ends the first one
and its JVM. That costs seconds, so a file of tests asks for one kind only, and files of one kind run one after the
other. `make tests` runs this folder in a process beside the other tests, without xdist: Spark has threads of its own.
Under `pytest -n N` it works too, with a JVM in every worker that gets such a test.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tests.conformance.sampling import sample
from tests.jvm import find_jvm
from tests.spark.conforming import ONE_IN

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LOCAL = "local[4]"
RETRYING = "local[4,4]"  # slots, and how often a task may fail
CLUSTER = "local-cluster[2,2,1024]"  # executors, their cores, their megabytes
KINDS = ("spark", "retrying", "cluster")


class Host:
    """The SparkContext of this process, if it has one now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session: SparkSession | None = None
        self.given: tuple[str, dict[str, str]] | None = None

    def give(self, master: str, **settings: str) -> SparkSession:
        """Settings have _ for the dots in their names."""
        if self.given != (master, settings):
            self.stop()
        if self.session is None:
            self.session, self.given = self._start(master, settings), (master, settings)
        return self.session

    def _start(self, master: str, settings: dict[str, str]) -> SparkSession:
        builder = SparkSession.builder.master(master).appName("anabranch tests")
        for name, value in {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.executor.memory": "1g",
            "spark.executorEnv.PYTHONPATH": str(ROOT),
            "spark.local.dir": str(self.folder / "local"),
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        return session

    def stop(self) -> None:
        """End the context and its JVM, and wait until it is gone."""
        if self.session is None:
            return
        context = self.session.sparkContext
        work = Path(pyspark.__file__).parent / "work" / context.applicationId  # what executors of a cluster leave
        gateway = context._gateway
        self.session.stop()
        self.session = None
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=60)
        SparkContext._gateway = SparkContext._jvm = None  # the next context starts a JVM
        shutil.rmtree(work, ignore_errors=True)


@pytest.fixture(scope="session")
def spark_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("SPARK_", "PYSPARK_"))]:
            patch.delenv(name)  # meant for another Spark than the one of this environment
        patch.setenv("JAVA_HOME", str(find_jvm()))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_LOCAL_HOSTNAME", "localhost")
        host = Host(tmp_path_factory.mktemp("spark"))
        yield host
        host.stop()


@pytest.fixture(scope="module")
def spark(spark_host: Host) -> SparkSession:
    return spark_host.give(LOCAL)


@pytest.fixture(scope="module")
def retrying(spark_host: Host) -> SparkSession:
    return spark_host.give(RETRYING)


@pytest.fixture(scope="module")
def cluster(spark_host: Host) -> SparkSession:
    return spark_host.give(CLUSTER)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file that asks for two kinds would end the session that it still holds; of conformance there is a sample."""
    conforming = [item for item in items if item.path.parent == HERE and item.path.name.startswith("test_conformance_")]
    left_out = set(conforming) - sample(conforming, ONE_IN)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
    asked: dict[Path, set[str]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.path.is_relative_to(HERE):
            asked.setdefault(item.path, set()).update(set(KINDS).intersection(item.fixturenames))
    for path, kinds in asked.items():
        if len(kinds) > 1:
            raise pytest.UsageError(f"{path} asks for {' and for '.join(sorted(kinds))}; do: make two files of it")
    # Only ours move, and among their own places.
    places = [i for i, item in enumerate(items) if item.path in asked]
    ours = sorted([items[i] for i in places], key=lambda item: [k in asked[item.path] for k in KINDS], reverse=True)
    for i, item in zip(places, ours, strict=True):
        items[i] = item
