"""When an app gets more workers, or fewer, or spreads its work anew: a pure machine.

It hears at equal intervals how busy each worker was since the last time, as shares of that time. A worker that was
above the threshold in every one of the last reports is a bottleneck. If others have time, it lags: it has more to do
than they, or is slower, and loses buckets to them. Else there are more workers.

Laws: what is decided depends on what was reported since the last change, and on what came of the last spreading; the
number of workers goes no further beyond the two limits; work that has been spread in vain is not spread again.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anabranch.lang.similar import asks_back_when_made

LAGS = 0.6  # the others are at most so busy, as a share of the busiest
HELPED = 0.9  # so much of what it was is no change
IDLE = 0.5  # of the threshold: what all would be with one fewer


@asks_back_when_made
@asks_back_when_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscale:
    """The number of workers follows the load: `ab.run(..., autoscale=ab.Autoscale(max=4))`.

    Every `every` seconds each worker says how busy it was. If one was busy for more than `threshold` of the time,
    `reports` times in a row, there are more workers, up to `max`, or it gives some of its keys to those that have time.
    If one fewer would do, there is one fewer, down to `min`.
    """

    min: int = 1
    max: int = 8
    threshold: float = 0.7
    reports: int = 3
    every: float = 1.0

    def __post_init__(self) -> None:
        for name in ("min", "max", "reports"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} is a number, at least 1, got {value!r}: write ab.Autoscale({name}=2)")
        if self.min > self.max:
            raise ValueError(f"min is at most max, got min={self.min} and max={self.max}")
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold is a share of a worker's time, between 0 and 1, got {self.threshold!r}")
        if not self.every > 0:
            raise ValueError(f"every is a number of seconds, above 0, got {self.every!r}")


class Decision(NamedTuple):
    """Go on with so many workers; `wanted` is how much of the work each should have, where that is not the same."""

    workers: int
    wanted: tuple[float, ...] | None
    why: str


class Elastic:
    """
    >>> elastic = Elastic(Autoscale(reports=2, max=3))
    >>> elastic.handle([0.9]), elastic.handle([0.8]).workers
    (None, 2)
    """

    def __init__(self, settings: Autoscale) -> None:
        self.settings = settings
        self._reports: deque[tuple[float, ...]] = deque(maxlen=2 * settings.reports)
        self._spread: float | None = None  # how busy the busiest was when its work was spread last

    def handle(self, used: Sequence[float], loads: Sequence[float] | None = None) -> Decision | None:
        """`loads` is the share of all work that each worker has, where that is known."""
        reports, settings = self._reports, self.settings
        if reports and len(reports[-1]) != len(used):
            self.changed()
            self._spread = None
        reports.append(tuple(used))
        if len(reports) < settings.reports:
            return None
        last = list(reports)[-settings.reports :]
        mean = [sum(report[w] for report in last) / len(last) for w in range(len(used))]
        busiest = max(range(len(mean)), key=lambda w: min(report[w] for report in last))
        if min(report[busiest] for report in last) > settings.threshold:
            return self._relieve(busiest, mean, loads)
        if len(reports) == reports.maxlen:
            return self._have_fewer(mean)
        return None

    def changed(self) -> None:
        """The work is spread otherwise: what was reported says nothing of it."""
        self._reports.clear()

    def _relieve(self, busiest: int, mean: list[float], loads: Sequence[float] | None) -> Decision | None:
        settings, workers, most = self.settings, len(mean), mean[busiest]
        others = (sum(mean) - most) / max(1, workers - 1)
        if workers > 1 and others < LAGS * most and (self._spread is None or most < HELPED * self._spread):
            self._spread = most
            loads = loads or [1 / workers] * workers
            # The work each does in a second in which it is busy; one that had nothing to do is as fast as the fastest.
            speeds = [load / used if used > 0.01 else None for load, used in zip(loads, mean, strict=True)]
            known = [speed for speed in speeds if speed] or [1.0]
            wanted = tuple(speed or max(known) for speed in speeds)
            why = f"worker {busiest} was busy {most:.0%} of the time, the others {others:.0%}"
            return Decision(workers, wanted, why)
        if workers >= settings.max:
            return None
        needed = math.ceil(sum(mean) / settings.threshold)
        why = f"worker {busiest} was busy {most:.0%} of the time"
        return Decision(min(settings.max, max(workers + 1, needed)), None, why)

    def _have_fewer(self, mean: list[float]) -> Decision | None:
        settings, workers = self.settings, len(mean)
        long = [sum(report) for report in self._reports]
        if workers > settings.min and max(long) < (workers - 1) * settings.threshold * IDLE:
            return Decision(workers - 1, None, f"all workers together were busy {max(long):.0%} of the time of one")
        if max(mean) < settings.threshold:
            self._spread = None
        return None
