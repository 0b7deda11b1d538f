"""What belongs to state or configuration does not change, under whatever name a kernel meets it."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.engines.embedded import App


class Renamed(ab.Program):
    """What belongs to state gets into a list that has another name too, of which the translator knows nothing."""

    t: ab.Partitioned[ab.Table[int, list[int]]]
    dense: ab.Partial[ab.DenseMatrix] = ab.DenseMatrix.zeros(2, 2)
    limits: list[int]

    def __init__(self) -> None:
        self.limits = [1, 2]

    def read(self, k: int) -> int:
        self.t[k] = [k]
        xs = [[k]]
        ys = xs
        xs.append(self.t[k])
        ys[-1].append(3)
        return len(ys[-1])

    def default(self, k: int) -> int:
        xs = [[k]]
        ys = xs
        xs.append(self.t.get(k, [k]))
        ys[-1][0] = 3
        return len(ys[-1])

    def cleared(self, k: int) -> int:
        self.t[k] = [k]
        xs = [[k]]
        ys = xs
        xs += [self.t[k]]
        ys[-1].clear()
        return len(ys[-1])

    def configured(self, k: int) -> int:
        xs = [[k]]
        ys = xs
        xs.append(self.limits)
        ys[-1].pop()
        return len(ys[-1])

    def row(self, k: int) -> float:
        xs = [ab.DenseVector([1.0])]
        ys = xs
        xs.append(self.dense.row(0))
        ys[-1][0] = 3.0
        return ys[-1][0]


def test_what_belongs_to_state_does_not_change_under_names_that_were_there_before() -> None:
    names = ("read", "default", "cleared", "configured", "row")
    with App(Renamed(), 1, tier="compiled") as app:
        for name in names:
            assert app._engine.tiers.is_fast(name)
            for program in (Renamed(), app):
                with pytest.raises(ab.FrozenError):
                    program.entries[name](1)
