"""By how much a store grows, within a budget or without one."""

from __future__ import annotations

import mmap
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from anabranch.state.budget import Budget


class Affording:
    """What one state may have. Whoever asks and takes has the `lock` meanwhile: then nobody else does."""

    def __init__(self, name: str, budget: Budget | None) -> None:
        self._name, self._budget = name, budget
        self.lock: AbstractContextManager[Any] = nullcontext() if budget is None else budget.lock

    def fits_well(self, more: int) -> bool:
        """Would as much be left for others?"""
        return self._budget is None or 2 * more <= self._budget.room

    def need(self, more: int) -> None:
        """Refuse so many bytes if they do not fit."""
        if self._budget is not None and more > self._budget.room:
            raise self._budget.refuse(f"to grow {self._name}", more - self._budget.room)

    def have(self, now: int, least: int, best: int, size: int) -> int:
        """To how many pieces of this size to grow: the best, but by no more than half of what is left of the budget.

        If there is not even the least, it is refused.
        """
        budget = self._budget
        if budget is None:
            return best
        room = (budget.room - mmap.PAGESIZE) // size
        if least - now > room:
            raise budget.refuse(f"to grow {self._name}", (least - now - room) * size)
        return max(least, min(best, now + room // 2))
