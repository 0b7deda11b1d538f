"""A loop that ends thanks to what an earlier row has written: where that is not at hand it would never end."""

import anabranch as ab


class Repayment(ab.Program):
    rate: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    lent: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def plan(self, account: str, bank: str, rate: int, debt: int) -> int:
        """Gives how many months it takes to pay back; a rate of 0 keeps the one that the account has."""
        if rate > 0:
            self.rate[account] = rate
        elif self.rate[account] == 0:
            raise ValueError(f"{account} has no rate")
        self.lent[bank] += debt
        months = 0
        while debt > 0:
            debt -= self.rate[account]
            months += 1
        return months

    def of_bank(self, bank: str) -> int:
        return self.lent[bank]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("plan", ("ada", "north", 50, 100)),
    ("plan", ("ada", "south", 0, 120)),
    ("plan", ("ben", "north", 0, 10)),  # ValueError
    ("plan", ("ben", "south", 3, 10)),
    ("of_bank", ("south",)),
]
