"""Promotion codes: one entry calls another, so a purchase with a code is checked, counted and added up in one call."""

import anabranch as ab


class Promotions(ab.Program):
    uses_left: ab.Partitioned[ab.Table[str, int]]
    percent: ab.Partitioned[ab.Table[str, int]]
    spent: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def create(self, code: str, percent: int, uses: int = 1) -> None:
        assert 0 < percent <= 100
        self.uses_left[code] = uses
        self.percent[code] = percent

    def redeem(self, code: str) -> int:
        """Use the code once: its discount in percent, 0 if it is unknown or used up."""
        left = self.uses_left.get(code, 0)
        if left == 0:
            return 0
        self.uses_left[code] = left - 1
        return self.percent[code]

    def buy(self, customer: int, cents: int, code: str | None = None) -> int:
        """The price that was paid."""
        discount = 0
        if code is not None:
            discount = self.redeem(code)
        price = cents - cents * discount // 100
        self._charge(customer, price)
        return price

    def gift(self, giver: int, taker: int, cents: int, code: str) -> int:
        if giver == taker:
            raise ValueError("a gift is for someone else")
        return self.buy(giver, cents, code=code)

    def total(self, customer: int) -> int:
        return self.spent[customer]

    def _charge(self, customer: int, cents: int) -> None:
        self.spent[customer] += cents


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("create", ("SPRING", 20, 2)),
    ("create", ("FREE", 100)),
    ("create", ("BAD", 120)),  # AssertionError
    ("redeem", ("BAD",)),
    ("buy", (1, 999)),
    ("buy", (1, 999, "SPRING")),
    ("buy", (2, 500, "SPRING")),
    ("buy", (2, 500, "SPRING")),
    ("gift", (1, 2, 700, "FREE")),
    ("gift", (1, 1, 700, "FREE")),  # ValueError
    ("total", (1,)),
    ("total", (2,)),
    ("total", (3,)),
]
