"""What a kernel remembers of a search holds only as long as it is true, and what it borrows is not changed under it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import anabranch as ab


class Holder(NamedTuple):
    id: int
    xs: list[int]


class Maybe(NamedTuple):
    n: int
    xs: list[int] | None


class Probes(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]]
    u: ab.Partitioned[ab.Table[int, Maybe]]
    m: ab.Partial[ab.Matrix]

    def put(self, k: int, v: int) -> None:
        self.t[k] = v

    def changed_in_a_branch(self, k: int) -> int:
        x = self.t.get(k, 0)
        if x == 0:
            k = k + 1
        return self.t.get(k, 0)

    def after_no_iteration(self, xs: list[int], k: int) -> int:
        s = 0
        for x in xs:
            s += self.t.get(k, 0) + x
        return s + self.t.get(k, -1)

    def nested(self, xs: list[int], k: int) -> int:
        s = 0
        for x in xs:
            for y in range(x):
                s += self.t.get(k, 0) + y
            s += 1000 * self.t.get(k, 0)
        return s

    def by_the_loop_variable(self, xs: list[int]) -> int:
        s, x = 0, 0
        for x in xs:
            if x < 0:
                continue
            s += self.t.get(x, 0)
        return s + 100 * self.t.get(x, -1)

    def otherwise(self, xs: list[int], k: int) -> int:
        s = 0
        for x in xs:
            if x == 7:
                break
        else:
            s = self.t.get(k, 0)
        return s + 10 * self.t.get(k, 0)

    def while_otherwise(self, n: int, k: int) -> int:
        s = 0
        while n > 0:
            s += self.t.get(k, 0)
            n -= 1
        else:
            s += 100 * self.t.get(k, 0)
        return s

    def same_key_twice(self, a: int, b: int) -> int:
        before = self.t.get(a, 0) + self.t.get(b, 0)
        self.t.pop(a, 0)
        after = self.t.get(b, -5)
        self.t[b] = before
        return after + self.t.get(a, -7)

    def rows(self, i: int) -> float:
        row = self.m.row(i)
        s = 0.0
        for j in range(3):
            self.m[i, j] = 1.0
            s += 10 * s + len(row)
            row = self.m.row(i)
        return s

    def fields(self, r: Holder) -> int:
        n = self.t.get(r.id, 0) + len(r.xs)
        self.t[r.id] = n
        return n

    def keep(self, k: int, xs: list[int] | None) -> None:
        self.u[k] = Maybe(k, xs)

    def absent(self, k: int) -> Maybe | None:
        return self.u.get(k)


CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *(("put", (k, v)) for k, v in ((1, 6), (2, 8), (10, 3))),
    *(("changed_in_a_branch", (k,)) for k in (9, 1, 0, 3)),
    *(("after_no_iteration", (xs, k)) for xs in ([], [1], [1, 2]) for k in (10, 5)),
    *(("nested", (xs, k)) for xs in ([0], [1, 0, 2], []) for k in (1, 5)),
    *(("by_the_loop_variable", (xs,)) for xs in ([1, -3], [2, 1], [])),
    *(("otherwise", (xs, 10)) for xs in ([7], [1], [])),
    *(("while_otherwise", (n, k)) for n in (0, 2) for k in (1, 5)),
    *(("same_key_twice", pair) for pair in ((1, 1), (1, 2), (4, 4), (2, 1))),
    *(("rows", (i,)) for i in (1, 1, 2)),
    *(("fields", (Holder(k % 5, [1] * k),)) for k in range(8)),
    ("keep", (1, [4, 5])),
    ("keep", (2, None)),
    *(("absent", (k,)) for k in (1, 2, 3)),
]


@pytest.mark.parametrize("workers", [1, 2])
def test_calls_and_batches(workers: int) -> None:
    plain = Probes()
    with ab.run(Probes(), workers=workers, tier="compiled") as app:
        compiled = {e.name for e in app.explain().entries if e.tasks[0].why == "in use"}
        assert compiled == set(app.entries)
        for entry, row in CALLS:
            assert app.entries[entry](*row) == plain.entries[entry](*row), (entry, row)
        many = [{"r": Holder(i % 5, [1])} for i in range(3000)]
        assert app.fields.many(many) == plain.fields.many(many)
        assert app.state.t.copy() == plain.__anabranch_states__["t"]
