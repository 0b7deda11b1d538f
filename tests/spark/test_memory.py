"""A budget on Spark: sessions whose Python processes could not have it, and a run that has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.engines.spark import session as sessions
from anabranch.engines.spark.session import UnfitSession
from tests.engines.embedded.depot import Depot
from tests.spark.test_session import Context


@pytest.fixture(scope="module")
def limited(spark_host: Any) -> Iterator[SparkSession]:
    """Each of its Python processes may have 4 GiB of address space."""
    yield spark_host.give("local[3]", spark_executor_pyspark_memory="4g")
    spark_host.stop()


def test_too_little_memory_for_python(limited: SparkSession) -> None:
    told = (
        "memory= is 4 GB, 2 GB for each of 2 workers, which need 3.22 GB of address space besides; with "
        "spark.executor.pyspark.memory=4g and 1 cores in an executor each gets 4.29 GB: "
        "set spark.executor.pyspark.memory to 4980m or more, or memory= to less"
    )
    with pytest.raises(UnfitSession, match=f"^{re.escape(told)}$"):
        ab.run(Depot(), on=limited, workers=2, memory="4GB")


@pytest.mark.parametrize(
    ("memory", "settings", "fits"),
    [
        (10**12, {}, True),
        (2 << 30, {"spark_executor_pyspark_memory": "4g"}, True),
        (2 << 30, {"spark_executor_pyspark_memory": "4095"}, False),
        (2 << 30, {"spark_executor_pyspark_memory": "15g", "spark_executor_cores": "4"}, False),
        (2 << 30, {"spark_executor_pyspark_memory": "16GB", "spark_executor_cores": "4"}, True),
    ],
)
def test_memory_of_sessions(memory: int, settings: dict[str, str], fits: bool) -> None:
    context: Any = Context("yarn", **settings)
    if fits:
        sessions._check_memory(context, 2, memory)
    else:
        with pytest.raises(UnfitSession, match=r"set spark\.executor\.pyspark\.memory to \d+m or more"):
            sessions._check_memory(context, 2, memory)


@pytest.mark.parametrize("tier", ["python", "compiled"])
def test_a_full_app(limited: SparkSession, tier: str) -> None:
    with ab.run(Depot(), on=limited, workers=2, tier=tier, memory="600kB") as app:
        first = limited.range(1_000).selectExpr("id AS key", "1L AS amount")
        app.put.many(first)
        with pytest.raises(ab.MemoryFull, match=r"the share of worker \d in memory='600 kB'"):
            app.put.many(limited.range(1_000, 60_000).selectExpr("id AS key", "1L AS amount"))
        assert len(app.state.stock.to_arrow()) == 1_000 and app.look(999) == 1
        memory = app.metrics().memory
        assert memory is not None and 0 < memory.accounted <= memory.budget
        assert app.remove.many({"key": list(range(900))}) == {"result": [1] * 900}
        assert app.put(7, 3) == 3
