"""A function of the module that calls itself."""

import anabranch as ab


def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)  #! AB503


class Ways(ab.Program):
    ways: ab.Partitioned[ab.Table[int, int]]

    def add(self, n: int) -> None:
        self.ways[n] = factorial(n)
