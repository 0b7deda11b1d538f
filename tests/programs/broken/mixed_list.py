"""A list of numbers and strings."""

import anabranch as ab


class Rows(ab.Program):
    rows: ab.Partitioned[ab.Table[int, int]]

    def add(self, number: int, name: str) -> int:
        row = [number, name]  #! AB206
        self.rows[number] = len(row)
        return len(row)
