"""Online matrix factorisation: a rating moves the factors of its user and of its item towards each other."""

import anabranch as ab


class Factorisation(ab.Program):
    users: ab.Partitioned[ab.Table[int, ab.DenseVector]]
    items: ab.Partitioned[ab.Table[str, ab.DenseVector]]

    def __init__(self, rank: int = 2, step: float = 0.1, decay: float = 0.01) -> None:
        self.rank = rank
        self.step = step
        self.decay = decay

    def rate(self, user: int, item: str, rating: float) -> float:
        """Learn from a rating; gives the error before."""
        if not 0 <= rating <= 5:
            raise ValueError(f"a rating is between 0 and 5, not {rating}")
        p = self._user(user)
        q = self._item(item)
        error = rating - p.dot(q)
        self.items[item] = q + (p * error - q * self.decay) * self.step
        self.users[user] = p + (q * error - p * self.decay) * self.step
        return error

    def predict(self, user: int, item: str) -> float:
        p = self._user(user)
        return p.dot(self._item(item))

    def factors(self, user: int) -> ab.DenseVector | None:
        return self.users.get(user)

    def best(self, user: int, items: list[str]) -> str | None:
        p = self._user(user)
        scores = [p.dot(self._item(item)) for item in items]
        if not scores:
            return None
        return items[scores.index(max(scores))]

    def _user(self, user: int) -> ab.DenseVector:
        known = self.users.get(user)
        if known is None:
            return ab.DenseVector([1.0 / (1 + (user + i) % 5) for i in range(self.rank)])
        return known

    def _item(self, item: str) -> ab.DenseVector:
        known = self.items.get(item)
        if known is None:
            return ab.DenseVector([1.0 / (1 + (len(item) + i) % 3) for i in range(self.rank)])
        return known


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("predict", (1, "tea")),
    ("factors", (1,)),
    ("rate", (1, "tea", 5.0)),
    ("rate", (1, "coffee", 1.0)),
    ("rate", (2, "tea", 4)),
    ("rate", (2, "tea", 6.0)),  # ValueError
    ("rate", (1, "tea", 5.0)),
    ("predict", (1, "tea")),
    ("predict", (2, "coffee")),
    ("best", (1, ["tea", "coffee", "milk"])),
    ("best", (2, [])),
    ("factors", (1,)),
]
