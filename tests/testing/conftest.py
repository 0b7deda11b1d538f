"""The fixture as users have it, also where the package is not installed; and worker processes that start sooner."""

from __future__ import annotations

import pytest

from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import app
from anabranch.testing.plugin import anabranch_app
from tests.conformance.engines import nursery

__all__ = ["anabranch_app", "one_nursery"]


@pytest.fixture(autouse=True)
def one_nursery(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests share one: each of its own takes seconds to start."""
    launch = app.launcher_of

    def launcher_of(hosts: str, workers: int) -> object:
        return launch(hosts, workers) and Processes(workers, nursery())

    monkeypatch.setattr(app, "launcher_of", launcher_of)
