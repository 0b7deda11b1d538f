"""Which tests of conformance run on engines that take long to start: of each test some of its parametrizations."""

from __future__ import annotations

import os
from zlib import crc32

import pytest

ALL = "ANABRANCH_TESTS"  # set to "all", every parametrization runs; `make soak` does


def runs_all() -> bool:
    return os.environ.get(ALL) == "all"


def sample(items: list[pytest.Item], one_in: int) -> set[pytest.Item]:
    """Of each test one in so many of its parametrizations, always the same, and one at least."""
    if runs_all():
        return set(items)
    by_test: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        by_test.setdefault((str(item.path), getattr(item, "originalname", item.name)), []).append(item)
    found: set[pytest.Item] = set()
    for (_, name), own in by_test.items():
        found.update(own[crc32(name.encode()) % min(one_in, len(own)) :: one_in])
    return found
