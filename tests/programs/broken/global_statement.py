"""A counter kept in the module."""

import anabranch as ab

calls = 0


class Counter(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str) -> None:
        global calls  #! AB507
        self.counts[key] += 1
