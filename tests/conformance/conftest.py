"""Every test that takes `engine` runs once on each; a sample of them on those that take long to start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.engines import ENGINES, Engine
from tests.conformance.sampling import sample

HERE = Path(__file__).resolve().parent
SAMPLED = {"processes-compiled-2": 4, "connected-2": 4, "forked-2": 8}


@pytest.fixture(scope="module", params=ENGINES.values(), ids=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.param
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out: set[pytest.Item] = set()
    for name, one_in in SAMPLED.items():
        own = [i for i in items if i.path.parent == HERE and i.name.partition("[")[2].startswith(f"{name}-")]
        left_out |= set(own) - sample(own, one_in)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
