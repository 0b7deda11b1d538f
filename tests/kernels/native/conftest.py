"""Tests that collect garbage for every example look at what they have made, not at all that other tests have left."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _others_left_alone() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
