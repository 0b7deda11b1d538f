"""An iterator as a result comes later."""

from collections.abc import Iterator

import anabranch as ab


class Words(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, word: str) -> Iterator[str]:  #! AB901
        self.counts[word] += 1
        return iter([word])
