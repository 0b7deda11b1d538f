"""Forks of apps on Spark: on the same workers, with frames of their own."""

from __future__ import annotations

import copy
import os
import random
import signal

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import assert_alike, step
from tests.engines.forks.tools import children
from tests.spark.market import Whereabouts
from tests.spark.tools import dealt, frame


def test_nobody_sees_what_the_other_writes(spark: SparkSession) -> None:
    chance, program = random.Random(11), Bank()
    with ab.run(Bank(), workers=2, on=spark, tier="python") as app:
        for _ in range(10):
            step(chance, program, app)
        other = copy.deepcopy(program)
        with app.fork() as fork:
            for _ in range(15):
                step(chance, program, app)
                step(chance, other, fork)
            assert_alike(other, fork)
        assert_alike(program, app)


def test_a_fork_takes_frames_and_outlives_its_app(spark: SparkSession) -> None:
    given = frame(spark, dealt([(key, 0.0) for key in range(50)], 2), "key long, seconds double")
    app = ab.run(Whereabouts(), workers=2, on=spark)
    assert app.rest.many(given).count() == 50
    fork = app.fork()
    app.stop()
    assert fork.rest.many(given).count() == 50
    assert sum(fork.state.calls.copy().values()) == 100
    fork.stop()


def test_a_fork_is_lost_with_a_worker(spark: SparkSession) -> None:
    with ab.run(Whereabouts(), workers=2, on=spark) as app:
        app.rest(1, 0.0)
        fork = app.fork()
        (process,) = children(app.where(1))
        os.kill(process, signal.SIGKILL)
        with pytest.raises(ab.ForkLost):
            fork.rest.many({"key": list(range(20)), "seconds": [0.0] * 20})
        fork.stop()
        app.rest(1, 0.0)
        assert app.state.calls[1] == 3  # one of them asked where
