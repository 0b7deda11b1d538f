"""A dense vector has a fixed size, which nobody said."""

import anabranch as ab


class Histogram(ab.Program):
    bins: ab.Partial[ab.DenseVector]  #! AB210

    def add(self, place: int) -> None:
        self.bins[place] += 1.0
