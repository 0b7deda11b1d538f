"""`get` without a default may give None."""

import anabranch as ab


class Counter(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]]

    def add(self, key: str) -> None:
        self.counts[key] = self.counts.get(key) + 1  #! AB211
