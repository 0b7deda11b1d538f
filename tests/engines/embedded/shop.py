"""A program with entries of every kind: straight, of several stages, everywhere, fan-out, winding, failing, slow."""

from __future__ import annotations

import time

import anabranch as ab


@ab.pure
def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


class OutOfStock(Exception):
    pass


class Shop(ab.Program):
    stock: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    wallet: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    sales: ab.Partial[ab.Vector]

    def supply(self, sku: str, n: int) -> int:
        """One task."""
        self.stock[sku] += n
        return self.stock[sku]

    def pay_in(self, user: int, n: int) -> int:
        if n < 0:
            raise ValueError("negative", user, n)
        self.wallet[user] += n
        return self.wallet[user]

    def reward(self, sku: str, user: int) -> int:
        """Two tasks: the stock, then the wallet."""
        n = self.stock[sku]
        if n < 0:
            raise OutOfStock(sku)
        left = self.wallet[user] + n
        self.wallet[user] = left
        self.sales[user] += 1.0
        return left

    def sold(self) -> float:
        """Everywhere, and gathered."""
        return sum(ab.gather(ab.everywhere(self.sales).sum()))

    def basket(self, skus: list[str]) -> list[int]:
        """A fan-out."""
        found = []
        for sku in skus:
            found.append(self.stock[sku])
        return found

    def buy(self, sku: str, user: int, price: int) -> int:
        """Winding: the stock, the wallet, the stock again."""
        n = self.stock[sku]
        if n == 0:
            raise OutOfStock(sku)
        self.wallet[user] -= price
        self.stock[sku] = n - 1
        return n - 1

    def slow(self, user: int, seconds: float) -> int:
        self.wallet[user] += 1
        nap(seconds)
        return self.wallet[user]

    def slow_buy(self, sku: str, user: int, seconds: float) -> int:
        """Winding and slow."""
        n = self.stock[sku]
        self.wallet[user] += 1
        nap(seconds)
        self.stock[sku] = n + 1
        return n
