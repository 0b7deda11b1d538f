"""The simulator finds mistakes: each one made on purpose is caught within a thousand seeds or so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.check import run_seed
from tests.simulation.mistakes import APART, MISTAKES
from tests.simulation.mistakes_reading import READING

SEEDS = 1500
Mistake = Callable[[pytest.MonkeyPatch], None]


def is_caught(apart: bool) -> bool:
    for seed in range(SEEDS):
        try:
            run_seed(seed, apart)
        except Exception:
            return True
    return False


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_is_caught(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    assert is_caught(apart=False), f"{mistake.__name__} was not caught by {SEEDS} seeds: the simulator is blind to it"


@pytest.mark.parametrize("mistake", [*APART, *READING], ids=lambda mistake: mistake.__name__)
def test_a_mistake_of_workers_apart_is_caught(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    assert is_caught(apart=True), f"{mistake.__name__} was not caught by {SEEDS} seeds: the simulator is blind to it"
