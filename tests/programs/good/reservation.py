"""A reservation touches the stock of an article and the orders of a customer: read one, write the other, come back."""

from typing import NamedTuple

import anabranch as ab


class Order(NamedTuple):
    article: str
    amount: int
    cents: int


class SoldOut(Exception):
    """Fewer in stock than were asked for."""


class Shop(ab.Program):
    stock: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    wallet: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    orders: ab.Partitioned[ab.Table[str, list[Order]]]

    def supply(self, article: str, amount: int) -> int:
        assert amount > 0, "nothing supplied"
        self.stock[article] += amount
        return self.stock[article]

    def top_up(self, customer: str, cents: int) -> None:
        self.wallet[customer] += cents

    def reserve(self, customer: str, article: str, amount: int, price: int) -> int:
        """Buy, and give what is left of the stock; nothing happens if stock or money is missing."""
        left = self.stock[article] - amount
        if left < 0:
            raise SoldOut(article, left)
        money = self.wallet[customer]
        if money < amount * price:
            raise ValueError("not enough money")
        self.wallet[customer] = money - amount * price
        self.orders[customer] = self.orders.get(customer, []) + [Order(article, amount, amount * price)]
        self.stock[article] = left
        return left

    def ordered(self, customer: str) -> list[Order]:
        return self.orders.get(customer, [])

    def cancel(self, customer: str) -> int:
        """Take the last order back; gives the money returned."""
        orders = self.orders[customer]
        order = orders[-1]
        self.orders[customer] = orders[:-1]
        self.wallet[customer] += order.cents
        self.stock[order.article] += order.amount
        return order.cents


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("supply", ("lamp", 3)),
    ("supply", ("lamp", 0)),  # AssertionError
    ("top_up", ("ada", 500)),
    ("reserve", ("ada", "lamp", 2, 200)),
    ("reserve", ("ada", "lamp", 1, 200)),  # ValueError: no money
    ("reserve", ("bob", "lamp", 2, 0)),  # SoldOut
    ("ordered", ("ada",)),
    ("cancel", ("ada",)),
    ("cancel", ("ada",)),  # IndexError
    ("cancel", ("bob",)),  # KeyError
    ("reserve", ("ada", "lamp", 1, 500)),
    ("reserve", ("bob", "lamp", 2, 0)),
    ("ordered", ("ada",)),
    ("ordered", ("bob",)),
]
