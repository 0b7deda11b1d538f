"""`ab.stable_hash` in entries: one number on every engine, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import anabranch as ab

BUCKETS = 16
WORDS = ["", "a", "ab", "héllo", "😀", "a\0", "eightlen", "a longer text than that"]


class Click(NamedTuple):
    user: int
    page: str


class Features(ab.Program):
    weights: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)
    sizes: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def learn(self, word: str, by: float) -> float:
        self.weights[ab.stable_hash(word) % BUCKETS] += by
        return self.weights[ab.stable_hash(word) % BUCKETS]

    def hashes(self, word: str, n: int) -> list[int]:
        self.sizes[word] += 1
        return [
            ab.stable_hash(word),
            ab.stable_hash(n),
            ab.stable_hash(n > 0),
            ab.stable_hash(word.encode()),
            ab.stable_hash((word, n)),
            ab.stable_hash((word, (n > 0, (n, b"x")), ())),
            ab.stable_hash(Click(n, word)),
            ab.stable_hash("constant"),
        ]

    def features(self, line: str) -> list[int]:
        self.sizes[line] += 1
        return [ab.stable_hash(("word", word)) % BUCKETS for word in line.split()]


RUNS: list[dict[str, Any]] = [
    {"workers": 1, "tier": "python"},
    {"workers": 1, "tier": "compiled"},
    {"workers": 2, "tier": "compiled"},
    {"workers": 2, "tier": "python", "hosts": "processes"},
]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_it_is_the_same_on_every_engine(run: dict[str, Any]) -> None:
    plain = Features()
    batches = {
        "learn": {"word": WORDS * 10, "by": [0.5] * (10 * len(WORDS))},
        "hashes": {"word": WORDS * 10, "n": [0, 1, -1, 2**63 - 1, -(2**63), 7, 8, 9] * 10},
        "features": {"line": [" ".join(WORDS), *WORDS]},
    }
    with ab.run(Features(), **run) as app:
        if run["tier"] == "compiled":
            assert all(app._engine.tiers.is_fast(name) for name in app.entries), app.explain()
        for name, batch in batches.items():
            assert app.entries[name].many(batch) == plain.entries[name].many(batch), name


def test_a_float_is_refused_when_the_program_is_checked() -> None:
    class Floats(ab.Program):
        sizes: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

        def add(self, x: float) -> None:
            self.sizes[ab.stable_hash((1, x)) % 8] += 1  # type: ignore[arg-type]

    told = ab.check(Floats)
    assert [(d.code, d.message) for d in told] == [("AB206", "'ab.stable_hash' does not take (tuple[int, float])")]
