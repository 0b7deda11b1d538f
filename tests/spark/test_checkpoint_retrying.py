"""Apps on Spark that are saved, where Spark tries tasks again."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

import anabranch as ab
from tests.spark.market import Whereabouts
from tests.spark.tools import frame


def test_a_worker_that_is_gone_is_not_looked_for_again_where_it_was(retrying: SparkSession, tmp_path: Path) -> None:
    """Spark's own tries of a task would all go to the same address."""
    with ab.run(Whereabouts(), workers=2, on=retrying, checkpoint=tmp_path / "saved") as app:
        killed, tries = app.where(1), tmp_path / "tries"
        given = frame(retrying, [[(1, 0.0)], [(2, 0.0)]], "key long, seconds double")

        def kill(batches: Any) -> Any:
            context = TaskContext.get()
            assert context is not None
            with tries.open("a") as file:
                file.write(f"{context.attemptNumber()}\n")
            if Path(f"/proc/{killed}").exists():
                os.kill(killed, signal.SIGKILL)
            yield from batches

        before = sum(app.state.calls.copy().values())
        assert app.rest.many(given.mapInArrow(kill, given.schema)).count() == 2
        assert sum(app.state.calls.copy().values()) == before + 2
        assert set(tries.read_text().split()) == {"0"}
