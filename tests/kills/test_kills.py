"""Real kills while clients are at work; many more in `make soak`, those on Spark in tests/spark/test_kills.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kills.story import Story


@pytest.mark.parametrize(
    ("kind", "seed", "kills"),
    [("threads", 1, 2), ("worker", 2, 2), ("driver", 3, 1), ("tree", 4, 2), ("any", 5, 1)],
)
def test_what_was_answered_is_there(tmp_path: Path, kind: str, seed: int, kills: int) -> None:
    told = Story(tmp_path, seed, kind, kills, filled=60, damages=4).tell()
    assert told.counts["kills"] == kills
    assert told.counts["files damaged"] == 4
    assert told.counts["answers compared"] > 0
