"""Parameters that are keyword-only, and any keywords."""

import anabranch as ab


class Sums(ab.Program):
    sums: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str, *, amount: int) -> None:  #! AB108
        self.sums[key] += amount

    def update(self, key: str, **amounts: int) -> None:  #! AB108
        self.sums[key] += sum(amounts.values())
