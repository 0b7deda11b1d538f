"""Every test that takes `engine` runs once on each."""

from __future__ import annotations

import pytest

from tests.conformance.engines import ENGINES, Engine


@pytest.fixture(scope="module", params=ENGINES.values(), ids=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.param
    return found
