"""A variable that is an int on one path and a float on the other, and is sent to another key."""

import anabranch as ab


class Points(ab.Program):
    members: ab.Partitioned[ab.Table[str, bool]] = ab.Table(default=False)
    points: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def buy(self, customer: str, shop: int) -> None:
        if self.members[customer]:
            bonus = 1.5
        else:
            bonus = 1
        self.points[shop] += bonus  #! AB207
