"""States that are large enough to be restored by all cores, on as many workers as saved them, more, and fewer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

import anabranch as ab
from anabranch.drivers.durable import restoring
from anabranch.kernels.native import pouring

KEYS = 2 * restoring.LARGE


class Stock(ab.Program):
    counts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    names: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    seen: ab.Partial[ab.Table[int, int]] = ab.partial(ab.Table(default=0), merge=ab.add)

    def add(self, key: int, n: int) -> None:
        self.counts[key] += n
        self.seen[key % 1000] += 1

    def name(self, key: str, n: int) -> None:
        self.names[key] = n

    def drop(self, key: int) -> None:
        if key in self.counts:
            del self.counts[key]


@pytest.mark.parametrize(("before", "now"), [(1, 1), (1, 3), (3, 1), (2, 3)])
def test_on_other_workers(before: int, now: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poured: list[int] = []
    pour = pouring.Pouring.pour

    def counted(self: pouring.Pouring, pieces: Sequence[pouring.Piece]) -> None:
        poured.extend(rows.num_rows for piece in pieces for rows in piece.read())
        pour(self, pieces)

    monkeypatch.setattr(pouring.Pouring, "pour", counted)
    keys = Random(7).sample(range(-(1 << 40), 1 << 40), KEYS)
    rows = {"key": keys, "n": list(range(KEYS))}
    texts = {"key": [str(key) for key in keys], "n": list(range(KEYS))}
    with ab.run(Stock(), workers=before, checkpoint=tmp_path, tier="compiled", snapshot_every=1e6) as app:
        app.add.many(rows)
        app.name.many(texts)
        app.checkpoint()
        app.drop.many({"key": keys[:100]})  # these are in the log
        app.add.many({"key": keys[50:150], "n": [1] * 100})
        seen = app.state.seen.copy()
    expected = dict(zip(keys, range(KEYS), strict=True))
    for key in keys[:100]:
        del expected[key]
    for key in keys[50:150]:
        expected[key] = expected.get(key, 0) + 1
    with ab.run(Stock(), workers=now, checkpoint=tmp_path, tier="compiled") as app:
        assert sum(poured) >= KEYS
        assert dict(app.state.counts.items()) == expected
        assert dict(app.state.names.items()) == dict(zip(texts["key"], texts["n"], strict=True))
        assert app.state.seen.copy() == seen
        app.add.many(rows)
        assert app.state.counts[keys[200]] == 400
