"""Weights of a model updated as numpy users do, by assigning the attribute."""

import anabranch as ab


class Model(ab.Program):
    weights: ab.Partial[ab.DenseVector]

    def __init__(self, size: int = 4) -> None:
        self.weights = ab.DenseVector.zeros(size)

    def learn(self, x: ab.DenseVector) -> None:
        self.weights = x  #! AB304
