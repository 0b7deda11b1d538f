"""Clearing and adding up all of a partitioned state."""

import anabranch as ab


class Daily(ab.Program):
    today: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str) -> None:
        self.today[key] += 1

    def total(self) -> int:
        return sum(self.today.values())  #! AB301

    def next_day(self) -> None:
        self.today.clear()  #! AB301
