"""Streaming k-means: centres are equal on all workers, sums and counts of points are each worker's own until a step.

Shows: replicated state beside partial state, and an entry that brings the parts together and the result to everyone.

    python examples/kmeans.py
"""

import math
import random

import anabranch as ab


class KMeans(ab.Program):
    centres: ab.Replicated[ab.DenseMatrix]
    sums: ab.Partial[ab.DenseMatrix]  # of the points nearest to each centre since the last step
    counts: ab.Partial[ab.DenseVector]

    def __init__(self, k: int = 2, dimension: int = 2) -> None:
        self.k = k
        self.dimension = dimension
        self.centres = ab.DenseMatrix([[float(c)] * dimension for c in range(k)])
        self.sums = ab.DenseMatrix.zeros(k, dimension)
        self.counts = ab.DenseVector.zeros(k)

    def add(self, point: ab.DenseVector) -> int:
        """Count the point for the centre nearest to it; gives that centre."""
        if len(point) != self.dimension:
            raise ValueError(f"a point has {self.dimension} coordinates, not {len(point)}")
        nearest = self._nearest(point)
        self.counts[nearest] += 1
        for i in range(self.dimension):
            self.sums[nearest, i] += point[i]
        return nearest

    def step(self) -> float:
        """Move every centre to the mean of its points; gives the distance of the farthest move."""
        sums = ab.gather(ab.everywhere(self.sums).tolist())
        counts = ab.gather(ab.everywhere(self.counts).tolist())
        centres: list[list[float]] = []
        farthest = 0.0
        for c in range(self.k):
            old = self.centres.row(c).tolist()
            total = sum(part[c] for part in counts)
            new = [sum(part[c][i] for part in sums) / total for i in range(self.dimension)] if total else old
            farthest = max(farthest, math.dist(old, new))
            centres.append(new)
        ab.everywhere(self.centres).assign(centres)
        ab.everywhere(self.sums).assign([[0.0] * self.dimension for _ in range(self.k)])
        ab.everywhere(self.counts).assign([0.0] * self.k)
        return farthest

    def centre(self, c: int) -> ab.DenseVector:
        return self.centres.row(c)

    def _nearest(self, point: ab.DenseVector) -> int:
        best = math.inf
        nearest = 0
        for c in range(self.k):
            distance = 0.0
            for i in range(self.dimension):
                distance += (point[i] - self.centres[c, i]) ** 2
            if distance < best:
                best = distance
                nearest = c
        return nearest


def main() -> None:
    """Three heaps of points, and three centres that start on a diagonal.

    >>> main()
    step 1: the farthest centre moved by 6.35
    step 2: the farthest centre moved by 3.09
    step 3: the farthest centre moved by 0.00
    centres: (-4.0, 5.0), (0.0, -4.0), (6.0, 4.0)
    """
    chance, heaps = random.Random(7), [(-4.0, 5.0), (0.0, -4.0), (6.0, 4.0)]
    points = [ab.DenseVector([chance.gauss(x, 0.5), chance.gauss(y, 0.5)]) for x, y in heaps for _ in range(500)]
    with ab.run(KMeans(k=3), workers=2) as app:
        for step in range(1, 10):
            app.add.many({"point": points})
            moved = app.step()
            print(f"step {step}: the farthest centre moved by {moved:.2f}")
            if moved < 0.005:
                break
        centres = sorted(tuple(round(x, 1) for x in app.centre(c).tolist()) for c in range(3))
    print("centres:", ", ".join(str(centre) for centre in centres))


# What the tests call, one after the other, on every engine.
CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("add", (ab.DenseVector([0.0, 0.5]),)),
    ("add", (ab.DenseVector([-1.0, 0.5]),)),
    ("add", (ab.DenseVector([4.0, 4.5]),)),
    ("add", (ab.DenseVector([1.0]),)),  # ValueError: one coordinate
    ("centre", (1,)),
    ("step", ()),
    ("centre", (0,)),
    ("centre", (1,)),
    ("centre", (2,)),  # IndexError
    ("add", (ab.DenseVector([2.5, 2.5]),)),
    ("add", (ab.DenseVector([1.0, 1.0]),)),
    ("step", ()),
    ("step", ()),
    ("centre", (0,)),
]


if __name__ == "__main__":
    main()
