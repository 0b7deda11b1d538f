"""Entries named like something every app has."""

import anabranch as ab


class Recipe(ab.Program):
    grams: ab.Partitioned[ab.Table[str, float]] = ab.Table(default=0.0)

    def scale(self, ingredient: str, factor: float) -> None:  #! AB107
        self.grams[ingredient] *= factor

    def version(self, ingredient: str) -> float:  #! AB107
        return self.grams[ingredient]
