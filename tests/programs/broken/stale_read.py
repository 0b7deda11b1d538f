"""Stale reads of partial state come later."""

import anabranch as ab


class Model(ab.Program):
    weights: ab.Partial[ab.Vector]

    def learn(self, feature: int, x: float) -> None:
        self.weights[feature] += x

    def weight(self, feature: int) -> float:
        return ab.stale(self.weights, epochs=2)[feature]  #! AB901
