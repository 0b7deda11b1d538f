"""Recommends items that were often rated together with those a user rated (collaborative filtering).

Shows: state owned by user beside state that every worker has of its own, whose parts are added up when asked for. The
class is that of the README; `anabranch demo` lets it live.

    python examples/recommender.py
    anabranch graph examples/recommender.py --format drawing
"""

import random

import anabranch as ab


class Recommender(ab.Program):
    ratings: ab.Partitioned[ab.Matrix]  # rows owned by user
    together: ab.Partial[ab.Matrix]  # how often two items were rated by one user

    def rate(self, user: int, item: int, rating: float) -> None:
        self.ratings[user, item] = rating
        for other, score in self.ratings.row(user).items():
            if score > 0:
                count = self.together[item, other] + 1
                self.together[item, other] = count
                self.together[other, item] = count

    def recommend(self, user: int) -> ab.Vector:
        row = self.ratings.row(user)
        scores = ab.everywhere(self.together).dot(row)  # one value per instance
        return sum(ab.gather(scores), ab.Vector())  # merged into one


def main() -> None:
    """Readers of even items and readers of odd ones: who read some is recommended others of the kind.

    >>> main()
    after 2000 ratings user 8 is recommended the items [38, 0, 24]
    and user 9 the items [19, 77, 15]
    a plain run with the same ratings recommends the same to all 100 users
    """
    chance = random.Random(7)
    users = [chance.randrange(100) for _ in range(2_000)]
    items = [2 * chance.randrange(50) + user % 2 for user in users]
    ratings = {"user": users, "item": items, "rating": [chance.randint(1, 10) / 2 for _ in users]}
    plain = Recommender()
    plain.entries["rate"].many(ratings)
    with ab.run(Recommender(), workers=2) as app:
        app.rate.many(ratings)
        answers = app.recommend.many({"user": list(range(100))})["result"]
    assert answers == [plain.recommend(user) for user in range(100)]

    def best(user: int) -> list[int]:
        seen = {item for rater, item in zip(users, items, strict=True) if rater == user}
        return [item for item, _ in answers[user].top(100) if item not in seen][:3]

    print(f"after 2000 ratings user 8 is recommended the items {best(8)}")
    print(f"and user 9 the items {best(9)}")
    print("a plain run with the same ratings recommends the same to all 100 users")


# What the tests call, one after the other, on every engine.
CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("recommend", (1,)),
    ("rate", (1, 10, 5.0)),
    ("rate", (1, 11, 3.0)),
    ("rate", (2, 10, 4.0)),
    ("rate", (2, 12, 2.0)),
    ("rate", (3, 11, 0.0)),
    ("rate", (3, 12, 1.5)),
    ("recommend", (1,)),
    ("recommend", (2,)),
    ("rate", (1, 10, 0.0)),
    ("rate", (1, 12, 4)),
    ("recommend", (1,)),
    ("recommend", (3,)),
    ("rate", (4, 10, "five")),  # BadInput: no float
]


if __name__ == "__main__":
    main()
