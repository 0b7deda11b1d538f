"""The fixture of pytest. Every run of pytest where anabranch is installed loads this, so it loads nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from anabranch.testing.kit import Kit


@pytest.fixture
def anabranch_app() -> Iterator[Callable[..., Kit]]:
    """`anabranch_app(P(), workers=3, ...)` is `testing.app(...)`; all of them are stopped when the test ends."""
    from anabranch.testing.kit import app

    with ExitStack() as stack:

        def start(*args: Any, **options: Any) -> Kit:
            return stack.enter_context(app(*args, **options))

        yield start
