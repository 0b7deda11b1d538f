"""An entry that gives the whole state to its caller."""

import anabranch as ab


class Counter(ab.Program):
    counts: ab.Partial[ab.Vector]

    def add(self, key: int) -> None:
        self.counts[key] += 1

    def everything(self) -> ab.Vector:
        return self.counts  #! AB303
