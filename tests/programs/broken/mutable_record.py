"""A dataclass that can be changed is no value."""

from dataclasses import dataclass

import anabranch as ab


@dataclass
class Point:
    x: float
    y: float


class Tracker(ab.Program):
    places: ab.Partitioned[ab.Table[int, float]]

    def move(self, vehicle: int, to: Point) -> None:  #! AB204
        self.places[vehicle] = to.x
