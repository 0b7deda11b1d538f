"""A learning rate that decays: it changes, so it is state."""

import anabranch as ab


class Mean(ab.Program):
    means: ab.Partitioned[ab.Table[str, float]] = ab.Table(default=0.0)

    def __init__(self) -> None:
        self.rate = 0.5

    def add(self, key: str, x: float) -> None:
        self.means[key] += self.rate * (x - self.means[key])
        self.rate *= 0.99  #! AB305
