"""The programs of the corpus, disturbed: they give what their classes give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anabranch.testing import advance, check, crash, meanwhile, restart, scale
from tests.programs.load import good, load, program_of

# Their answers depend on how work is spread over instances: a mean of gradients is not the gradient of all.
GROUPING = {"logistic"}


@pytest.mark.parametrize("path", [p for p in good() if p.stem not in GROUPING], ids=lambda p: p.stem)
def test_a_program_of_the_corpus(path: Path) -> None:
    module = load(path)
    requests = [(name, *args) for name, args in module.CALLS]
    what: list[Any] = [crash(), scale(3), meanwhile(crash(0)), advance(60), restart(workers=2)]
    step = max(1, len(requests) // len(what))
    disturb = dict(zip(range(0, len(requests), step), what, strict=False))
    check(program_of(module), requests, workers=1, tier="python", disturb=disturb)
