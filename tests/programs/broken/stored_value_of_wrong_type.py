"""A string stored in a table of numbers."""

import anabranch as ab


class Readings(ab.Program):
    latest: ab.Partitioned[ab.Table[str, float]]

    def read(self, sensor: str, text: str) -> None:
        self.latest[sensor] = text.strip()  #! AB206
