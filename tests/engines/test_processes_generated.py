"""Random programs on worker processes: what crosses address spaces, and what is collected, changes nothing."""

from __future__ import annotations

import pytest

from anabranch.drivers.processes import Processes
from tests.conformance.engines import nursery
from tests.generator.apps import check_apart

CHUNKS, SIZE = 8, 5  # 40 programs
FIRST = 8_000_000  # not those of the other engines


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int) -> None:
    for seed in range(FIRST + chunk * SIZE, FIRST + (chunk + 1) * SIZE):
        check_apart(seed, lambda workers: Processes(workers, nursery()))
