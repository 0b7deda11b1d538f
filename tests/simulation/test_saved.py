"""Stories of runs that are saved: whatever is killed, torn, full or replaced, what was acknowledged is there."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from tests.simulation.catching import Mistake, assert_caught
from tests.simulation.lineage import run_saved
from tests.simulation.mistakes_saved import APART, HERE

CHUNKS, SIZE = 7, 20  # 140 seeds
ALLOWED = 250  # seeds in which a mistake must be caught


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_seeds(chunk: int) -> None:
    for seed in range(chunk * SIZE, (chunk + 1) * SIZE):
        run_saved(seed)


def test_a_seed_tells_the_same_story_again() -> None:
    for seed in range(8):
        assert run_saved(seed).story == run_saved(seed).story


def test_stories_are_of_all_kinds() -> None:
    """What is proved above is proved of something."""
    told: Counter[str] = Counter()
    for seed in range(60):
        ages = run_saved(seed)
        text = "\n".join(ages.story)
        for words in (
            "POWER LOSS",
            "KILL",
            "before sync",
            "before create",
            "A SECOND RUN",
            "Fenced",
            "no space left",
            "SNAPSHOT",
            "wanted=True",
            "loads version",
            "CRASH",
            "SPLIT",
            "is answered: Results",
        ):
            told[words] += text.count(words)
        numbers = [run.world.case.routing.workers for run in ages.runs if run.world is not None]
        told["other numbers of workers"] += len(set(numbers)) > 1
    assert min(told.values()) > 2, told


@pytest.mark.parametrize(("mood", "mistake"), HERE, ids=lambda x: getattr(x, "__name__", ""))
def test_a_mistake_is_caught(mood: str, mistake: Mistake) -> None:
    assert_caught(mistake, partial(run_saved, apart=False, mood=mood), range(ALLOWED))


@pytest.mark.parametrize(("mood", "mistake"), APART, ids=lambda x: getattr(x, "__name__", ""))
def test_a_mistake_of_workers_apart_is_caught(mood: str, mistake: Mistake) -> None:
    assert_caught(mistake, partial(run_saved, apart=True, mood=mood), range(ALLOWED))
