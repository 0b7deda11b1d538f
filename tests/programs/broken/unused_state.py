"""A state that no entry uses."""

import anabranch as ab


class Store(ab.Program):
    data: ab.Partitioned[ab.Table[str, int]]
    history: ab.Partitioned[ab.Table[str, list[int]]]  #! AB114

    def put(self, key: str, value: int) -> None:
        self.data[key] = value
