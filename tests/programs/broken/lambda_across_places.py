"""A function kept in a variable while the entry goes to another key."""

import anabranch as ab


class Scales(ab.Program):
    factor: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=1)
    offset: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def order(self, key: str, other: str, xs: list[int]) -> list[int]:
        factor = self.factor[key]
        rank = lambda x: x % factor  #! AB501 # noqa: E731
        offset = self.offset[other]
        return sorted([x + offset for x in xs], key=rank)
