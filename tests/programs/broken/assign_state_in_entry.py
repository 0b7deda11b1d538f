"""A state replaced by a new one."""

import anabranch as ab


class Daily(ab.Program):
    today: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str) -> None:
        self.today[key] += 1

    def next_day(self) -> None:
        self.today = ab.Table(default=0)  #! AB304
