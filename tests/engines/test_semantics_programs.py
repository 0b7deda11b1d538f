"""More corners of Python's semantics, as whole programs with their calls."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.sequential import SequentialApp
from anabranch.testing.outcomes import canonical, state_contents
from tests.generator.plain import loaded

HEAD = """
import dataclasses
from dataclasses import dataclass
from typing import NamedTuple
import anabranch as ab

class R(NamedTuple):
    id: int
    n: int

@dataclass(frozen=True)
class D:
    n: int
    m: int

    @property
    def double(self) -> int:
        return 2 * self.n

class P(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]] = ab.Table({1: 2, 2: 0, 3: 4})
    u: ab.Partitioned[ab.Table[int, int]] = ab.Table({2: 1, 4: 7})
    e: ab.Partitioned[ab.Table[int, list[int]]] = ab.Table({1: [2], 2: [3], 3: [1, 2]})
    p: ab.Partial[ab.Table[int, int]]

    def put(self, k: int, v: int) -> None:
        self.t[k] = v
"""

Calls = list[tuple[Any, ...]]
SAME: dict[str, tuple[str, Calls]] = {
    "a loop that grows its source": (
        """
        def f(self, s: int) -> int:
            todo = [s]
            n = 0
            for k in todo:
                n += k
                if k < 5:
                    todo.append(k + 2)
            self.t[s] = n
            return len(todo)
        """,
        [(1,), (4,), (9,)],
    ),
    "a list that grows beside a fan-out": (
        """
        def f(self, n: int) -> list[int]:
            out: list[int] = []
            buf: list[int] = []
            for i in range(n):
                buf.append(i)
                x = self.t.get(i, 0)
                out.append(x + len(buf))
            return out
        """,
        [(3,), (0,), (5,)],
    ),
    "the last of the inner loop": (
        """
        def f(self, xs: list[list[int]]) -> int:
            last = 0
            for x in xs:
                for y in x:
                    self.t[y] = self.t.get(y, 0) + 1
                    last = y
            return last
        """,
        [([[1, 2], [3]],), ([],), ([[], [7]],)],
    ),
    "two lists that look alike": (
        """
        def f(self, i: int, j: int) -> int:
            a: list[int] = []
            b: list[int] = []
            a.append(i)
            b.append(j)
            x = self.t.get(a[0], 0)
            self.t[b[0]] = x + 1
            return x
        """,
        [(1, 2), (2, 2), (5, 1)],
    ),
    "a key that may be None": (
        """
        def f(self, r: R | None, k: int | None = None) -> int:
            if r is None:
                return -1
            for _ in range(2):
                if k is not None:
                    self.t[k] = r.n
            return self.t.get(r.id, 0)
        """,
        [(None,), (("R", 1, 5),), (("R", 3, 5), 3)],
    ),
    "else of a while that reads state": (
        """
        def f(self, ks: list[int]) -> int:
            n = 0
            for k in ks:
                while self.t.get(k, 0) > 0:
                    self.t[k] = self.t[k] - 1
                    n += 1
                    if n == 5:
                        break
                else:
                    continue
                n += 100
            return n
        """,
        [([1, 2, 3],), ([1, 2, 3],)],
    ),
    "a variable called returned": (
        """
        def _h(self, k: int, xs: list[int]) -> int:
            returned = self.t.get(k, 0) > 3
            n = 0
            for x in xs:
                if x == 7:
                    return 70
                n += x
            if returned:
                n += 1000
            return n

        def f(self, k: int, xs: list[int]) -> int:
            return self._h(k, xs)
        """,
        [(1, [1]), (3, [1]), (3, [7])],
    ),
    "lambdas with names of others": (
        """
        def _h(self, a: int, x: int, xs: list[int]) -> list[int]:
            self.t[a] = 1
            return sorted(xs, key=lambda x: (x % a, x))

        def f(self, y: int, xs: list[int]) -> list[int]:
            zs = [sorted(self.e[x], key=lambda x: -x) for x in [1, 3]]
            return self._h(y, y, xs) + zs[1]
        """,
        [(3, [4, 5, 6])],
    ),
    "a match that captures its subject": (
        """
        def f(self, k: int, p: tuple[int, int]) -> int:
            match p:
                case (p, q) if p > 3:
                    return q
                case (a, b):
                    return self.t.get(k, 0) + b
        """,
        [(1, (5, 6)), (1, (2, 6))],
    ),
    "one read under two names": (
        """
        def f(self, k: int) -> int:
            a = b = self.t.get(k, 0)
            self.u[k] = a
            return a + b
        """,
        [(1,), (9,)],
    ),
    "what a try body assigned": (
        """
        def f(self, j: int, k: int, s: str) -> int:
            x: int | None = self.t.get(j, 1)
            x = 1
            try:
                x = None
                n = int(s)
                x = n
            except ValueError:
                pass
            self.u[k] = 1
            return -1 if x is None else x
        """,
        [(1, 2, "x"), (1, 2, "12")],
    ),
    "order of a store": (
        """
        def f(self, xs: list[int], a: str, b: str) -> dict[int, int]:
            self.t[xs.pop()] = xs.pop()
            d: dict[int, int] = {}
            d[xs.pop()] = xs.pop()
            self.u[int(a)] = int(b)
            return d
        """,
        [([1, 2, 3, 4], "5", "6"), ([1, 2, 3, 4], "x", "y")],
    ),
    "order of a dict comprehension": (
        """
        def f(self, ks: list[int]) -> dict[int, int]:
            return {self.t.pop(k, 0): self.t.get(k, 0) for k in ks}
        """,
        [([1, 2, 3, 1],)],
    ),
    "order of a format string": (
        """
        def _push(self, xs: list[int], k: int) -> int:
            xs.append(k)
            return self.t.get(k, 0)

        def f(self, xs: list[int], k: int, s: str) -> str:
            return f"{xs}{self._push(xs, k)}{xs} {s:>3}{self.t[k]}"
        """,
        [([1], 1, "a"), ([1], 9, "a")],
    ),
    "arguments before their checks": (
        """
        def other(self, a: int, b: int) -> int:
            return a + b

        def keyed(self, a: int, b: int) -> int:
            return self.t.get(a, 0) + b

        def f(self, k: int, n: int) -> int:
            return self.other(k * 10**18, 1 // n) + self.keyed(k * 10**18, 1 // n)
        """,
        [(1, 1), (100, 0), (100, 1)],
    ),
    "a return beside a collected loop": (
        """
        def f(self, ks: list[int]) -> int:
            total = 0
            for k in ks:
                if k < 0:
                    return -1
                v = self.t[k]
                total += 100 // v
            return total
        """,
        [([1, 3],), ([2, -1],), ([1, -1],), ([9],)],
    ),
    "which failure comes first": (
        """
        def f(self, ks: list[int]) -> int:
            total = 0
            for k in ks:
                self.t[k] += 1
                total += 10 // (k - 3)
            return total
        """,
        [([1, 2],), ([3],), ([9, 3],), ([7],)],
    ),
    "a range without end": (
        """
        def f(self, k: int) -> int:
            for i in range(1000000000000):
                if self.t.get(i, 0) > 3:
                    self.u[i] = k
                    return i
            return -1
        """,
        [(3,)],
    ),
    "a comprehension kept in a variable": (
        """
        def f(self, ks: list[int]) -> list[int]:
            xs = [self.t.get(k, 0) for k in ks if k % 2]
            xs.append(len(ks))
            return xs
        """,
        [([1, 2, 3],), ([],)],
    ),
    "rows built one by one": (
        """
        def f(self, ks: list[int]) -> list[list[int]]:
            out: list[list[int]] = []
            for k in ks:
                row = [k]
                row.append(self.t.get(k, 0))
                row.append(self.u.get(k + 1, 0))
                out.append(row)
            return out
        """,
        [([1, 2, 3],)],
    ),
    "nested comprehension with state": (
        """
        def f(self, ks: list[int]) -> list[list[int]]:
            return [[self.t.get(k + j, 0) for j in range(2)] for k in ks]
        """,
        [([1, 2],)],
    ),
    "helpers that return in every way": (
        """
        def _a(self, k: int) -> int:
            match self.t.get(k, 0):
                case 0:
                    return 10
                case x:
                    return x

        def _b(self, s: str) -> int:
            try:
                return int(s)
            except ValueError:
                return -1

        def _c(self, xs: list[int]) -> int:
            for x in xs:
                if x > 2:
                    return self.t.get(x, 0)
            else:
                return -2

        def f(self, k: int, s: str, xs: list[int]) -> int:
            return self._a(k) + self._b(s) + self._c(xs)
        """,
        [(1, "5", [1, 3]), (2, "x", [1]), (7, "", [])],
    ),
    "records": (
        """
        def f(self, n: int) -> int:
            d = dataclasses.replace(D(n, 2), m=self.t.get(n, 0))
            self.u[n] = d.double
            return d.m
        """,
        [(1,), (5,)],
    ),
    "a swap": (
        """
        def f(self, xs: list[int], k: int) -> list[int]:
            xs[0], xs[1] = xs[1], xs[0]
            self.t[k], self.u[k] = self.u.get(k, 0), self.t.get(k, 0)
            return xs
        """,
        [([1, 2], 1), ([3, 4], 2)],
    ),
    "a loop without end": (
        """
        def f(self, n: int) -> int:
            while True:
                c = self.t.get(n, 0)
                break
            self.u[n] = c
            return c
        """,
        [(1,), (9,)],
    ),
    "the line of a later failure": (
        """
        def f(self, n: int) -> float:
            try:
                int("x")
            except ValueError:
                pass
            if n == 2:
                raise KeyError(n)
            if n == 3:
                return 10**400
            return self.t[n] / 2
        """,
        [(1,), (2,), (3,), (9,)],
    ),
    "generators look names up late": (
        """
        def f(self, a: int, xs: list[int]) -> int:
            n = 1
            g = (x + n for x in xs)
            h = (x for x in xs.copy())
            n = 10
            xs.append(100)
            return sum(g) + 1000 * sum(h) + self.t.get(a, 0)
        """,
        [(1, [1, 2, 3])],
    ),
    "a return out of two loops": (
        """
        def _h(self, xs: list[int]) -> int:
            for x in xs:
                while True:
                    if self.t.get(x, 0) >= 0:
                        return x
            return -1

        def f(self, xs: list[int]) -> int:
            return self._h(xs)
        """,
        [([1, 2, 3],), ([],)],
    ),
    "a loop with else that decides a key": (
        """
        def f(self, a: int, b: int, xs: list[int]) -> int:
            k = a
            for x in xs:
                if x == 2:
                    break
            else:
                k = b
            self.t[b] = 1
            self.t[k] = 2
            return k
        """,
        [(1, 2, [1, 2, 3]), (1, 2, [])],
    ),
    "a test that changes a list": (
        """
        def f(self, a: int) -> int:
            ys = [4, 1, 3, 2]
            while ys.pop() > 1:
                self.t[ys[-1]] = a
            self.t[ys[-1]] = 10
            return 0
        """,
        [(1,)],
    ),
    "a read as an argument": (
        """
        def _h(self, v: int) -> int:
            x = v
            self.u[v] = 1
            return x + v

        def f(self, a: int) -> int:
            return self._h(self.t[a])
        """,
        [(1,), (3,), (9,)],
    ),
    "local wherever an expression may stand": (
        """
        def f(self, a: int, xs: list[int]) -> int:
            n = ab.local(10 // a) if a > 0 else 4
            if a > 0 and ab.local(10 // a) > 2:
                n += 1
            while ab.local(n < 3):
                n += 1
            ys = [ab.local(x) for x in sorted(xs, key=lambda x: ab.local(-x))]
            return n + ys[0] + self.t.get(a, 0)
        """,
        [(0, [1, 2]), (1, [1, 2]), (5, [3])],
    ),
    "targets that rebind the value": (
        """
        def f(self, a: int, b: int) -> int:
            p = (a, b)
            p, q = r = p
            xs = [0, 0]
            s = (a, b)
            s, xs[0] = s
            return r[0] + p + q + s + xs[0] + self.t.get(a, 0)
        """,
        [(1, 2)],
    ),
    "one task for two states, and two": (
        """
        def f(self, a: int, b: int) -> int:
            if a > 1:
                x = self.u.get(b, 0)
                self.t[a] = x
            else:
                self.t[a] = self.u.get(a, 0) + 1
                self.u[a] = 1
            return 0
        """,
        [(1, 2), (3, 4), (1, 1)],
    ),
    "elements changed inside a comprehension": (
        """
        def _push(self, ys: list[int], v: int) -> int:
            ys.append(v)
            return len(ys)

        def f(self, xs: list[int]) -> list[int]:
            v = [[0]]
            for x in xs:
                self.t[x] = sum([self._push(r, 1) for r in v])
            return v[0]
        """,
        [([1, 2, 3],), ([],)],
    ),
    "new lists share nothing": (
        """
        def f(self, k: int, d: dict[str, int], xs: list[int]) -> int:
            seen = {d.get("a", 1) % 5}
            ys = [x + 1 for x in xs]
            zs = xs + [k]
            self.t[k] = len(d)
            self.u[k] = len(seen)
            seen.add(7)
            ys.append(8)
            zs.append(9)
            d["b"] = 1
            return len(seen) + len(ys) + len(zs) + len(xs) + len(d)
        """,
        [(1, {"a": 3}, [1, 2])],
    ),
    "patterns and None": (
        """
        def f(self, a: int, b: int) -> int:
            x = None if a == 1 else b
            match x:
                case None if a > 3:
                    return 5
                case y:
                    self.t[a] = 1
                    self.u[b] = 1
                    return -1 if y is None else y
        """,
        [(1, 2), (2, 3)],
    ),
    "two ways in opposite orders": (
        """
        def f(self, c: int, k: int, j: int) -> int:
            if c > 0:
                x = self.t.get(k, 0)
                self.u[j] = x + 1
            else:
                x = self.u.get(j, 0)
                self.t[k] = x + 1
            return x
        """,
        [(1, 1, 2), (0, 1, 2)],
    ),
}


def source(body: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(body), "    ")


def argument(program: type[ab.Program], value: Any) -> Any:
    if isinstance(value, tuple) and value and value[0] == "R":
        import sys

        return vars(sys.modules[program.__module__])["R"](*value[1:])
    return value


def outcome(entry: Any, args: list[Any]) -> Any:
    try:
        return canonical(entry(*args))
    except Exception as error:
        return (type(error), error.args, error.__notes__)


@pytest.mark.parametrize("name", SAME)
def test_the_graph_does_what_the_class_does(name: str) -> None:
    body, calls = SAME[name]
    with loaded(source(body)) as program:
        graph = ab.compile(program)
        apps = [SequentialApp(program(), whole=whole, graph=graph) for whole in (False, True)]
        plain = program()
        for args in calls:
            wanted = outcome(plain.entries["f"], [argument(program, a) for a in _copy(args)])
            for app in apps:
                assert outcome(app.entries["f"], [argument(program, a) for a in _copy(args)]) == wanted, args
        for state in graph.states:
            for app in apps:
                assert state_contents(app.state(state.name)) == state_contents(plain.__anabranch_states__[state.name])


def _copy(args: tuple[Any, ...]) -> list[Any]:
    import copy

    return copy.deepcopy(list(args))


def test_what_leaves_early_by_a_local_read_is_warned_about() -> None:
    body = """
        def f(self, k: int) -> int:
            if self.p.get(k, 0) > 3:
                raise ValueError(k)
            self.t[k] = 1
            return 0
        """
    with loaded(source(body)) as program:
        assert {d.code for d in ab.check(program)} >= {"AB420"}


def test_opposite_orders_are_winding() -> None:
    with loaded(source(SAME["two ways in opposite orders"][0])) as program:
        reason = ab.compile(program).entry("f").winding
    assert reason == "its ways visit t and u in different orders"
    with loaded(source(SAME["one task for two states, and two"][0])) as program:
        assert ab.compile(program).entry("f").winding == "its ways visit t and u in different orders"


def test_a_kept_comprehension_is_a_fan_out() -> None:
    with loaded(source(SAME["a comprehension kept in a variable"][0])) as program:
        assert ab.compile(program).entry("f").straight
