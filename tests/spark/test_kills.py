"""Real kills on Spark while clients and a stream are at work: Python workers, executors, the driver.

Each story has a driver and a JVM of its own. Many more in `make soak`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kills.story import Story


@pytest.mark.parametrize(
    ("kind", "seed", "kills"), [("spark-worker", 1, 2), ("executor", 2, 1), ("spark-driver", 3, 1)]
)
def test_what_was_answered_is_there(tmp_path: Path, kind: str, seed: int, kills: int) -> None:
    told = Story(tmp_path, seed, kind, kills, filled=60, damages=2).tell()
    assert told.counts["kills"] == kills
    assert told.counts["answers compared"] > 0
