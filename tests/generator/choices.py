"""Where decisions come from: one interface, answered by hypothesis (which can shrink) or by a seed (which is fast).

Law: a generator that asks only a `Choices` is a pure function of the answers. Every question is asked so that the
smallest answer is the simplest outcome: the first of a sequence, False, the low end of a range.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices(ABC):
    """One question has to be answered; all others are asked through it."""

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""

    def choose(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.integer(0, 99) >= 100 - percent

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the options, each as likely as its weight says."""
        at = self.integer(0, sum(weight for weight, _ in options) - 1)
        for weight, option in options:
            at -= weight
            if at < 0:
                return option
        raise AssertionError("the weights changed while choosing")


class SeededChoices(Choices):
    """Answers from a seed: the same on every run and machine.

    >>> [SeededChoices(7).integer(0, 9) for _ in range(3)] == [SeededChoices(7).integer(0, 9)] * 3
    True
    """

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return low if low == high else self._random.randint(low, high)


class DrawnChoices(Choices):
    """Answers drawn by hypothesis inside a composite strategy."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return low if low == high else int(self._draw(_integers(low, high)))


@lru_cache(maxsize=4096)
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    # A sample has no favourites; hypothesis prefers the ends of wide integer ranges, which skews weighted choices.
    return st.sampled_from(range(low, high + 1)) if high - low < 2000 else st.integers(low, high)
