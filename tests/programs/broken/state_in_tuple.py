"""States put in a container to loop over them."""

import anabranch as ab


class TwoCounters(ab.Program):
    views: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    clicks: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def reset(self, key: str) -> None:
        for table in (self.views, self.clicks):  #! AB303
            table[key] = 0
