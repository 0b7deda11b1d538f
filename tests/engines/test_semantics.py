"""Corners of Python's semantics: the graph does what the class does, or the translator refuses the program."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.sequential import SequentialApp
from anabranch.frontend.codes import ERROR
from anabranch.testing.outcomes import canonical, state_contents
from tests.generator.plain import loaded

HEAD = """
from __future__ import annotations
import dataclasses
from dataclasses import dataclass
from typing import NamedTuple
import anabranch as ab

@dataclass(frozen=True)
class Box:
    n: int
    xs: list[int]

class Pair(NamedTuple):
    a: int
    b: int

    def total(self) -> int:
        return self.a + self.b

class P(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]] = ab.Table({1: 2, 2: 3, 3: 1, 5: 0}, default=0)
    s: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    lists: ab.Partitioned[ab.Table[int, list[int]]]
    w: ab.Partial[ab.Vector]
    r: ab.Replicated[ab.Value[int]] = ab.Value(7)

    def inc(self, a: int) -> int:
        self.t[a] += 1
        return self.t[a]

    def _two(self, a: int) -> int:
        while True:
            for x in [1, 2, 3]:
                if x > a:
                    return x + self.s[a]
            a -= 1

    def _first(self, xs: list[int]) -> int:
        for x in xs:
            if self.t[x] > 1:
                return x
        return -1

    def f(self, a: int, b: int, xs: list[int]) -> {result}:
