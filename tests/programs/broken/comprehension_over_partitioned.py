"""A comprehension over all keys of a partitioned state."""

import anabranch as ab


class Stock(ab.Program):
    stock: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def supply(self, article: str, amount: int) -> None:
        self.stock[article] += amount

    def sold_out(self) -> list[str]:
        return [article for article, left in self.stock.items() if left == 0]  #! AB301
