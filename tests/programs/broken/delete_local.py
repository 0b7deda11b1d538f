"""A local variable deleted."""

import anabranch as ab


class Store(ab.Program):
    data: ab.Partitioned[ab.Table[str, int]]

    def put(self, key: str, text: str) -> None:
        parts = text.split()
        self.data[key] = len(parts)
        del parts  #! AB501
