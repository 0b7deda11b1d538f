"""An entry that does not say what it takes."""

import anabranch as ab


class Store(ab.Program):
    data: ab.Partitioned[ab.Table[str, int]]

    def put(self, key, value: int) -> None:  #! AB105
        self.data[key] = value
