"""A record as a key; a tuple of its fields is meant."""

from typing import NamedTuple

import anabranch as ab


class Cell(NamedTuple):
    x: int
    y: int


class Board(ab.Program):
    stones: ab.Partitioned[ab.Table[Cell, str]]  #! AB203

    def put(self, cell: Cell, colour: str) -> None:
        self.stones[cell] = colour
