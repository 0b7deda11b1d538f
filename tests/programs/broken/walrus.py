"""An assignment inside an expression."""

import anabranch as ab


class Store(ab.Program):
    data: ab.Partitioned[ab.Table[str, int]]

    def double(self, key: str) -> int:
        if (value := self.data.get(key)) is not None:  #! AB501
            return 2 * value
        return 0
