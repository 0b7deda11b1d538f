"""A program with a mixin."""

import anabranch as ab


class Rounding:
    def _rounded(self, x: float) -> float:
        return round(x, 2)


class Prices(Rounding, ab.Program):  #! AB103
    prices: ab.Partitioned[ab.Table[str, float]]

    def set_price(self, article: str, price: float) -> None:
        self.prices[article] = price
