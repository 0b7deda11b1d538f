"""Recommends items that were often rated together with those a user rated (collaborative filtering).

    anabranch check examples/recommender.py
    anabranch graph examples/recommender.py

The example of the README, as a file; a test keeps the two equal.
"""

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
