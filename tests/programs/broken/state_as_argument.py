"""A state handed to a function, and the program itself."""

import anabranch as ab


def lookup(table: ab.Table[str, int], key: str) -> int:
    return table[key]


def describe(program: ab.Program) -> str:
    return "a program"


class Counter(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str) -> None:
        self.counts[key] += 1

    def count(self, key: str) -> int:
        return lookup(self.counts, key)  #! AB303

    def what(self) -> str:
        return describe(self)  #! AB303
