"""Which keys are asked for most, from a sample of the rows that were committed.

Of a batch some rows are looked at, of single calls one in so many; each stands for those that are not. Counts fade, so
that what was hot once is forgotten. Law: a key that has a share of the rows well above one in `KEPT` is among those
that are kept, and its share is about right; where rows come from Spark's own tasks, none are seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.graph.nodes import Dispatch, Graph
from anabranch.lang.keys import BUCKETS, bucket
from anabranch.runtime.messages import Committed, Seen

KEPT = 256  # keys
LOOKS = 32  # rows of a batch, at most
APART = 16  # single rows from one look to the next
FADES = 1024  # looks after which all counts are halved
SHOWN = 10
HOT = 0.01  # of all rows
SURE = 8  # looks at a key, before it is told


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key at which entries begin, and the share of the rows that begin there."""

    key: Any
    share: float

    def __str__(self) -> str:
        return f"{self.key!r}, {self.share:.0%} of the rows"


class HotKeys:
    """Counted under the lock of the engine."""

    def __init__(self, graph: Graph, key_of: Callable[[str], Callable[..., Any]]) -> None:
        """`key_of` gives the function that finds the key of a row of an entry."""
        keyed = [e.name for e in graph.entries if e.dispatch is Dispatch.BY_KEY]
        self._key_of: Mapping[str, Callable[..., Any]] = {name: key_of(name) for name in keyed}
        self._rows: dict[Any, float] = {}  # that began at a key, by the key
        self._looks: dict[Any, int] = {}
        self._all = 0.0
        self._due = self._faded = self._seen = 0

    def add(self, committed: Committed | Seen) -> None:
        for ran in committed.ran:
            key_of = self._key_of.get(ran.request.entry)
            rows = ran.request.rows
            if key_of is None or not hasattr(rows, "__getitem__"):
                continue
            count = len(rows)
            self._due += count
            if self._due < APART:
                continue
            step = max(1, count // min(LOOKS, max(1, count // APART)))
            while math.gcd(step, 210) > 1:  # else what comes in turns is not seen
                step += 1
            found = rows[self._seen % step :: step] if count > 1 else rows
            for row in found:
                self._look(key_of, row, self._due / len(found))
            self._due = 0

    def _look(self, key_of: Callable[..., Any], row: tuple[Any, ...], stands_for: float) -> None:
        self._seen += 1
        self._all += stands_for
        try:
            key = key_of(*row)
        except Exception:  # it has none: the entry has said so
            return
        rows, looks = self._rows, self._looks
        rows[key] = rows.get(key, 0.0) + stands_for
        looks[key] = looks.get(key, 0) + 1
        if len(rows) >= 2 * KEPT:  # those that have least go, many at once
            kept = sorted(rows, key=rows.__getitem__)[-KEPT:]
            self._rows = {key: rows[key] for key in kept}
            self._looks = {key: looks[key] for key in kept}
        if self._seen - self._faded >= FADES:
            self._faded = self._seen
            self._all /= 2
            self._rows = {key: count / 2 for key, count in self._rows.items()}
            self._looks = {key: count // 2 for key, count in self._looks.items()}

    def _hot(self) -> list[HotKey]:
        found = [HotKey(k, n / self._all) for k, n in self._rows.items() if self._looks[k] >= SURE]
        return sorted([hot for hot in found if hot.share >= HOT], key=lambda hot: -hot.share)

    def read(self) -> tuple[HotKey, ...]:
        return tuple(self._hot()[:SHOWN])

    def weights(self) -> list[float]:
        """The share of the work that each bucket has: that of its hot keys, and as much of the rest as any other."""
        hot = self._hot()
        rest = max(0.0, 1.0 - sum(h.share for h in hot))
        found = [rest / BUCKETS] * BUCKETS
        for h in hot:
            found[bucket(h.key)] += h.share
        return found
