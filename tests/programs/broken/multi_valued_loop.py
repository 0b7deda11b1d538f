"""A loop over something that has one value per worker: gather is missing."""

import anabranch as ab


class Counts(ab.Program):
    counts: ab.Partial[ab.Table[str, int]] = ab.partial(ab.Table(default=0), merge=ab.add)

    def add(self, key: str) -> None:
        self.counts[key] += 1

    def total(self) -> int:
        total = 0
        for _, n in ab.everywhere(self.counts).items():  #! AB402
            total += n
        return total
