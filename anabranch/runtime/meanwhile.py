"""What only reads, while not all workers are there: which of it is tried, and what comes of that.

Laws: what is tried stays in the queue until it is answered, so a try that is given up, or comes to nothing, leaves no
trace; one try is under way, at one version; what needs a worker that is not there is not tried again before another is.
"""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.runtime.backlog import Backlog, number_of
from anabranch.runtime.messages import FinishedReads, Hold, Outcome, Placed, Read, Request, Version
from anabranch.runtime.rows import Start


class Meanwhile:
    """`reading` is the try that is under way."""

    def __init__(self, backlog: Backlog, starts: Mapping[str, Start]) -> None:
        self._backlog, self._starts = backlog, starts
        self.reading: Read | None = None
        self._tries = 0
        self._there: frozenset[int] = frozenset()
        self._vain: set[int] = set()  # numbers of what needs others than those who are there

    def switch(self, starts: Mapping[str, Start]) -> None:
        """Rows start elsewhere from now on. Tries are counted on: a late answer is of one before, and of none after."""
        self._starts, self.reading = starts, None
        self._there, self._vain = frozenset(), set()

    def read(self, there: frozenset[int], latest: Version, committed: Version, sequence: int) -> Read | None:
        """Try all that may be answered by those who are there, with numbers from `sequence` on."""
        if self.reading is not None or not there:
            return None
        if there != self._there:
            self._there, self._vain = there, set()
        items: list[Placed | Hold] = []
        for item in self._backlog.reads():
            if number_of(item) in self._vain:
                continue
            placed = item if isinstance(item, Hold) else self._place(item.request, sequence)
            if placed is None:
                self._vain.add(number_of(item))
                continue
            items.append(placed)
            if isinstance(placed, Placed):
                sequence = placed.sequence + len(placed.request.rows)
        if items:
            self._tries += 1
            self.reading = Read(self._tries, latest, committed, there, tuple(items))
        return self.reading

    def _place(self, request: Request, sequence: int) -> Placed | None:
        """With a number that lets its first row start at one who is there, if there is such a number."""
        if not len(request.rows):
            return Placed(request, sequence)
        first = self._starts[request.entry].at_one_of(self._there, sequence, request.rows[0])
        return None if first is None else Placed(request, first)

    def take(self, done: FinishedReads) -> list[tuple[Placed | Hold, Outcome]]:
        """What is answered now, and no longer waits."""
        if self.reading is None or done.number != self.reading.number:
            return []
        tried, self.reading = self.reading, None
        found: list[tuple[Placed | Hold, Outcome]] = []
        for item, outcome in zip(tried.items, done.outcomes, strict=True):
            if outcome is None:
                self._vain.add(number_of(item))
            elif self._backlog.withdraw(number_of(item)):  # else its client has done so
                found.append((item, outcome))
        return found

    def give_up(self) -> None:
        """What is tried would come too late."""
        self.reading = None

    def over(self) -> bool:
        """All are there, and nothing is in vain; whether anything is given up."""
        tried, self.reading = self.reading, None
        self._vain.clear()
        return tried is not None
