"""A state and an entry with one name."""

import anabranch as ab


class Words(ab.Program):
    count: ab.Partitioned[ab.Table[str, int]]

    def add(self, word: str) -> None:
        self.count[word] = self.count.get(word, 0) + 1

    def count(self, word: str) -> int:  #! AB111
        return self.count.get(word, 0)
