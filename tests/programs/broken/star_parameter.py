"""An entry with any number of arguments."""

import anabranch as ab


class Sums(ab.Program):
    sums: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str, *amounts: int) -> None:  #! AB108
        self.sums[key] += sum(amounts)
