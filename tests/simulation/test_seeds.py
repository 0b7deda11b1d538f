"""A thousand stories: whatever is late, reordered, repeated, lost or crashed, answers and state are right."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.cases import make_case
from tests.simulation.check import run_seed

CHUNKS, SIZE = 40, 25  # 1,000 seeds


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_seeds(chunk: int) -> None:
    for seed in range(chunk * SIZE, (chunk + 1) * SIZE):
        run_seed(seed)


def test_a_seed_tells_the_same_story_again() -> None:
    for seed in range(20):
        assert run_seed(seed).story == run_seed(seed).story


def test_stories_are_of_all_kinds() -> None:
    """What is proved above is proved of something."""
    told: Counter[str] = Counter()
    for seed in range(120):
        world = run_seed(seed)
        told.update(line.split()[0].strip(":") for line in world.story)
        told["WITHDRAWS"] += sum("WITHDRAWS" in line for line in world.story)
        told["staged"] += sum("Begin(" in line for line in world.story)
        told["fused"] += sum("BeginFused(" in line for line in world.story)
        told["rows"] += sum("Rows(" in line for line in world.story)
        told["loads"] += sum("loads version" in line for line in world.story)
        told["failed"] += sum(ran.failed for ran in world.ran)
        told["looks"] += len(world.looks)
        told["meanwhile"] += world.meanwhile
        told["collected"] += sum("Collect(" in line for line in world.story)
        told["fetched"] += sum("Entries(" in line for line in world.story)
        told["again"] += sum("Failed(" in line for line in world.story)
        with make_case(seed) as case:
            told["winding"] += sum(not e.straight for e in case.graph.entries)
    wanted = "LOST TWICE LATE CRASH STALL ABORT SPLIT BREAK WITHDRAWS staged fused collected fetched rows loads failed"
    wanted += " looks meanwhile again winding"
    assert min(told[word] for word in wanted.split()) > 15, told
