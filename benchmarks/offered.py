"""Load that comes at a pace of its own, whatever became of what came before, and what was answered when.

Times are seconds since the load began. A request that is due while all callers wait is late, and that counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pyarrow as pa
from locations import CALLERS, Numbers, Totals, at_once

Due = Callable[[int], float | None]  # when the n-th request is to be made; None: there is none


@dataclass(frozen=True, slots=True)
class Answers:
    """Of each request when it was due and when it was answered, by the order of the answers."""

    due: Numbers
    answered: Numbers

    def __len__(self) -> int:
        return len(self.due)

    @property
    def latencies(self) -> Numbers:
        return self.answered - self.due

    def between(self, first: float, last: float) -> float:
        """Answers a second."""
        return float(np.sum((first <= self.answered) & (self.answered < last))) / (last - first)

    def longest_silence(self, first: float, last: float) -> float:
        """The longest time without an answer that touches this stretch."""
        inside = (first < self.answered[1:]) & (self.answered[:-1] < last)
        return float(np.max(np.diff(self.answered)[inside], initial=0.0))

    def slowest(self, first: float, last: float) -> float:
        """The longest latency of those that were due in this stretch."""
        return float(np.max(self.latencies[(first <= self.due) & (self.due < last)], initial=0.0))


def offer(
    call: Callable[[int], object], due: Due, over: threading.Event, callers: int = CALLERS, start: float | None = None
) -> Answers:
    """Call with every number from 0 on when it is due, until it is over or there are no more.

    All numbers below the number of answers were called, each once. It begins now, or at a moment of `perf_counter`.
    """
    numbers = count()
    taken: list[list[tuple[float, float]]] = [[] for _ in range(callers)]
    begun = perf_counter() if start is None else start

    def work(caller: int) -> None:
        try:
            while not over.is_set() and (when := due(n := next(numbers))) is not None:
                if (wait := begun + when - perf_counter()) > 0:
                    sleep(wait)
                call(n)
                taken[caller].append((when, perf_counter() - begun))
        except BaseException:
            over.set()
            raise

    at_once(work, callers)
    found = np.array(sorted((pair for of in taken for pair in of), key=lambda pair: pair[1])).reshape(-1, 2)
    return Answers(found[:, 0], found[:, 1])


def at_most(call: Callable[[int], object], seconds: float, callers: int = CALLERS) -> Answers:
    """All that callers can do who wait for their answers: everything is due when one of them is free."""
    over = threading.Event()
    timer = threading.Timer(seconds, over.set)
    timer.start()
    try:
        return offer(call, lambda n: 0.0, over, callers)
    finally:
        timer.cancel()


def steady(rate: float) -> Due:
    return lambda n: n / rate


def varying(points: Sequence[tuple[float, float]]) -> Numbers:
    """When requests are due whose rate goes in straight lines from one point, a second and a rate, to the next.

    >>> varying([(0, 2), (2, 2)]).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """
    seconds = np.linspace(points[0][0], points[-1][0], 10_001)
    rates = np.interp(seconds, *np.transpose(points))
    requests = np.concatenate([[0.0], np.cumsum(np.diff(seconds) * (rates[1:] + rates[:-1]) / 2)])
    return np.interp(np.arange(int(requests[-1] + 1e-6)), requests, seconds)


def listed(dues: Numbers) -> Due:
    times = dues.tolist()
    return lambda n: times[n] if n < len(times) else None


@dataclass(frozen=True, slots=True)
class Work:
    """Batches that come again and again, and what each row of them adds to its key.

    What is added is a whole number, so that sums are the same to the last bit in whatever order it comes.
    """

    batches: Sequence[pa.Table]
    adds: Sequence[Numbers]

    @property
    def rows(self) -> int:
        """Of a batch."""
        return int(self.batches[0].num_rows)

    def into(self, app: Any) -> Callable[[int], None]:
        """The n-th request."""
        many, batches = app.add.many, self.batches

        def call(n: int) -> None:
            many(batches[n % len(batches)])

        return call

    def called(self, totals: Totals, requests: int) -> None:
        """So many have been made, from the first on."""
        for n, (batch, adds) in enumerate(zip(self.batches, self.adds, strict=True)):
            times = len(range(n, requests, len(self.batches)))
            totals.add(batch["key"].to_numpy(), times * adds)


# --- over time ---------------------------------------------------------------------------------------------------


def edges_of(last: float, bins: int = 120) -> Numbers:
    return np.linspace(0.0, last, bins + 1)


def per_second(times: Numbers, edges: Numbers, each: float = 1.0) -> list[tuple[float, float]]:
    """How many of them there were, each so many times, at the middle of every bin."""
    counts = np.histogram(times, edges)[0] * each / np.diff(edges)
    return [*zip(((edges[1:] + edges[:-1]) / 2).tolist(), counts.tolist(), strict=True)]


def latency_over_time(answers: Answers, edges: Numbers, percent: float) -> list[tuple[float, float]]:
    """Milliseconds, by when requests were due; nothing where there was none."""
    at = np.digitize(answers.due, edges) - 1
    found = []
    for n, middle in enumerate(((edges[1:] + edges[:-1]) / 2).tolist()):
        if len(of := answers.latencies[at == n]):
            found.append((middle, 1e3 * float(np.percentile(of, percent))))
    return found
