"""A value per worker that is needed after the entry went to the owner of a key."""

import anabranch as ab


class Recommender(ab.Program):
    ratings: ab.Partitioned[ab.Matrix]
    together: ab.Partial[ab.Matrix]
    names: ab.Partitioned[ab.Table[int, str]]

    def rate(self, user: int, item: int, rating: float) -> None:
        self.ratings[user, item] = rating
        self.together[item, item] += 1

    def recommend(self, user: int, title: int) -> tuple[str, ab.Vector]:
        row = self.ratings.row(user)
        scores = ab.everywhere(self.together).dot(row)
        return (self.names[title], sum(ab.gather(scores), ab.Vector()))  #! AB410
