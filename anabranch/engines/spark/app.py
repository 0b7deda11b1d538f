"""`ab.run(..., on=spark)`: an app whose workers are Spark tasks."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic, sleep
from typing import Any

from anabranch.drivers.durable.marks import Mark
from anabranch.engines.embedded.apart import Apart
from anabranch.engines.embedded.app import App
from anabranch.engines.spark.feeding import Target
from anabranch.engines.spark.frames import Frames
from anabranch.engines.spark.session import decommissions, session_of, use_this_python
from anabranch.engines.spark.tasks import SparkTasks
from anabranch.lang import Program
from anabranch.lang.spec import EntrySpec
from anabranch.runtime.elastic import Autoscale
from anabranch.runtime.messages import AtWorkers

PULSE = 0.05  # seconds


def run_on(
    on: object,
    program: Program,
    workers: int,
    history: bool,
    tier: str,
    memory: int | None,
    autoscale: Autoscale | None,
    spares: int,
    **same: Any,
) -> App:
    """`same` is what apps elsewhere are given too."""
    most = workers if autoscale is None else max(workers, autoscale.max)
    session = session_of(on, most + spares, memory)
    context = session.sparkContext
    use_this_python(context)
    hosts = SparkTasks(context, workers)
    elastic: dict[str, Any] = {"autoscale": autoscale, "spares": spares}
    elastic["leaving"] = hosts.leaving if decommissions(context) else None
    return App(program, workers, history, tier=tier, hosts=hosts, frames=frames_of, memory=memory, **elastic, **same)


def frames_of(app: App) -> Frames:
    engine = app._engine
    assert isinstance(engine, Apart)

    def target(entry: str) -> Target:
        driver = engine.driver
        routing, addresses = driver.places()
        return Target(
            engine.program,
            entry,
            addresses,
            driver.security,
            routing.instance_of_bucket,
            routing.worker_of_instance,
            routing.version,
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

    driver = engine.driver
    return Frames(request, target, driver.drop, refuse_closed, engine.marks, driver.recovers, driver.guests)
