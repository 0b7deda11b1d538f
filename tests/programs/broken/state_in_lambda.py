"""State read inside a function that is handed to a call."""

import anabranch as ab


class Sorter(ab.Program):
    weights: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def set_weight(self, name: str, weight: int) -> None:
        self.weights[name] = weight

    def ordered(self, names: list[str]) -> list[str]:
        return sorted(names, key=lambda name: self.weights[name])  #! AB308
