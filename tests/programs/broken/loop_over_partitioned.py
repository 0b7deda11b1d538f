"""Loops over a state that lies on many workers."""

import anabranch as ab


class Accounts(ab.Program):
    cents: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def interest(self) -> None:
        for account in self.cents:  #! AB301
            self.cents[account] += 1

    def richest(self) -> int:
        most = 0
        for _, cents in self.cents.items():  #! AB301
            most = max(most, cents)
        return most
