"""Centres of k-means written on every worker with a value that differs per worker."""

import anabranch as ab


class Centre(ab.Program):
    sums: ab.Partial[ab.DenseVector]
    centre: ab.Replicated[ab.DenseVector]

    def __init__(self, size: int = 2) -> None:
        self.sums = ab.DenseVector.zeros(size)
        self.centre = ab.DenseVector.zeros(size)

    def add(self, axis: int, x: float) -> None:
        self.sums[axis] += x

    def step(self) -> None:
        sums = ab.everywhere(self.sums).copy()
        ab.everywhere(self.centre).assign(sums)  #! AB404
