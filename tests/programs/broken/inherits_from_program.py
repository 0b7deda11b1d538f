"""A program derived from another program."""

import anabranch as ab


class Counter(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str) -> None:
        self.counts[key] += 1


class ResettableCounter(Counter):  #! AB103
    def reset(self, key: str) -> None:
        self.counts[key] = 0
