"""Logistic regression in batches: every worker learns weights of its own, and now and then all agree on their mean.

Shows: partial state with a mean as its merge, local reads of it, and an entry that reads and writes it everywhere.

    python examples/logistic.py
"""

import math

import numpy as np

import anabranch as ab


def sigmoid(z: float) -> float:
    if z < 0:
        e = math.exp(z)
        return e / (1 + e)
    return 1 / (1 + math.exp(-z))


class LogisticRegression(ab.Program):
    weights: ab.Partial[ab.DenseVector]

    def __init__(self, dimension: int = 3, rate: float = 0.5) -> None:
        self.weights = ab.partial(ab.DenseVector.zeros(dimension), merge=ab.mean)
        self.dimension = dimension
        self.rate = rate

    def learn(self, x: ab.DenseVector, y: float) -> None:
        """One step down the gradient, on the weights of the worker at hand."""
        if y not in (0.0, 1.0):
            raise ValueError(f"a label is 0 or 1, not {y}")
        step = self.rate * (y - sigmoid(self.weights.dot(x)))
        for i in range(self.dimension):
            self.weights[i] += step * x[i]

    def predict(self, x: ab.DenseVector) -> float:
        """The probability of label 1 under the mean of all workers' weights."""
        margins = ab.gather(ab.everywhere(self.weights).dot(x))
        return sigmoid(sum(margins) / len(margins))

    def agree(self) -> list[float]:
        """The mean of all workers' weights, which is what all of them go on with."""
        parts = ab.gather(ab.everywhere(self.weights).tolist())
        mean = [sum(part[i] for part in parts) / len(parts) for i in range(self.dimension)]
        ab.everywhere(self.weights).assign(mean)
        return mean

    def guess(self, x: ab.DenseVector) -> bool:
        """The label under one worker's weights: needs no other worker, and may differ from worker to worker."""
        return ab.local(self.weights.dot(x) > 0)


def main() -> None:
    """Points of the plane, above a line or below it, in ten batches; the workers agree after each.

    >>> main()
    1 worker: 99% of 1000 unseen points are right; the line is y = 0.46 x + 0.23
    2 workers: 99% of 1000 unseen points are right; the line is y = 0.47 x + 0.22
    """
    chance = np.random.default_rng(7)
    points = np.column_stack([np.ones(6_000), chance.uniform(-2, 2, (6_000, 2))])
    labels = (points[:, 2] > 0.5 * points[:, 1] + 0.25).astype(float)
    rows = [(ab.DenseVector(x), y) for x, y in zip(points.tolist(), labels.tolist(), strict=True)]
    learned, unseen = rows[:5_000], rows[5_000:]
    for workers in (1, 2):
        with ab.run(LogisticRegression(), workers=workers) as app:
            for start in range(0, 5_000, 500):
                app.learn.many(learned[start : start + 500])
                w = app.agree()
            guesses = app.predict.many([(x,) for x, _ in unseen])
        right = sum((p > 0.5) == (y == 1.0) for p, (_, y) in zip(guesses, unseen, strict=True))
        shown = (
            f"{workers} worker{'s' if workers > 1 else ''}: {right / len(unseen):.0%} of {len(unseen)} unseen points"
        )
        print(f"{shown} are right; the line is y = {-w[1] / w[2]:.2f} x + {-w[0] / w[2]:.2f}")


# What the tests call, one after the other, on every engine.
CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("predict", (ab.DenseVector([1.0, 2.0, -1.0]),)),
    ("learn", (ab.DenseVector([1.0, 2.0, -1.0]), 1.0)),
    ("learn", (ab.DenseVector([1.0, -2.0, 0.5]), 0.0)),
    ("learn", (ab.DenseVector([1.0, 1.5, 0.0]), 1)),
    ("learn", (ab.DenseVector([1.0, 0.0, 0.0]), 0.5)),  # ValueError: no label
    ("learn", (ab.DenseVector([1.0, 0.0]), 1.0)),  # ValueError: wrong length
    ("predict", (ab.DenseVector([1.0, 2.0, -1.0]),)),
    ("predict", (ab.DenseVector([1.0, -2.0, 0.5]),)),
    ("predict", (ab.DenseVector([-1e6, 0.0, 0.0]),)),
    ("agree", ()),
    ("guess", (ab.DenseVector([1.0, 2.0, -1.0]),)),
    ("guess", (ab.DenseVector([1.0, -2.0, 0.5]),)),
]


if __name__ == "__main__":
    main()
