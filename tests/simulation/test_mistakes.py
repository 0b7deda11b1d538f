"""The simulator finds mistakes: each one made on purpose is caught within a thousand seeds or so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.check import run_seed
from tests.simulation.mistakes import MISTAKES

SEEDS = 2500


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_is_caught(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    for seed in range(SEEDS):
        try:
            run_seed(seed)
        except Exception:
            return
    pytest.fail(f"{mistake.__name__} was not caught by {SEEDS} seeds: the simulator is blind to it")
