"""Programs that are fine as plain Python and that no graph can run: each is refused, with its code and nothing else."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.frontend.codes import ERROR
from tests.engines.test_semantics_programs import source
from tests.generator.plain import loaded

REFUSED: dict[str, tuple[str, set[str]]] = {
    "a default that can change": (
        """
        def _h(self, k: int, acc: list[int] = []) -> int:
            acc.append(self.t.get(k, 0))
            return len(acc)

        def f(self, k: int) -> int:
            return self._h(k)
        """,
        {"AB510"},
    ),
    "named arguments in another order": (
        """
        def _h(self, a: int, b: int) -> int:
            return 100 * a + b

        def f(self, xs: list[int]) -> int:
            return self._h(b=xs.pop(), a=xs.pop())
        """,
        {"AB501"},
    ),
    "a mistake in a helper called from a loop": (
        """
        def _now(self, k: int) -> int:
            print(k)
            return 1

        def f(self, a: int, xs: list[int]) -> int:
            n = 0
            for x in xs:
                y = self._now(x)
                n += y
            return n + self.t[a]
        """,
        {"AB506"},
    ),
    "a pair of one list": (
        """
        def f(self, a: int, b: int) -> list[int]:
            z = [0]
            x, y = z, z
            self.t[a] = 1
            self.u[b] = 1
            x.append(1)
            return y
        """,
        {"AB511"},
    ),
    "a list under two names that gets a third": (
        """
        def f(self, a: int, b: int) -> list[int]:
            x = y = [a]
            self.t[a] = 1
            self.u[b] = 1
            z = x
            z.append(1)
            return y
        """,
        {"AB511"},
    ),
    "a comprehension under two names": (
        """
        def f(self, a: int, xs: list[int]) -> list[int]:
            x = y = [self.t.get(k, 0) for k in xs]
            self.u[a] = 1
            x.append(1)
            return y
        """,
        {"AB511"},
    ),
    "rows of a repeated list": (
        """
        def f(self, a: int, b: int) -> list[list[int]]:
            v = [[0]] * 2
            self.t[a] = 1
            self.u[b] = 1
            for row in v:
                row.append(3)
            return v
        """,
        {"AB511"},
    ),
    "a list added to itself": (
        """
        def f(self, a: int, b: int) -> list[list[int]]:
            v = [[0], [1]]
            w = v + v
            self.t[a] = 1
            self.u[b] = 1
            w[0].append(3)
            return w
        """,
        {"AB511"},
    ),
    "shared on the way to a handler": (
        """
        def f(self, a: int, b: int, xs: list[int]) -> list[int]:
            z = [1]
            try:
                z = xs
                n = 1 // a
                z = [2]
            except ZeroDivisionError:
                n = 2
            self.t[a] = 1
            self.u[b] = 1
            z.append(n)
            return xs
        """,
        {"AB511"},
    ),
    "enumerate of a list that grows": (
        """
        def f(self, xs: list[int]) -> list[int]:
            for i, x in enumerate(xs):
                v = self.t[x]
                if i < 3:
                    xs.append(v + self.u[v])
            return xs
        """,
        {"AB512"},
    ),
    "a map that is left": (
        """
        def f(self, ss: list[str]) -> int:
            for k in map(int, ss):
                if self.t[k] > 0:
                    self.u[k] += 1
                    break
            return 1
        """,
        {"AB512"},
    ),
    "a lazy source that reads the sum": (
        """
        def f(self, xs: list[int]) -> int:
            n = 0
            for x in map(lambda y: y + n, xs):
                n += self.t.get(x, 0)
            return n
        """,
        {"AB512"},
    ),
    "a repeated list under another name": (
        """
        def f(self, a: int, b: int) -> list[int]:
            v = [[0]] * 2
            w = v
            self.t[a] = 1
            self.u[b] = 1
            w[0].append(3)
            return w[1]
        """,
        {"AB511"},
    ),
    "a list inside a slice": (
        """
        def f(self, a: int, b: int) -> list[int]:
            z = [0]
            v = [z]
            self.t[a] = 1
            self.u[b] = 1
            v[:1][0].append(3)
            return z
        """,
        {"AB511"},
    ),
    "a list inside an iterator": (
        """
        def f(self, a: int, b: int) -> list[int]:
            v = [[0], [1]]
            d = next(iter(v))
            self.t[a] = 1
            self.u[b] = 1
            d.append(3)
            return v[0]
        """,
        {"AB511"},
    ),
    "a map inside enumerate": (
        """
        def f(self, ss: list[str]) -> int:
            for i, k in enumerate(map(int, ss)):
                if self.t[k] >= 0:
                    self.u[k] += 1
                    if i == 1:
                        break
            return 0
        """,
        {"AB512"},
    ),
    "too many patterns": (
        """
        def f(self, a: int) -> int:
            match D(a, 2):
                case D(1, 2, 3):
                    return 1
            return self.t[a]
        """,
        {"AB206"},
    ),
    "a pattern that reads state": (
        """
        def f(self, a: int) -> int:
            match a:
                case self.t.x:
                    return 2
                case _:
                    return self.t[a]
        """,
        {"AB501"},
    ),
    "a guard per instance": (
        """
        def f(self, k: int) -> int:
            x = ab.everywhere(self.p).get(1, 0)
            match k:
                case 1 if x > 1:
                    return 1
            return 0
        """,
        {"AB401"},
    ),
    "a conditional per instance": (
        """
        def f(self, k: int) -> int:
            x = ab.everywhere(self.p).get(1, 0)
            return max(ab.gather(1 if x > 2 else 0))
        """,
        {"AB401"},
    ),
    "finally of what may be unset": (
        """
        def f(self, s: str) -> int:
            try:
                x = int(s)
            finally:
                y = x
            return y
        """,
        {"AB208"},
    ),
    "a list in a call": (
        """
        def _put(self, xss: list[list[int]], xs: list[int]) -> None:
            xss.append(xs)

        def f(self, j: int, k: int) -> list[int]:
            xs = [0]
            xss: list[list[int]] = []
            self._put(xss, xs)
            self.t[j] = 1
            self.u[k] = 1
            xs.append(2)
            return xss[0]
        """,
        {"AB511"},
    ),
    "a default of get": (
        """
        def f(self, j: int, k: int, d: dict[int, list[int]]) -> list[int]:
            xs = [0]
            ys = d.get(k, xs)
            self.t[j] = 1
            self.u[k] = 1
            ys.append(2)
            return xs
        """,
        {"AB511"},
    ),
    "a dict of lists made of another": (
        """
        def f(self, j: int, k: int) -> list[int]:
            xs = [0]
            d = {1: xs} | {2: [3]}
            self.t[j] = 1
            self.u[k] = 1
            d[1].append(2)
            return xs
        """,
        {"AB511"},
    ),
    "self as a loop variable": (
        """
        def f(self, n: int) -> int:
            for self in range(n):
                pass
            return n
        """,
        {"AB110"},
    ),
    "a declared item": (
        """
        def f(self, n: int) -> int:
            xs = [n]
            xs[10 // n]: int
            return n
        """,
        {"AB501"},
    ),
    "orders of sets": (
        """
        def f(self, ws: list[str], fs: list[float]) -> str:
            xs: list[str] = []
            xs += set(ws)
            s = str((set(ws), 1)) + "%s" % set(ws) + f"{[set(ws)]}"
            v = ab.DenseVector(set(fs))
            m = max([w for w in set(ws)], key=len)
            x = sum(f for f in set(fs))
            return s + m
        """,
        {"AB509", "AB206"},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_graph_cannot_do_is_refused(name: str) -> None:
    body, codes = REFUSED[name]
    with loaded(source(body)) as program:
        assert {d.code for d in ab.check(program) if d.severity == ERROR} == codes
