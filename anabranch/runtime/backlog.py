"""The requests that wait, and which of them share the next epoch.

Laws: the oldest request is always in the next epoch; a `Hold` comes after what was before it and before what comes
after it; an epoch that runs in stages is straight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from anabranch.graph.nodes import Graph
from anabranch.runtime.messages import AtWorkers, Hold, Placed, Request
from anabranch.runtime.plan import Plan, make_plan, readers


@dataclass(frozen=True, slots=True)
class Limits:
    """A request of at most `fused_rows` rows runs fused; epochs of several requests have at most `epoch_rows` rows."""

    fused_rows: int = 64
    epoch_rows: int = 65_536


@dataclass(slots=True)
class Waiting:
    """A request in the queue. One whose epoch failed runs `alone`, one that failed alone runs `fused`."""

    request: Request
    alone: bool = False
    fused: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """The requests of the next epoch; without a plan they run fused. With `columns` it is one, and goes to kernels."""

    waiting: tuple[Waiting, ...]
    plan: Plan | None
    columns: bool = False


class Backlog:
    def __init__(
        self,
        graph: Graph,
        limits: Limits,
        whole: Callable[[str], bool] = lambda entry: False,
        columns: Callable[[Request], bool] = lambda request: False,
    ) -> None:
        """`whole` says of an entry that it runs best uncut, on one thread, also where it need not.

        `columns` says of a request that its stages run through kernels.
        """
        self._graph, self._limits, self._whole, self._columns = graph, limits, whole, columns
        self._winding = {e.name for e in graph.entries if e.winding is not None}
        self._readers = readers(graph)
        self._queue: deque[Waiting | Hold] = deque()
        self._plans: dict[frozenset[str], Plan | None] = {}

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, request: Request | Hold) -> None:
        self._queue.append(request if isinstance(request, Hold) else Waiting(request))

    def put_back(self, waiting: Iterable[Waiting]) -> None:
        """To the front, in this order."""
        self._queue.extendleft(reversed(list(waiting)))

    def withdraw(self, number: int) -> bool:
        """Take a request out; False if it is not here."""
        for item in self._queue:
            if number_of(item) == number:
                self._queue.remove(item)
                return True
        return False

    def take_staged(self) -> list[Waiting]:
        """Take out the requests whose rows were brought to the workers."""
        found = [w for w in self._queue if isinstance(w, Waiting) and isinstance(w.request.rows, AtWorkers)]
        for item in found:
            self._queue.remove(item)
        return found

    def reads(self) -> Iterator[Waiting | Hold]:
        """What only reads, in order; it stays here. Without what is to be remembered, and what is many epochs long."""
        for item in self._queue:
            if isinstance(item, Hold):
                may_be_tried = item.read is not None
            else:
                entry, rows, mark = item.request.entry, item.request.rows, item.request.mark
                few = not isinstance(rows, AtWorkers) and len(rows) <= self._limits.epoch_rows
                may_be_tried = few and mark is None and entry in self._readers
            if may_be_tried:
                yield item

    def numbers(self) -> list[int]:
        return [number_of(item) for item in self._queue]

    def choose(self) -> Chosen | Hold | None:
        """Take the next epoch, or a client that wants the state to itself, out of the queue."""
        if not self._queue:
            return None
        head = self._queue.popleft()
        if isinstance(head, Hold):
            return head
        if self._fuses(head):
            return Chosen(self._joined(head, lambda chosen, item: self._fuses(item)), None)
        plan = self._plan([head])
        assert plan is not None, f"{head.request.entry} is straight and has no stages"
        if self._columns(head.request):
            return Chosen((head,), plan, True)
        waiting = self._joined(head, self._stays_straight)
        return Chosen(waiting, self._plan(waiting))

    def _joined(self, head: Waiting, may_join: Callable[[Sequence[Waiting], Waiting], bool]) -> tuple[Waiting, ...]:
        chosen, kept = [head], []
        rows = len(head.request.rows)
        while self._queue and not head.alone:
            item = self._queue[0]
            if isinstance(item, Hold):
                break
            self._queue.popleft()
            fits = rows + len(item.request.rows) <= self._limits.epoch_rows
            if fits and not item.alone and may_join(chosen, item):
                chosen.append(item)
                rows += len(item.request.rows)
            else:
                kept.append(item)
        self.put_back(kept)
        return tuple(chosen)

    def _stays_straight(self, chosen: Sequence[Waiting], item: Waiting) -> bool:
        return not (self._fuses(item) or self._columns(item.request)) and self._plan([*chosen, item]) is not None

    def _fuses(self, item: Waiting) -> bool:
        request = item.request
        return (
            item.fused
            or request.entry in self._winding
            or len(request.rows) <= self._limits.fused_rows
            or self._whole(request.entry)
        )

    def _plan(self, items: Iterable[Waiting]) -> Plan | None:
        names = frozenset(item.request.entry for item in items)
        if names not in self._plans:
            self._plans[names] = make_plan(self._graph, names)
        return self._plans[names]


def number_of(item: Waiting | Placed | Hold) -> int:
    return item.number if isinstance(item, Hold) else item.request.number
