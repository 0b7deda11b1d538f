"""Single values must start somewhere."""

import anabranch as ab


class Counter(ab.Program):
    total: ab.Partial[ab.Value[int]]  #! AB210

    def add(self, amount: int) -> None:
        self.total.value += amount
