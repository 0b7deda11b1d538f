"""Everywhere of nothing that lies on workers, and everywhere inside everywhere."""

import anabranch as ab


class Counter(ab.Program):
    count: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)

    def add(self, n: int) -> None:
        self.count.value += n

    def double(self, n: int) -> int:
        return sum(ab.gather(ab.everywhere(2 * n)))  #! AB411

    def total(self) -> int:
        return sum(ab.gather(ab.everywhere(ab.everywhere(self.count).value + 1)))  #! AB411
