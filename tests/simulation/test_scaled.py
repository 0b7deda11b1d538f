"""Stories of runs that go on with other workers while clients ask, workers crash, connections break and disks fill."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from tests.simulation.catching import Mistake, assert_caught
from tests.simulation.lineage import run_saved, run_scaled
from tests.simulation.mistakes_scaling import ANY, APART, HERE

SEEDS = 24
ALLOWED = 60  # seeds in which a mistake must be caught


def test_seeds() -> None:
    """And what is proved is proved of something."""
    told: Counter[str] = Counter()
    for seed in range(SEEDS):
        ages = run_scaled(seed)
        text = "\n".join(ages.story)
        for words in ("SCALED", "GiveUp", "SEVERED", "POWER LOSS", "CRASH", "SPLIT", "SNAPSHOT", "loads version"):
            told[words] += text.count(words)
        runs = [run.world for run in ages.runs if run.world is not None]
        told["moved in one address space"] += sum(len(w.switches) for w in runs if not w.case.apart)
        told["more than once in a run"] += sum(len(w.switches) > 1 for w in runs)
        told["only keys moved"] += sum(
            now.workers == was.workers
            for w in runs
            for was, now in zip([w.case.routing, *(r for _, r in w.switches)], [r for _, r in w.switches], strict=False)
        )
    assert min(told.values()) > 1, told


def test_a_seed_tells_the_same_story_again() -> None:
    for seed in range(3):
        assert run_scaled(seed).story == run_scaled(seed).story


def caught(mistake: Mistake, apart: bool, first: int) -> None:
    tell = partial(run_saved, apart=apart, mood="crashes", scaled=True)
    assert_caught(mistake, tell, range(first, first + ALLOWED))


@pytest.mark.parametrize(("first", "mistake"), HERE, ids=lambda x: getattr(x, "__name__", ""))
def test_a_mistake_is_caught(first: int, mistake: Mistake) -> None:
    caught(mistake, False, first)


@pytest.mark.parametrize(("first", "mistake"), APART, ids=lambda x: getattr(x, "__name__", ""))
def test_a_mistake_of_workers_apart_is_caught(first: int, mistake: Mistake) -> None:
    caught(mistake, True, first)


@pytest.mark.parametrize(("first", "mistake"), ANY, ids=lambda x: getattr(x, "__name__", ""))
def test_a_mistake_is_caught_in_any_mood(first: int, mistake: Mistake) -> None:
    assert_caught(mistake, run_scaled, range(first, first + ALLOWED))
