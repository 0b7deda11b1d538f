"""A tuple of any length: a list is meant."""

import anabranch as ab


class Paths(ab.Program):
    lengths: ab.Partitioned[ab.Table[int, int]]

    def add(self, number: int, steps: tuple[int, ...]) -> None:  #! AB204
        self.lengths[number] = len(steps)
