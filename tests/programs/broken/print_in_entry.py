"""Output from inside an entry."""

import anabranch as ab


class Counter(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str) -> None:
        self.counts[key] += 1
        print("now", self.counts[key])  #! AB506
