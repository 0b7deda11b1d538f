"""Random programs find the defects of before when they are put back: a seed for each, which changes with the generator.

`python -m tests.generator.mistakes` looks for new seeds.
"""

from __future__ import annotations

import pytest

from tests.generator.mistakes import MISTAKES, Mistake, caught
from tests.generator.seeds import generate_seed

SEEDS = {
    "remember_the_row_that_lacked_room": 657,
    "lose_the_names_of_arguments": 184,
    "share_the_default_of_get": 432,
}


@pytest.mark.parametrize(("mistake", "feature", "tier"), MISTAKES, ids=lambda x: getattr(x, "__name__", ""))
def test_a_mistake_is_caught_by_a_random_program(mistake: Mistake, feature: str, tier: str) -> None:
    seed = SEEDS[mistake.__name__]
    assert feature in generate_seed(seed).features
    assert caught(seed, None, tier) is None, "the program fails without the mistake too"
    assert caught(seed, mistake, tier) is not None, f"{mistake.__name__} is not caught by seed {seed}: look for another"
