"""A program with a state of every type under every distribution, and rows that fill it."""

from __future__ import annotations

from dataclasses import dataclass

import anabranch as ab


@dataclass(frozen=True)
class Item:
    value: int  # the name of the column that a `Value` has
    tags: list[str]


class Visits:
    """An own state type."""

    def __init__(self) -> None:
        self.by_place: dict[int, list[int]] = {}

    @ab.reads
    def visitors(self, place: int) -> list[int]:
        return self.by_place.get(place, [])

    @ab.reads
    def total(self) -> int:
        return sum(map(len, self.by_place.values()))

    @ab.writes
    def visit(self, place: int, who: int) -> None:
        self.by_place.setdefault(place, []).append(who)

    @ab.writes
    def get(self, place: int) -> int:
        """A write under a name that other types read by."""
        return len(self.by_place.pop(place, []))


def widest(states: list[ab.Table[int, int]]) -> ab.Table[int, int]:
    return max(states, key=len)


class Partitioned(ab.Program):
    table: ab.Partitioned[ab.Table[int, int]]
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    pairs: ab.Partitioned[ab.Table[tuple[int, str], float]]
    cells: ab.Partitioned[ab.Table[tuple[int, bool], int]]
    items: ab.Partitioned[ab.Table[str, Item]]
    lists: ab.Partitioned[ab.Table[bytes, list[int]]]
    vector: ab.Partitioned[ab.Vector]
    by_row: ab.Partitioned[ab.Matrix]
    by_column: ab.Partitioned[ab.Matrix]
    dense: ab.Partitioned[ab.DenseVector] = ab.DenseVector.zeros(40)
    grid: ab.Partitioned[ab.DenseMatrix] = ab.DenseMatrix.zeros(40, 4)
    own: ab.Partitioned[Visits]

    def fill(self, k: int) -> None:
        self.table[k] = k * k
        self.vector[k] = k + 0.5
        self.dense[k] = k * 2.0
        self.grid[k, k % 4] = float(k)
        self.by_row[k, k % 3] = k + 1.0
        self.own.visit(k, k + 1)

    def fill_counts(self, k: int) -> None:
        self.counts[f"k{k}"] += k

    def fill_pairs(self, k: int) -> float:
        self.pairs[k % 7, f"k{k}"] = k / 4
        return sum(self.pairs.row(k % 7).values())

    def fill_cells(self, k: int) -> None:
        self.cells[k, k % 2 == 0] = k

    def fill_items(self, k: int) -> None:
        self.items[f"k{k}"] = Item(k, ["a"] * (k % 3))

    def fill_lists(self, name: bytes, x: int) -> None:
        self.lists[name] = self.lists.get(name, []) + [x]

    def fill_column(self, k: int) -> float:
        self.by_column[k, k % 5] = k + 1.0
        return self.by_column.column(k % 5).sum()


class Replicated(ab.Program):
    table: ab.Replicated[ab.Table[int, Item]]
    vector: ab.Replicated[ab.Vector]
    matrix: ab.Replicated[ab.Matrix]
    dense: ab.Replicated[ab.DenseVector] = ab.DenseVector.zeros(40)
    grid: ab.Replicated[ab.DenseMatrix] = ab.DenseMatrix.zeros(40, 4)
    record: ab.Replicated[ab.Value[Item]] = ab.Value(Item(0, []))
    number: ab.Replicated[ab.Value[int | None]] = ab.Value(None)
    own: ab.Replicated[Visits]

    def fill(self, k: int) -> None:
        ab.everywhere(self.table)[k] = Item(k, ["x"])
        ab.everywhere(self.vector)[k] = k + 0.5
        ab.everywhere(self.matrix)[k, k % 3] = k + 1.0
        ab.everywhere(self.dense)[k] = k * 2.0
        ab.everywhere(self.grid)[k, k % 4] = float(k)
        ab.everywhere(self.record).assign(Item(k, [f"k{k}"]))
        ab.everywhere(self.number).assign(k)
        ab.everywhere(self.own).visit(k % 3, k)


class Partial(ab.Program):
    place: ab.Partitioned[ab.Table[int, int]]
    vector: ab.Partial[ab.Vector]
    matrix: ab.Partial[ab.Matrix]
    dense: ab.Partial[ab.DenseVector] = ab.DenseVector.zeros(40)
    grid: ab.Partial[ab.DenseMatrix] = ab.DenseMatrix.zeros(40, 4)
    number: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)
    words: ab.Partial[ab.Table[str, list[int]]] = ab.partial(ab.Table(), merge=ab.add)
    average: ab.Partial[ab.DenseVector] = ab.partial(ab.DenseVector.zeros(4), merge=ab.mean)
    greatest: ab.Partial[ab.Table[int, int]] = ab.partial(ab.Table(), merge=ab.largest)
    least: ab.Partial[ab.Vector] = ab.partial(ab.Vector(), merge=ab.smallest)
    widest: ab.Partial[ab.Table[int, int]] = ab.partial(ab.Table(), merge=widest)
    bare: ab.Partial[ab.Table[int, int]]
    own: ab.Partial[Visits]

    def fill(self, k: int) -> None:
        self.place[k] = k
        self.vector[k % 5] += 1.0
        self.matrix[k % 5, k % 3] += 2.0
        self.dense[k % 5] += 3.0
        self.grid[k % 5, k % 4] += 4.0
        self.number.value += k
        self.words[f"k{k % 3}"] = self.words.get(f"k{k % 3}", []) + [k]
        self.average[k % 4] += 0.5
        self.greatest[k % 3] = k
        self.least[k % 3] = float(k)
        self.widest[k] = k
        self.bare[k] = k
        self.own.visit(k % 3, k)
