"""A table keyed by floats: rounding, NaN and -0.0 break equality."""

import anabranch as ab


class Prices(ab.Program):
    sold: ab.Partitioned[ab.Table[float, int]]  #! AB203

    def sell(self, price: float) -> None:
        self.sold[price] = self.sold.get(price, 0) + 1
