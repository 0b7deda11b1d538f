"""The program under load: state of every distribution, each client with keys of its own.

So what a client was answered, and what it left behind, does not depend on the others, who run beside it; what is shared
is added up, in any order.
"""

from __future__ import annotations

import anabranch as ab


class Store(ab.Program):
    accounts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    notes: ab.Partitioned[ab.Table[str, str]]
    grid: ab.Partitioned[ab.Matrix]
    done: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)  # by client: the number of its last request
    seen: ab.Partial[ab.Vector]  # by client: rows
    rules: ab.Replicated[ab.Table[int, int]]
    counts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)  # what a stream brings

    def pay(self, client: int, number: int, k: int, n: int) -> int:
        self.accounts[k] += n
        left = self.accounts[k]
        self.done[client] = number
        self.seen[client] += 1.0
        return left

    def move(self, client: int, number: int, a: int, b: int, n: int) -> int:
        """Winding."""
        self.accounts[a] -= n
        self.accounts[b] += n
        self.done[client] = number
        return self.accounts[a]

    def close(self, client: int, number: int, k: int) -> bool:
        known = k in self.accounts
        if known:
            del self.accounts[k]
        self.done[client] = number
        return known

    def note(self, client: int, number: int, key: str, text: str) -> int:
        before = len(self.notes[key]) if key in self.notes else -1
        self.notes[key] = text
        self.done[client] = number
        self.seen[client] += 1.0
        return before

    def mark(self, client: int, number: int, i: int, j: int, x: float) -> int:
        self.grid[i, j] = x
        size = len(self.grid.row(i))
        self.done[client] = number
        return size

    def rule(self, client: int, number: int, n: int) -> None:
        ab.everywhere(self.rules)[client] = n
        self.done[client] = number

    def count(self, item: int, by: int) -> int:
        self.counts[item] += by
        return self.counts[item]
