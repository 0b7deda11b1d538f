"""Moving average of the last readings per sensor: a list as a value, rebuilt and stored, never changed in place."""

import anabranch as ab


class MovingAverage(ab.Program):
    window: ab.Partitioned[ab.Table[str, list[float]]]

    def __init__(self, size: int = 3) -> None:
        self.size = size

    def add(self, sensor: str, x: float) -> float:
        values = (self.window.get(sensor, []) + [x])[-self.size :]
        self.window[sensor] = values
        return sum(values) / len(values)

    def weighted(self, sensor: str) -> float | None:
        """An average in which a newer reading counts more."""
        values = self.window.get(sensor)
        if values is None:
            return None
        total = 0.0
        weights = 0
        for position, x in enumerate(values, start=1):
            total += position * x
            weights += position
        return total / weights

    def spread(self, sensor: str) -> float:
        values = self.window[sensor]
        return max(values) - min(values)


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("weighted", ("s",)),
    ("add", ("s", 1.0)),
    ("add", ("s", 2.0)),
    ("add", ("s", 4.5)),
    ("add", ("s", -1.0)),
    ("add", ("t", 7)),
    ("weighted", ("s",)),
    ("spread", ("s",)),
    ("spread", ("u",)),  # KeyError
    ("add", ("s", float("inf"))),
    ("weighted", ("s",)),
]
