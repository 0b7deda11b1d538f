"""A single value has no keys by which it could be partitioned."""

import anabranch as ab


class Counter(ab.Program):
    total: ab.Partitioned[ab.Value[int]] = ab.Value(0)  #! AB202

    def add(self, amount: int) -> None:
        self.total.value += amount
