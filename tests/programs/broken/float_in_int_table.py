"""An average stored in a table of integers."""

import anabranch as ab


class Averages(ab.Program):
    sums: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    means: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str, x: int) -> None:
        self.sums[key] += x
        self.counts[key] += 1
        self.means[key] = self.sums[key] / self.counts[key]  #! AB206

    def mean(self, key: str) -> float:
        return self.means[key]
