"""Attributes that do not exist."""

import anabranch as ab


class Ratings(ab.Program):
    ratings: ab.Partitioned[ab.Table[str, float]]

    def rate(self, film: str, rating: float) -> None:
        self.ratngs[film] = rating  #! AB306

    def rating(self, film: str) -> float:
        return self._round(self.ratings[film])  #! AB306
