"""`ab.run(..., on=spark)`: an app whose workers are Spark tasks."""

from __future__ import annotations

from anabranch.engines.embedded.app import App
from anabranch.engines.spark.session import session_of, use_this_python
from anabranch.engines.spark.tasks import SparkTasks
from anabranch.lang import Program


def run_on(on: object, program: Program, workers: int, history: bool, tier: str) -> App:
    session = session_of(on, workers)
    context = session.sparkContext
    use_this_python(context)
    return App(program, workers, history, tier=tier, hosts=SparkTasks(context, workers))
