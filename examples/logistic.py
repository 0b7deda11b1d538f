"""Online logistic regression: every worker learns weights of its own, a prediction averages what they say."""

import math

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

    def guess(self, x: ab.DenseVector) -> bool:
        """The label under one worker's weights: needs no other worker, and may differ from worker to worker."""
        return ab.local(self.weights.dot(x) > 0)


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
    ("guess", (ab.DenseVector([1.0, 2.0, -1.0]),)),
    ("guess", (ab.DenseVector([1.0, -2.0, 0.5]),)),
]
