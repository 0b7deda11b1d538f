"""Loops over rows of a matrix whose steps reach state by their own index, and by keys that stay the same."""

from __future__ import annotations

from random import Random

import pytest

import anabranch as ab
from anabranch.engines.embedded import App
from tests.kernels.native.test_widened import answer


class Visits(ab.Program):
    rows: ab.Partitioned[ab.Matrix]
    pairs: ab.Partial[ab.Matrix]
    turned: ab.Partial[ab.Matrix]
    counts: ab.Partial[ab.Table[int, int]]
    sums: ab.Partial[ab.Vector]

    def __init__(self) -> None:
        self.counts = ab.partial(ab.Table(default=0), merge=ab.add)

    def visit(self, user: int, item: int, by: float) -> None:
        self.rows[user, item] = by
        for other, score in self.rows.row(user).items():
            self.counts[other] += 1
            self.counts[item] += 2
            if score > 1.0:
                self.pairs[item, other] += score
                self.pairs[other, item] += 1.0
                self.turned[other, item] += 0.5
            elif score > 0.0:
                self.pairs[item, other] = 0.0
                self.counts.pop(other, 0)
                self.counts.pop(item, 0)
            else:
                self.turned[item, other] -= 1.0

    def around(self, user: int, times: int) -> None:
        row = self.rows.row(user)
        for first in row:
            for second, score in row.items():
                if second == times:
                    break
                self.sums[second] += score
                self.sums[first] -= 0.5
                self.sums[user] += 1.0
            if times > 90:
                raise ValueError(user)

    def columns(self, item: int) -> float:
        total = 0.0
        for x in ab.gather(ab.everywhere(self.turned).column(item)):
            total += x.sum()
        return total


def calls(seed: int, width: int) -> list[tuple[str, tuple[int | float, ...]]]:
    random = Random(seed)
    found: list[tuple[str, tuple[int | float, ...]]] = []
    for i in range(600):
        found.append(
            ("visit", (random.randrange(4), random.randrange(-2, width), random.choice([0.0, 0.5, 2.0, -1.0])))
        )
        if i % 20 == 0:
            found.append(("around", (random.randrange(4), random.randrange(100))))
            found.append(("columns", (random.randrange(width),)))
    return found


@pytest.mark.parametrize("width", [12, 400, 10**15])
def test_states_are_as_plain(width: int) -> None:
    plain = Visits()
    with App(Visits(), 1, tier="compiled") as app:
        for entry in app.entries:
            assert app._engine.tiers.is_fast(entry), (entry, app._engine.tiers.fallback(entry))
        rows = calls(width % 97, width)
        for entry, row in rows:
            assert answer(getattr(app, entry), row) == answer(getattr(plain, entry), row), (entry, row)
        visits = [row for entry, row in rows if entry == "visit"]
        app.visit.many(visits)
        plain.entries["visit"].many(visits)
        for name in ("rows", "pairs", "turned", "sums"):
            assert repr(getattr(app.state, name).copy()) == repr(getattr(plain, name)), name
        assert sorted(app.state.counts.scan()) == sorted(plain.counts.items())
