"""Dense state that every row writes: undone, saved and equal to the plain run, with a log that stays short."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.embedded import App
from anabranch.kernels.native import stores
from anabranch.kernels.native.memory import WORD_RECORD

WORDS = 40


class Learned(ab.Program):
    """`spread` makes a number that is too long for a kernel: that row runs as Python, between others that do not."""

    weights: ab.Partial[ab.DenseVector]
    grid: ab.Partial[ab.DenseMatrix]
    seen: ab.Partial[ab.Value[int]]

    def __init__(self) -> None:
        self.weights = ab.partial(ab.DenseVector.zeros(WORDS), merge=ab.mean)
        self.grid = ab.partial(ab.DenseMatrix([[0.0] * 2] * 3))
        self.seen = ab.partial(ab.Value(0), merge=ab.add)

    def learn(self, at: int, x: float, spread: int) -> None:
        self.weights[at % WORDS] += x
        if spread < 0:
            raise ValueError(f"nothing spreads by {spread}")
        self.weights[spread**9 % WORDS] -= x / 2
        self.grid[at % 3, at % 2] += x

    def note(self, at: int, x: float) -> None:
        """Other state too: its log has to stay."""
        self.weights[at % WORDS] += x
        self.seen.value += 1


def rows_of(chance: random.Random, bad: bool) -> list[tuple[int, float, int]]:
    """Often long enough for all of it to be logged, before most words have been written: they come in order. Some rows
    leave the kernel, and one raises if it is to be a bad one.
    """
    count = chance.choice([1, 3, 40, 400])
    spreads = [0, 0, 0, 0, 10**6] if chance.random() < 0.3 else [0]
    rows = [(WORDS * n // count, chance.random(), chance.choice(spreads)) for n in range(count)]
    if bad:
        at = chance.randrange(count)
        rows[at] = (*rows[at][:2], -1)
    return rows


def told(program: Any, entry: str, rows: list[Any]) -> str:
    try:
        getattr(program, entry).many(rows)
    except ValueError as error:
        return repr(error)
    return ""


def content(app: App) -> list[Any]:
    """Of each instance."""
    states = (app.state.weights, app.state.grid, app.state.seen)
    return [repr(state.instances()) for state in states]


@pytest.mark.parametrize("seed", range(8))
def test_batches_are_as_plain_also_those_that_raise(seed: int) -> None:
    chance, plain = random.Random(seed), Learned()
    with App(Learned(), 1, tier="compiled") as app:
        for _ in range(25):
            rows = rows_of(chance, bad=chance.random() < 0.3)
            assert told(app, "learn", rows) == told(plain, "learn", rows)
            noted = [row[:2] for row in rows[:50]]
            assert told(app, "note", noted) == told(plain, "note", noted)
            assert content(app) == [repr([state]) for state in (plain.weights, plain.grid, plain.seen)]


@pytest.mark.parametrize("seed", range(4))
def test_several_workers_are_as_without_kernels(seed: int) -> None:
    chance = random.Random(seed)
    with App(Learned(), 3, tier="compiled") as app, App(Learned(), 3, tier="python") as other:
        for _ in range(25):
            rows = rows_of(chance, bad=chance.random() < 0.3)
            assert told(app, "learn", rows) == told(other, "learn", rows)
            assert content(app) == content(other)


@pytest.mark.parametrize("seed", range(4))
def test_what_was_learned_is_saved(seed: int, tmp_path: Path) -> None:
    """Each app is left as it stands: what the next one finds is what the log of effects says."""
    chance, plain = random.Random(seed), Learned()
    for _ in range(5):
        with ab.run(Learned(), workers=1, tier="compiled", checkpoint=tmp_path, snapshot_every=3600.0) as app:
            for _ in range(3):
                rows = rows_of(chance, bad=chance.random() < 0.3)
                assert told(app, "learn", rows) == told(plain, "learn", rows)
            assert content(app) == [repr([state]) for state in (plain.weights, plain.grid, plain.seen)]


def test_the_log_does_not_grow_with_the_rows() -> None:
    with App(Learned(), 1, tier="compiled") as app:
        app.learn.many([(n, 1.0, 1) for n in range(20_000)])
        (arena,) = app._engine.memory.arenas
        assert arena.undo < WORD_RECORD * 20_000
        assert arena.undo <= 8 * 4 * stores.FIRST_LOG
