"""Shopping carts: a table keyed by (user, article) is owned by user because the program reads a user's whole row."""

import anabranch as ab


class Carts(ab.Program):
    cart: ab.Partitioned[ab.Table[tuple[str, str], int]] = ab.Table(default=0)
    prices: ab.Replicated[ab.Table[str, int]]

    def set_price(self, article: str, cents: int) -> None:
        ab.everywhere(self.prices)[article] = cents

    def add(self, user: str, article: str, amount: int = 1) -> int:
        self.cart[user, article] += amount
        return self.cart[user, article]

    def drop(self, user: str, article: str) -> None:
        del self.cart[user, article]

    def show(self, user: str) -> list[tuple[str, int]]:
        return sorted(self.cart.row(user).items())

    def total(self, user: str) -> int:
        """What the cart costs, in cents; `KeyError` if an article has no price."""
        cents = 0
        for article, amount in sorted(self.cart.row(user).items()):
            cents += amount * self.prices[article]
        return cents

    def check_out(self, user: str) -> int:
        cents = self.total(user)
        for article, _ in self.show(user):
            del self.cart[user, article]
        return cents


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("set_price", ("tea", 250)),
    ("set_price", ("milk", 120)),
    ("add", ("ada", "tea")),
    ("add", ("ada", "milk", 3)),
    ("add", ("ada", "tea", 1)),
    ("add", ("bob", "rice")),
    ("show", ("ada",)),
    ("total", ("ada",)),
    ("total", ("bob",)),  # KeyError: no price
    ("drop", ("ada", "rice")),  # KeyError
    ("set_price", ("tea", 300)),
    ("check_out", ("ada",)),
    ("show", ("ada",)),
    ("check_out", ("ada",)),
    ("total", ("nobody",)),
]
