"""What programs of other modules use: records and an own state type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import anabranch as ab


class Point(NamedTuple):
    x: int
    y: float


@dataclass(frozen=True)
class Rule:
    name: str
    limit: int
    at: Point


class Window:
    """An own state type that cannot be made without arguments."""

    def __init__(self, size: int, factor: float) -> None:
        self.size, self.factor = size, factor
        self.seen: dict[int, list[float]] = {}

    @ab.writes
    def add(self, key: int, x: float) -> None:
        self.seen[key] = [*self.seen.get(key, []), x * self.factor][-self.size :]

    @ab.reads
    def total(self, key: int) -> float:
        return sum(self.seen.get(key, []))
