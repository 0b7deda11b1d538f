"""A worker's own count given out as if it were the count of all."""

import anabranch as ab


class Counter(ab.Program):
    count: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)

    def add(self) -> None:
        self.count.value += 1

    def total(self) -> int:
        return self.count.value  #! AB420
