"""A name of the module that is assigned more than once."""

import anabranch as ab

RATE = 0.5
RATE = RATE / 2


class Mean(ab.Program):
    means: ab.Partitioned[ab.Table[str, float]] = ab.Table(default=0.0)

    def add(self, key: str, x: float) -> None:
        self.means[key] += RATE * (x - self.means[key])  #! AB510
