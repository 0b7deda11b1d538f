"""Several rows per input come later."""

import anabranch as ab


class Words(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, line: str) -> None:
        for word in line.split():
            yield word  #! AB901

    def count(self, word: str) -> int:
        return self.counts[word]
