"""Running mean and variance per sensor by Welford's update; a record holds what is kept of all readings."""

import math
from dataclasses import dataclass

import anabranch as ab


@dataclass(frozen=True)
class Moments:
    n: int = 0
    mean: float = 0.0
    m2: float = 0.0


def updated(moments: Moments, x: float) -> Moments:
    n = moments.n + 1
    delta = x - moments.mean
    mean = moments.mean + delta / n
    return Moments(n, mean, moments.m2 + delta * (x - mean))


class Welford(ab.Program):
    moments: ab.Partitioned[ab.Table[int, Moments]]

    def observe(self, sensor: int, x: float) -> bool:
        """Whether the reading is an outlier: more than three deviations from the mean so far."""
        before = self.moments.get(sensor)
        if before is None:
            before = Moments()
        self.moments[sensor] = updated(before, x)
        deviation = self._deviation(before)
        return deviation is not None and abs(x - before.mean) > 3 * deviation

    def mean(self, sensor: int) -> float:
        return self.moments[sensor].mean

    def deviation(self, sensor: int) -> float | None:
        moments = self.moments.get(sensor)
        return None if moments is None else self._deviation(moments)

    def _deviation(self, moments: Moments) -> float | None:
        if moments.n < 2:
            return None
        return math.sqrt(moments.m2 / (moments.n - 1))


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("mean", (1,)),  # KeyError
    ("deviation", (1,)),
    ("observe", (1, 1.0)),
    ("deviation", (1,)),
    ("observe", (1, 1.25)),
    ("observe", (1, 0.8)),
    ("observe", (1, 1.1)),
    ("observe", (2, 5)),
    ("observe", (1, 9.0)),
    ("mean", (1,)),
    ("mean", (2,)),
    ("deviation", (1,)),
]
