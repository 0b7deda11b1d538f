"""A Spark session for benchmarks, tuned for streams with state on one machine; nothing here needs anabranch.

State is in RocksDB with a log of changes, in as many partitions as there are cores; nothing is shown in a browser.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.jvm import find_jvm  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "key long, value double"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@contextmanager
def start_spark(cores: int = 2, residents: int = 0) -> Iterator[SparkSession]:
    """A session on this machine with so many cores, and as many partitions of every state.

    `residents` are tasks that stay: there are slots for them beside the cores.
    """
    os.environ["JAVA_HOME"] = str(find_jvm())
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master(f"local[{cores + residents}]").appName("anabranch benchmarks")
        for name, value in {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "4g",
            "spark.executorEnv.PYTHONPATH": str(ROOT),
            "spark.local.dir": f"{folder}/local",
            "spark.log.level": "ERROR",
            "spark.sql.shuffle.partitions": str(cores),
            "spark.sql.streaming.numRecentProgressUpdates": "10000",
            "spark.sql.streaming.pollingDelay": "250ms",  # a stream that waits for files takes no time from another
            "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


def rows_of(spark: SparkSession, folder: Path, schema: str = SCHEMA) -> DataFrame:
    """A stream of the Parquet files of a folder, one a micro-batch, in the order of their times."""
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
