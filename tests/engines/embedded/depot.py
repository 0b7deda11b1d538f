"""A program whose states grow and shrink as its inputs say."""

from __future__ import annotations

import anabranch as ab


class Depot(ab.Program):
    stock: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    names: ab.Partitioned[ab.Table[int, str]]
    grid: ab.Partitioned[ab.Matrix]
    marked: ab.Partitioned[ab.Vector]

    def put(self, key: int, amount: int) -> int:
        self.stock[key] += amount
        return self.stock[key]

    def name(self, key: int, text: str) -> int:
        self.names[key] = text
        return len(text)

    def cell(self, key: int, column: int) -> float:
        self.grid[key, column] += 1.0
        self.marked[key] = self.grid[key, column]
        return self.grid[key, column]

    def remove(self, key: int) -> int:
        self.names.pop(key, "")
        self.marked[key] = 0.0
        return self.stock.pop(key, 0)

    def move(self, source: int, target: int) -> int:
        amount = self.stock[source]
        self.stock[source] = 0
        self.stock[target] += amount
        return amount

    def look(self, key: int) -> int:
        return self.stock[key]
