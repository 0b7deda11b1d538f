"""A dict of the module that can change between two runs."""

import anabranch as ab

PRICES = {"tea": 250}


class Shop(ab.Program):
    spent: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def buy(self, customer: str, article: str) -> None:
        self.spent[customer] += PRICES[article]  #! AB510
