"""A record type defined inside the program instead of beside it."""

from typing import NamedTuple

import anabranch as ab


class Tracker(ab.Program):
    last: ab.Partitioned[ab.Table[int, int]]

    class Point(NamedTuple):  #! AB102
        x: int
        y: int

    def move(self, vehicle: int, x: int) -> None:
        self.last[vehicle] = x
