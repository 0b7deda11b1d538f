"""An entry that does not say what it gives."""

import anabranch as ab


class Store(ab.Program):
    data: ab.Partitioned[ab.Table[str, int]]

    def put(self, key: str, value: int) -> None:
        self.data[key] = value

    def get(self, key: str):  #! AB106
        return self.data.get(key)
