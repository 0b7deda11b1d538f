"""State read inside a generator expression: a list comprehension is meant."""

import anabranch as ab


class Prices(ab.Program):
    prices: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def set_price(self, article: str, cents: int) -> None:
        self.prices[article] = cents

    def total(self, articles: list[str]) -> int:
        return sum(self.prices[article] for article in articles)  #! AB308
