"""A result that has one value per worker: gather is missing."""

import anabranch as ab


class Recommender(ab.Program):
    ratings: ab.Partitioned[ab.Matrix]
    together: ab.Partial[ab.Matrix]

    def rate(self, user: int, item: int, rating: float) -> None:
        self.ratings[user, item] = rating
        for other, _ in self.ratings.row(user).items():
            self.together[item, other] += 1

    def recommend(self, user: int) -> ab.Vector:
        row = self.ratings.row(user)
        return ab.everywhere(self.together).dot(row)  #! AB405
