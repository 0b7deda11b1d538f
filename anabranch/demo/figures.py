"""How it goes, in numbers, as the threads that feed and ask have seen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from anabranch.demo.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds."""

    p50: float
    p90: float
    p99: float
    max: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread | None:
        if not seconds:
            return None
        return cls(*(float(value) for value in np.percentile(seconds, [50, 90, 99, 100])))


@dataclass(frozen=True, slots=True)
class Figures:
    """`freshness` is how old the newest rating that an answer has in it was when the answer came."""

    seconds: float
    ratings: int
    recommendations: int
    freshness: Spread | None
    rating: Spread | None  # of a batch, from call to answer
    recommending: Spread | None

    @classmethod
    def of(cls, traffic: Traffic, since: float = 0.0) -> Figures:
        """Of what was answered since then, on the clock of `perf_counter`."""
        batches = [b for b in traffic.batches if b.answered >= since]
        answers = [a for a in traffic.answers if a.answered >= since]
        return cls(
            perf_counter() - max(since, traffic.start),
            sum(b.rows for b in batches),
            len(answers),
            Spread.of([a.age for a in answers]),
            Spread.of([b.answered - b.begun for b in batches]),
            Spread.of([a.answered - a.begun for a in answers]),
        )

    @property
    def ratings_per_second(self) -> float:
        return self.ratings / self.seconds