"""

SAME: dict[str, tuple[str, str]] = {
    "one list under two names": ("list[int]", "x = y = [a]\nx.append(b)\nreturn y"),
    "two names for one result": ("int", "x = y = self.inc(b)\nreturn x + y"),
    "finally assigns": ("int", "try:\n    x = 1 // a\nexcept ZeroDivisionError:\n    x = 5\nfinally:\n    y = 2\nreturn x + y + self.t[b]"),
    "except BaseException": ("int", "try:\n    raise KeyboardInterrupt\nexcept BaseException:\n    x = 1\nreturn x + self.t[a]"),
    "order of operands": ("list[int]", "ys = [1, 2]\nreturn [ys.pop(), self.t[a], ys.pop(), self.s[b]]"),
    "order of a store": ("int", "self.t[self.inc(a)] = self.inc(b)\nreturn self.t[a]"),
    "augmented assignment reads first": ("int", "self.t[a] += self.inc(a)\nreturn self.t[a]"),
    "and stops early": ("bool", "return a > 2 and self.inc(b) > 0"),
    "or stops early": ("int", "x = self.t[a] or self.inc(b)\nreturn x"),
    "a conditional takes one side": ("int", "return self.inc(a) if b > 1 else self.inc(b)"),
    "a chained comparison": ("bool", "return 0 < self.t[a] < self.t[b] + 3"),
    "a comprehension hides no name": ("list[int]", "x = [a, b]\nys = [self.t[x] for x in x]\nreturn ys + x"),
    "a comprehension with conditions": ("list[int]", "return [self.t[x] + y for x in xs if x > 1 for y in range(x) if y != a]"),
    "a dict of reads": ("dict[int, int]", "return {x: self.t[x] for x in xs}"),
    "a set of reads": ("list[int]", "return sorted({self.t[x] for x in xs})"),
    "an endless helper": ("int", "return self._two(a % 5)"),
    "an early return of a helper": ("int", "return self._first(xs) + self._first([b])"),
    "a helper twice in one expression": ("int", "return self._first(xs) * self._first(xs[1:])"),
    "a loop that breaks": ("int", "n = 0\nfor x in xs:\n    if x == b:\n        break\n    n += self.t[x]\nelse:\n    n = -n\nreturn n"),
    "a loop that follows values": ("int", "n = 0\nwhile a > 0 and n < 5:\n    a = self.t[a]\n    n += 1\nreturn a + n"),
    "a loop that comes back to its key": ("int", "for x in [a, a, b, a]:\n    self.t[x] += 1\nreturn self.t[a]"),
    "the loop variable afterwards": ("int", "x = 9\nfor x in xs:\n    self.s[x] += 1\nreturn x"),
    "a sum that decides": ("int", "n = 0\nfor x in xs:\n    if n < 3:\n        n += self.t[x]\nreturn n"),
    "a state list as loop source": ("int", "self.lists[a] = xs\nfor x in self.lists[a]:\n    self.s[x] += x\nreturn len(xs)"),
    "a friend of oneself": ("int", "n = self.s[a]\nfor x in [a, b]:\n    self.t[x] += n + 1\nreturn n"),
    "two fan-outs on one state": ("int", "for x in xs:\n    self.t[x] += 1\nfor x in xs:\n    self.t[x] *= 2\nreturn 0"),
    "a fan-out, then the same state": ("int", "for x in xs:\n    self.t[x] += 1\nreturn self.t[a]"),
    "a collected fan-out that fails": ("int", "n = 0\nfor x in xs:\n    n += 10 // (self.t[x] - 2)\nreturn n"),
    "a fan-out that fails in the middle": ("int", "for x in xs:\n    self.s[x] += 1\n    if x == b:\n        raise ValueError(x)\nreturn 0"),
    "a failure after writes": ("int", "self.t[a] += 5\nself.s[b] += 1\nreturn self.lists[b][0]"),
    "raise from": ("int", "try:\n    x = 1 // (a - a)\nexcept ZeroDivisionError as e:\n    raise ValueError(a) from e\nreturn x"),
    "raise again": ("int", "try:\n    return xs[a]\nexcept IndexError:\n    if a > 3:\n        raise\n    return b"),
    "a record's method": ("int", "p = Pair(self.t[a], self.s[b])\nreturn p.total() + p._replace(a=1).a"),
    "match on state": ("str", "match self.t[a], b:\n    case 0, _:\n        return 'none'\n    case x, y if x == y:\n        return 'same'\n    case x, 2:\n        return f'{x} and two'\n    case _:\n        return 'other'"),
    "narrowing by assert": ("int", "x = self.lists.get(a)\nassert x is not None, f'no {a}'\nreturn len(x)"),
    "narrowing in a loop": ("int", "best: int | None = None\nfor x in xs:\n    if best is None or self.t[x] > best:\n        best = self.t[x]\nreturn -1 if best is None else best"),
    "gather and go on": ("float", "self.w[a] += 1.5\nx = sum(ab.gather(ab.everywhere(self.w).sum()), 0.0)\nself.s[b] += 1\nreturn x + self.s[b]"),
    "write everywhere, read here": ("int", "ab.everywhere(self.r).value = a + self.t[b]\nreturn self.r.value"),
    "gather in a loop": ("float", "x = 0.0\nfor i in range(3):\n    ab.everywhere(self.w).assign(ab.Vector({i: 1.0}))\n    x += sum(ab.gather(ab.everywhere(self.w)[i]), 0.0)\nreturn x"),
    "locals keep their type": ("float", "x = 0.5\nfor y in xs:\n    x += self.t[y] / 2\nreturn x"),
    "a big number on its way": ("int", "x = 10 ** 30 + a\nself.t[b] = x % 7\nreturn self.t[b]"),
    "a number too big to store": ("int", "self.s[a] = 1\nself.t[b] = 2 ** 63 + a\nreturn 0"),
    "a slice of a copy": ("list[int]", "ys = xs[1:]\nself.t[a] += len(ys)\nys.append(self.s[b])\nreturn ys + xs"),
    "a local dict of lists": ("int", "d: dict[int, list[int]] = {}\nfor x in xs:\n    d.setdefault(x % 2, []).append(x)\nself.t[a] = len(d)\nreturn sum(len(v) for v in d.values())"),
}  # fmt: skip

REFUSED: dict[str, tuple[str, str, str]] = {
    "return in finally": ("int", "try:\n    pass\nfinally:\n    return 1", "AB501"),
    "a bare raise": ("int", "if a:\n    raise\nreturn 1", "AB501"),
    "a jump out of try between places": ("int", "while a < 6:\n    a += 1 + self.t[a]\n    try:\n        if a == 3:\n            continue\n    except ValueError:\n        pass\n    self.t[a] += 1\nreturn a", "AB501"),
    "a list that grows under its loop": ("list[int]", "for x in xs:\n    if len(xs) > 6:\n        break\n    xs.append(self.t[x])\nreturn xs", "AB511"),
    "a value gathered twice": ("float", "v = ab.everywhere(self.w[a])\nx = sum(ab.gather(v), 0.0)\nreturn x + sum(ab.gather(v), 0.0)", "AB410"),
    "a list inside a record": ("list[int]", "d = Box(a, xs)\nself.t[a] += 1\nself.s[b] += 1\nxs.append(3)\nreturn d.xs", "AB511"),
    "a change of a record's list": ("list[int]", "d = Box(a, xs)\nd.xs.append(3)\nreturn xs", "AB302"),
    "a list in two lists": ("list[int]", "z = [0]\nv = [z, z]\nself.t[a] += 1\nself.s[b] += 1\nv[0].append(3)\nreturn v[1]", "AB511"),
    "a repeated list": ("list[int]", "v = [[0]] * 2\nself.t[a] += 1\nself.s[b] += 1\nv[0].append(3)\nreturn v[1]", "AB511"),
    "items of one list": ("list[int]", "q = [[0], [1]]\nq[0] = q[1]\nself.t[a] += 1\nself.s[b] += 1\nq[0].append(3)\nreturn q[1]", "AB511"),
    "a list through a comprehension": ("list[int]", "ys = [x for x in [xs]][0]\nself.t[a] += 1\nself.s[b] += 1\nys.append(3)\nreturn xs", "AB511"),
}  # fmt: skip

ARGUMENTS = [(1, 2, [1, 2, 3]), (2, 2, [2, 1, 2, 5]), (0, 5, []), (5, 1, [3, 3]), (3, 3, [1]), (1, 2, [3, 2, 1])]


def source(result: str, body: str) -> str:
    return HEAD.replace("{result}", result) + textwrap.indent(body, " " * 8) + "\n"


def outcome(entry: Any, args: tuple[Any, ...]) -> Any:
    try:
        return canonical(entry(*args))
    except BaseException as error:
        return (type(error), error.args, error.__notes__)


@pytest.mark.parametrize("name", SAME)
def test_the_graph_does_what_the_class_does(name: str) -> None:
    with loaded(source(*SAME[name])) as program:
        graph = ab.compile(program)
        apps = [SequentialApp(program(), whole=whole, graph=graph) for whole in (False, True)]
        plain = program()
        for args in ARGUMENTS:
            wanted = outcome(plain.entries["f"], args)
            for app in apps:
                assert outcome(app.f, args) == wanted, args
        for state in graph.states:
            for app in apps:
                assert state_contents(app.state(state.name)) == state_contents(plain.__anabranch_states__[state.name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_graph_cannot_do_is_refused(name: str) -> None:
    result, body, code = REFUSED[name]
    with loaded(source(result, body)) as program:
        assert {d.code for d in ab.check(program) if d.severity == ERROR} == {code}
