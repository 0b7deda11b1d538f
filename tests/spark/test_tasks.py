"""Jobs of workers where the JVM of the driver is gone."""

from __future__ import annotations

from typing import Any

from anabranch.engines.spark import tasks


class Gone:
    """A context of which nothing answers any more."""

    master = "local[2]"

    def __getattr__(self, name: str) -> Any:
        raise ConnectionRefusedError("Connection refused")


def test_every_try_to_start_a_worker_is_told(monkeypatch: Any) -> None:
    """Else those who wait for the worker would wait for ever."""
    monkeypatch.setattr(tasks, "BACK_OFF", 0.0)
    jobs = tasks.SparkTasks(Gone(), 1)  # type: ignore[arg-type]
    told: list[str] = []

    def ended(number: int, why: str) -> bool:
        told.append(why)
        jobs.kill(number)
        return len(told) < 3

    jobs._run(0, None, ended)
    assert told == ["its Spark job failed: Connection refused"] * 3
