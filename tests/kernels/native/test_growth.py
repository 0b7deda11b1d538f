"""Tables that grow far beyond one chunk of their index hold what a dict holds, through removals and undo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anabranch as ab
from anabranch.kernels.native import memory, stores
from anabranch.kernels.native.pages import LARGE, Pages


class Counts(ab.Program):
    numbers: ab.Partitioned[ab.Table[int, int]]
    words: ab.Partitioned[ab.Table[str, int]]

    def add(self, key: int, by: int) -> int:
        count = self.numbers.get(key, 0) + by
        if count < 0:
            raise ValueError("below zero")
        self.numbers[key] = count
        return count

    def drop(self, key: int) -> int:
        return self.numbers.pop(key, -1)

    def count(self, word: str) -> None:
        self.words[word] = self.words.get(word, 0) + 1


def store_of(app: Any, name: str) -> Any:
    (arena,) = app._engine.tiers._kernels.ground.arenas
    return arena.stores[name]


@pytest.mark.parametrize("numbered", [stores.SEVERAL, 1 << 17], ids=["with tags", "until there is no room for tags"])
def test_a_large_table_is_a_dict(numbered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "SEVERAL", numbered)
    rng = np.random.default_rng(3)
    plain: dict[int, int] = {}
    with ab.run(Counts(), workers=1, tier="compiled") as app:
        for size in (1, 7, 20_000, 60_000, 3, 150_000, 90_000):
            keys = rng.integers(0, 400_000, size) * 1_000_003 - 7
            found = app.add.many({"key": keys, "by": np.ones(size, dtype=np.int64)})["result"]
            expected = []
            for key in keys.tolist():
                plain[key] = plain.get(key, 0) + 1
                expected.append(plain[key])
            assert list(found) == expected
            with pytest.raises(ValueError, match="below zero"):  # so many new entries are taken back
                app.add.many({"key": [*(-key - 1 for key in keys.tolist()), 5], "by": [1] * size + [-1]})
            gone = keys[:: max(size // 1000, 1)].tolist()
            assert list(app.drop.many({"key": gone})["result"]) == [plain.pop(key, -1) for key in gone]
            assert len(app.state.numbers) == len(plain)
        store = store_of(app, "numbers")
        assert store.get(memory.CHUNKS) > 8 and store.get(memory.CHUNKS).bit_count() > 1  # in the middle of a round
        assert (store.get(memory.NUMBERS) >= stores.SEVERAL) == (numbered == 1 << 17)
        assert {key: app.state.numbers.get(key) for key in plain} == plain
        assert app.state.numbers.get(5) is None


def test_a_large_table_of_words_is_a_dict() -> None:
    words = [f"w{n * n % 70_001}" for n in range(120_000)]
    with ab.run(Counts(), workers=1, tier="compiled") as app:
        for start in range(0, len(words), 30_000):
            app.count.many({"word": words[start : start + 30_000]})
        plain: dict[str, int] = {}
        for word in words:
            plain[word] = plain.get(word, 0) + 1
        assert dict(zip(*app.state.words.to_arrow().to_pydict().values(), strict=True)) == plain


def test_no_growth_looks_at_all_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the first chunks the index is never built anew: what grows is a few chunks, or the end of a mapping."""
    built: list[int] = []
    rebuild = stores.rebuild_index
    with ab.run(Counts(), workers=1, tier="compiled") as app:
        app.add.many({"key": np.arange(200_000), "by": np.ones(200_000, dtype=np.int64)})
        monkeypatch.setattr(stores, "rebuild_index", lambda address: built.append(address) or rebuild(address))
        app.add.many({"key": np.arange(600_000), "by": np.ones(600_000, dtype=np.int64)})
        assert len(app.state.numbers) == 600_000
    assert not built


def test_pages_keep_what_they_hold() -> None:
    pages, expected = Pages(), np.arange(3 * LARGE // 8)
    held: list[Any] = []
    for words in (1, 100, LARGE // 8 - 1, LARGE // 8, LARGE // 8 + 1, LARGE // 4, 3 * LARGE // 8):
        pages.grow(words)
        assert len(pages.words) >= words
        pages.words[:words] = expected[:words]
        if words == LARGE // 4:
            held.append(pages.words[:10])  # someone still looks: the next growth is a copy
        before = len(pages.words)
        pages.grow(before + 1)
        assert np.array_equal(pages.words[:words], expected[:words])
    assert np.array_equal(held[0], expected[:10])
