"""A class defined inside an entry."""

import anabranch as ab


class Points(ab.Program):
    xs: ab.Partitioned[ab.Table[str, int]]

    def add(self, name: str, x: int) -> None:
        class Point:  #! AB102
            size = 2

        self.xs[name] = x
