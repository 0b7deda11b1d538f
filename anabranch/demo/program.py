"""The program of the demo, which is that of the README; a test keeps them equal."""

from __future__ import annotations

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
