"""Calls of helpers, functions and records with arguments that do not fit."""

from typing import NamedTuple

import anabranch as ab


class Point(NamedTuple):
    x: int
    y: int


def area(width: int, height: int) -> int:
    return width * height


class Areas(ab.Program):
    areas: ab.Partitioned[ab.Table[str, int]]
    corners: ab.Partitioned[ab.Table[str, Point]]

    def add(self, name: str, width: int) -> None:
        self.areas[name] = self._double(width, 2)  #! AB513

    def square(self, name: str, width: int) -> None:
        self.areas[name] = area(width)  #! AB513

    def cube(self, name: str, width: int) -> None:
        self.areas[name] = area(width, depth=width)  #! AB513

    def corner(self, name: str) -> None:
        self.corners[name] = Point(1)  #! AB513

    def _double(self, x: int) -> int:
        return 2 * x
