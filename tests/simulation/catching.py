"""Is a mistake on purpose seen? Only by a story that is right without it: one that always fails catches nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Mistake = Callable[[pytest.MonkeyPatch], None]


def assert_caught(mistake: Mistake, tell: Callable[[int], object], seeds: range) -> None:
    for seed in seeds:
        try:
            with pytest.MonkeyPatch.context() as patch:
                mistake(patch)
                tell(seed)
        except Exception:
            tell(seed)
            return
    raise AssertionError(f"{mistake.__name__} was not caught by {len(seeds)} seeds: the simulator is blind to it")
