"""The simulator finds mistakes: each one made on purpose is caught within a thousand seeds or so."""

from __future__ import annotations

from functools import partial

import pytest

from tests.simulation.catching import Mistake, assert_caught
from tests.simulation.check import run_seed
from tests.simulation.mistakes import APART, MISTAKES
from tests.simulation.mistakes_reading import READING

SEEDS = 1500


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_is_caught(mistake: Mistake) -> None:
    assert_caught(mistake, partial(run_seed, apart=False), range(SEEDS))


@pytest.mark.parametrize("mistake", [*APART, *READING], ids=lambda mistake: mistake.__name__)
def test_a_mistake_of_workers_apart_is_caught(mistake: Mistake) -> None:
    assert_caught(mistake, partial(run_seed, apart=True), range(SEEDS))
