"""A variable that has a value only if the branch was taken."""

import anabranch as ab


class Discounts(ab.Program):
    levels: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def price(self, customer: str, cents: int) -> int:
        if self.levels[customer] > 3:
            discount = cents // 10
        return cents - discount  #! AB208
