"""Random programs on Spark that are scaled at random moments: tasks come and go, answers stay."""

from __future__ import annotations

from random import Random

from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.engines.embedded import App
from anabranch.engines.spark.tasks import SparkTasks
from tests.conformance.sampling import runs_all
from tests.generator.scaling import check_scaled

FIRST = 9_800_000  # not those of the other engines
PROGRAMS = 20 if runs_all() else 3
MOST = 3  # of four slots, one is for what feeds workers


def test_random_programs(spark: SparkSession) -> None:
    def start(program: ab.Program, graph: ab.Graph, rng: Random) -> App:
        workers = rng.randint(1, 3)
        return App(program, workers, True, graph=graph, hosts=SparkTasks(spark.sparkContext, workers))

    assert sum(check_scaled(seed, start, MOST) for seed in range(FIRST, FIRST + PROGRAMS))
