"""The engine for tests of conformance on Spark, and which of them run."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.engines.spark.session import taken_slots
from tests.conformance.engines import Engine, Running
from tests.spark.tools import engine_on

ONE_IN = 6


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Engine:
    """Two workers; one for a second app of a file, for which there are not enough slots."""

    def start(program: ab.Program) -> Running:
        return engine_on(spark, workers=1 if taken_slots() else 2)(program)

    return start
