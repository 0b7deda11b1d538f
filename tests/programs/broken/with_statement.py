"""A context manager in an entry."""

import decimal

import anabranch as ab


class Ledger(ab.Program):
    cents: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, account: str, cents: int) -> None:
        with decimal.localcontext():  #! AB501
            self.cents[account] += cents
