"""A default that is no value of the parameter's type."""

import anabranch as ab


class Counter(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str, by: int = "1") -> None:  #! AB113
        self.counts[key] += by

    def remove(self, key: str, by: int = None) -> None:  #! AB113
        self.counts[key] -= by
