"""A row of a matrix is a snapshot: writing to it does not reach the matrix."""

import anabranch as ab


class Ratings(ab.Program):
    ratings: ab.Partitioned[ab.Matrix]

    def rate(self, user: int, item: int, rating: float) -> None:
        row = self.ratings.row(user)
        row[item] = rating  #! AB302

    def forget(self, user: int) -> None:
        for item, _ in self.ratings.row(user).items():
            self.ratings[user, item] = 0.0
