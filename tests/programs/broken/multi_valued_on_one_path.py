"""A variable that has one value per worker on one path and a single value on the other."""

import anabranch as ab


class Counter(ab.Program):
    count: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)

    def add(self) -> None:
        self.count.value += 1

    def total(self, exact: bool) -> int:
        count = ab.everywhere(self.count).value if exact else 0  #! AB407
        return sum(ab.gather(count))
