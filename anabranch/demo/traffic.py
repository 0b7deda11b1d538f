"""Ratings that arrive and recommendations that are asked for meanwhile, each by a thread of its own."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

from anabranch.demo.ratings import Source

ARRIVING = 3_000  # ratings a second
FIRST = 200  # ratings that are there when the show begins, enough for the way that batches go
LARGEST = 10_000  # ratings in a batch
PAUSE = 0.04  # seconds between two batches, and between two questions


class Batch(NamedTuple):
    begun: float
    answered: float
    rows: int


class Answer(NamedTuple):
    """A recommendation that has the newest rating in it; `age` is how old that rating was when the answer came."""

    begun: float
    answered: float
    age: float


class Newest(NamedTuple):
    user: int
    item: int
    arrived: float


class Outdated(RuntimeError):
    """A recommendation did not know of a rating that had been answered before it was asked for."""


@dataclass(slots=True)
class Traffic:
    """What was fed and answered. One thread feeds and one asks; others may look at any time.

    A rating arrives when its time has come, whether the app is ready or not: what an app that stands still is late
    with, it has to make up for.
    """

    app: Any
    source: Source
    start: float = field(default_factory=perf_counter)
    batches: list[Batch] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    fed: int = 0
    newest: Newest | None = None

    def warm_up(self) -> None:
        """The first batch and the first question load what is loaded when it is first needed; then time begins."""
        self._rate(FIRST, perf_counter())
        self.app.recommend(0)
        self.batches.clear()
        self.start = perf_counter() - FIRST / ARRIVING

    def feed(self, over: threading.Event) -> None:
        while not over.wait(PAUSE):
            begun = perf_counter()
            arrived = int((begun - self.start) * ARRIVING)
            end = min(arrived, self.fed + LARGEST)
            if end == self.fed:
                continue
            self._rate(end, begun)

    def _rate(self, end: int, begun: float) -> None:
        columns = self.source.columns(self.fed, end)
        self.app.rate.many(columns)
        self.batches.append(Batch(begun, perf_counter(), end - self.fed))
        arrived = self.start + end / ARRIVING
        self.newest, self.fed = Newest(int(columns["user"][-1]), int(columns["item"][-1]), arrived), end

    def age(self) -> float:
        """How old the newest rating is that a recommendation would know now."""
        return perf_counter() - (self.start if self.newest is None else self.newest.arrived)

    def ask(self, over: threading.Event) -> None:
        while not over.wait(PAUSE):
            if self.newest is None:
                continue
            user, item, arrived = self.newest
            begun = perf_counter()
            found = self.app.recommend(user)
            if not found[item] > 0:  # it is seen together with itself, since it was rated
                raise Outdated(f"recommend({user}) does not know that item {item} was rated, which was answered before")
            answered = perf_counter()
            self.answers.append(Answer(begun, answered, answered - arrived))
