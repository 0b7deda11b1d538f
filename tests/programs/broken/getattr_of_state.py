"""A state chosen by its name at run time."""

import anabranch as ab


class Gauges(ab.Program):
    low: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    high: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def put(self, key: str, low: int, high: int) -> None:
        self.low[key] = low
        self.high[key] = high

    def read(self, gauge: str, key: str) -> int:
        return int(getattr(self, gauge)[key])  #! AB508
