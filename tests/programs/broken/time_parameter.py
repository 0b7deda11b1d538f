"""Event time comes later."""

import anabranch as ab


class Clicks(ab.Program):
    clicks: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def click(self, page: str, at: ab.Time) -> None:  #! AB901
        self.clicks[page] += 1
