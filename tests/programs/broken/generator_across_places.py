"""A generator that would have to travel to another key."""

import anabranch as ab


class Sums(ab.Program):
    factor: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=1)
    offset: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str, other: str, xs: list[int]) -> int:
        factor = self.factor[key]
        scaled = (factor * x for x in xs)
        offset = self.offset[other]  #! AB512
        return sum(scaled) + offset
