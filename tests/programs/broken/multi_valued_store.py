"""A value per worker stored where one value belongs."""

import anabranch as ab


class Snapshots(ab.Program):
    count: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)
    kept: ab.Partitioned[ab.Table[str, int]]

    def add(self) -> None:
        self.count.value += 1

    def keep(self, name: str) -> None:
        n = ab.everywhere(self.count).value
        self.kept[name] = n  #! AB404
