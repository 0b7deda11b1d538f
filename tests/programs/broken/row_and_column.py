"""A matrix read by row and by column: it can be owned one way only."""

import anabranch as ab


class Ratings(ab.Program):
    ratings: ab.Partitioned[ab.Matrix]

    def of_user(self, user: int) -> ab.Vector:
        return self.ratings.row(user)

    def of_item(self, item: int) -> ab.Vector:
        return self.ratings.column(item)  #! AB209
