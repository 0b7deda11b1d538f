"""A second name for a state."""

import anabranch as ab


class Counter(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str) -> None:
        counts = self.counts  #! AB303
        counts[key] += 1
