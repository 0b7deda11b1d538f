"""Anything that can happen to an app that is saved, in any order, beside the plain program."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import assert_alike, run, step


class Story(RuleBasedStateMachine):
    """Requests, snapshots, other numbers of workers on the way, ends in peace, crashes."""

    app: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.program = Bank()
        self.crashed: list[Any] = []

    @initialize(workers=st.integers(1, 3))
    def start(self, workers: int) -> None:
        self.app = run(Path(self.folder.name), workers, tier="python")

    @rule(seed=st.integers(0, 1 << 30), count=st.integers(1, 5))
    def requests(self, seed: int, count: int) -> None:
        chance = random.Random(seed)
        for _ in range(count):
            step(chance, self.program, self.app)

    @rule(workers=st.integers(1, 4))
    def scale(self, workers: int) -> None:
        self.app.scale(workers=workers)

    @rule()
    def snapshot(self) -> None:
        assert self.app.checkpoint() <= self.app.version

    @rule(workers=st.integers(1, 4))
    def start_again(self, workers: int) -> None:
        self.app.stop()
        self.start(workers)
        assert_alike(self.program, self.app)

    @rule(workers=st.integers(1, 4))
    def crash(self, workers: int) -> None:
        """The old one does nothing more: what is not on disk is lost, as with a kill."""
        self.crashed.append(self.app)
        self.start(workers)
        assert_alike(self.program, self.app)

    def teardown(self) -> None:
        if self.app is not None:
            assert_alike(self.program, self.app)
            for app in [self.app, *self.crashed]:
                app.stop()
        self.folder.cleanup()


TestStory = Story.TestCase
TestStory.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
