"""A gather of something that has one value anyway."""

import anabranch as ab


class Store(ab.Program):
    data: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def put(self, key: str, value: int) -> None:
        self.data[key] = value

    def get(self, key: str) -> int:
        return sum(ab.gather(self.data[key]))  #! AB408
