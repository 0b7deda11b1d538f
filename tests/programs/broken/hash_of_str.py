"""Numbers that differ from process to process."""

import anabranch as ab


class Buckets(ab.Program):
    sizes: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def add(self, word: str) -> None:
        self.sizes[hash(word) % 16] += 1  #! AB509

    def identity(self, word: str) -> int:
        return id(word)  #! AB509
