"""`ab.run(..., on=spark)`: an app whose workers are Spark tasks."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic, sleep
from typing import Any

from anabranch.drivers.durable.marks import Mark
from anabranch.drivers.durable.settings import Saving
from anabranch.drivers.fleet import Network
from anabranch.engines.embedded.apart import Apart
from anabranch.engines.embedded.app import App
from anabranch.engines.spark.feeding import Target
from anabranch.engines.spark.frames import Frames
from anabranch.engines.spark.session import session_of, use_this_python
from anabranch.engines.spark.tasks import SparkTasks
from anabranch.lang import Program
from anabranch.lang.spec import EntrySpec
from anabranch.runtime.messages import AtWorkers

PULSE = 0.05  # seconds


def run_on(
    on: object,
    program: Program,
    workers: int,
    history: bool,
    tier: str,
    network: Network,
    saving: Saving | None = None,
    memory: int | None = None,
) -> App:
    session = session_of(on, workers, memory)
    context = session.sparkContext
    use_this_python(context)
    hosts = SparkTasks(context, workers)
    return App(
        program,
        workers,
        history,
        tier=tier,
        hosts=hosts,
        frames=frames_of,
        network=network,
        saving=saving,
        memory=memory,
    )


def frames_of(app: App) -> Frames:
    engine = app._engine
    assert isinstance(engine, Apart)

    def target(entry: str) -> Target:
        driver, routing = engine.driver, engine.routing
        return Target(
            engine.program,
            entry,
            driver.addresses,
            driver.security,
            routing.instance_of_bucket,
            routing.worker_of_instance,
        )

    def request(spec: EntrySpec, rows: AtWorkers, mark: Mark | None) -> Any:
        fast = engine.tiers.expect(spec.name, len(rows))
        return app._request(spec, replace(rows, fast=fast), True, mark)  # type: ignore[arg-type]

    def refuse_closed(patience: float) -> None:
        """If the app has ended, or does so within so many seconds, say why."""
        end = monotonic() + patience
        while True:
            engine.driver.desk.refuse_closed()
            if monotonic() >= end:
                return
            sleep(PULSE)

    return Frames(request, target, engine.driver.drop, refuse_closed, engine.marks, engine.saved is not None)
