"""An attribute set on a local value."""

from dataclasses import dataclass

import anabranch as ab


@dataclass(frozen=True)
class Point:
    x: int
    y: int


class Tracker(ab.Program):
    points: ab.Partitioned[ab.Table[str, Point]]

    def move(self, name: str, x: int, y: int) -> None:
        point = Point(0, 0)
        point.x = x  #! AB501
        self.points[name] = Point(x, y)
