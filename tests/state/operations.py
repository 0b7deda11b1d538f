"""A program with a state of every kind, and all that can be done to each; for laws of states."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import anabranch as ab
from anabranch.lang.journal import Journal
from anabranch.lang.marks import bind, copy_state
from tests.kernels.native.flat import outcome


class Point(NamedTuple):
    x: int
    tags: list[str]


class Tally:
    """An own type that holds a bit of everything."""

    kind = "tally"  # of the class, until an instance has its own

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.seen = ab.Table(default=0)
        self.last: list[Any] = []

    @ab.writes
    def add(self, key: int, by: int) -> int:
        self.counts[key] = self.counts.get(key, 0) + by
        self.seen["all"] += by
        if by > 3:
            self.last.append((key, [by]))
            raise ValueError(f"{by} is too much for {key}")
        return self.counts[key]

    @ab.writes
    def rename(self, key: int) -> None:
        self.kind = f"tally of {key}"

    @ab.reads
    def total(self) -> tuple[str, int, list[Any]]:
        return self.kind, sum(self.counts.values()) + self.seen["all"], self.last

    def __len__(self) -> int:
        return len(self.counts)


class Everything(ab.Program):
    words: ab.Partitioned[ab.Table[str, int]]
    lists: ab.Partial[ab.Table[int, list[int]]]
    points: ab.Partial[ab.Table[int, Point]]
    pairs: ab.Partial[ab.Table[tuple[int, str], int]]
    triples: ab.Partial[ab.Table[tuple[int, str, bool], int]]
    deep: ab.Partial[ab.Table[tuple[int, tuple[str, bool]], int]]
    vector: ab.Partial[ab.Vector]
    matrix: ab.Partial[ab.Matrix]
    dense: ab.Partial[ab.DenseVector]
    grid: ab.Partial[ab.DenseMatrix]
    value: ab.Partial[ab.Value[list[int]]]
    tally: ab.Partial[Tally]

    def __init__(self) -> None:
        self.words = ab.Table({"start": 1})
        self.lists = ab.Table(default=[7])
        self.dense = ab.DenseVector([1.0, 2.0, 3.0])
        self.grid = ab.DenseMatrix.zeros(3, 2)
        self.value = ab.Value([1])

    def use(self, w: str) -> None:
        self.words[w] = 1


GRAPH, PROGRAM = ab.compile(Everything), Everything()
small = st.integers(-2, 3)
short = st.sampled_from(["", "a", "é"])
floats = st.sampled_from([0.0, -0.0, 1.5, -2.25, 3.0, float("nan"), float("inf")])
WRONG = st.sampled_from([None, 1.5, "text", b"bytes", (1,), (1, 2, 3), 2**63, True, [1], {}, np.int64(1), "\ud800", 99])
KEYS: dict[str, Any] = {
    "words": short,
    "lists": small,
    "points": small,
    "pairs": st.tuples(small, short),
    "triples": st.tuples(small, short, st.booleans()),
    "deep": st.tuples(small, st.tuples(short, st.booleans())),
    "vector": small,
    "matrix": st.tuples(small, small),
    "dense": st.integers(-1, 3),
    "grid": st.tuples(st.integers(-1, 3), st.integers(0, 2)),
    "value": st.none(),
    "tally": small,
}
VALUES: dict[str, Any] = {
    **dict.fromkeys(["words", "pairs", "triples", "deep"], small),
    **dict.fromkeys(["vector", "matrix", "dense", "grid"], floats),
    **dict.fromkeys(["lists", "value"], st.lists(small, max_size=2)),
    "points": st.builds(Point, small, st.lists(short, max_size=2)),
    "tally": st.integers(0, 5),
}
vectors = st.dictionaries(small, floats, max_size=4).map(ab.Vector)


@dataclass(frozen=True)
class Arguments:
    key: Any
    line: Any
    x: Any
    entries: dict[Any, Any]
    vector: ab.Vector


Operation = Callable[[Any, Arguments], Any]
TABLE: dict[str, Operation] = {
    "[]": lambda t, a: t[a.key],
    "get": lambda t, a: (t.get(a.key), t.get(a.key, a.x), t.get(key=a.key, default=None)),
    "get nothing": lambda t, a: t.get(),
    "in": lambda t, a: a.key in t,
    "frozen": lambda t, a: t[a.key].append(1),
    "len": lambda t, a: len(t),
    "walk": lambda t, a: [sorted(xs, key=repr) for xs in (t.items(), t.keys(), t.values(), t, t._cells())],
    "top": lambda t, a: t.top(2),
    "==": lambda t, a: (t == t._copy(), t._copy() == t, t == 1),
    "repr": lambda t, a: sorted(repr(t)),
    "row": lambda t, a: (t.row(a.line), t.row(first=a.line)),
    "[]=": lambda t, a: t.__setitem__(a.key, a.x),
    "+=": lambda t, a: t.__setitem__(a.key, t[a.key] + a.x),
    "del": lambda t, a: t.__delitem__(a.key),
    "pop": lambda t, a: t.pop(a.key),
    "pop or": lambda t, a: (t.pop(a.key, a.x), t.pop(a.key, None)),
    "setdefault": lambda t, a: t.setdefault(a.key, a.x),
    "assign": lambda t, a: t.assign(a.entries),
    "clear": lambda t, a: t.clear(),
}
VECTOR: dict[str, Operation] = {
    "[]": lambda v, a: v[a.key],
    "get": lambda v, a: (v.get(a.key), v.get(a.key, a.x)),
    "in": lambda v, a: a.key in v,
    "all": lambda v, a: (len(v), list(v), v.items(), v.keys(), v.values(), v.top(2), repr(v)),
    "sums": lambda v, a: (v.dot(a.vector), a.vector.dot(v), v.dot(v), v.sum(), v.norm()),
    "+": lambda v, a: (v + a.vector, a.vector + v, v - a.vector, a.vector - v, -v, sum([v, v]), v == a.vector),
    "*": lambda v, a: (v * a.x, a.x * v, v / a.x),
    "copy": lambda v, a: (v.copy(), copy_state(v), v._as_frozen(), ab.Vector(v), ab.add([v, a.vector])),
    "float": lambda v, a: a.vector.__setitem__(0, v),  # the message names the type
    "[]=": lambda v, a: v.__setitem__(a.key, a.x),
    "clear": lambda v, a: v.clear(),
    "assign": lambda v, a: v.assign(a.vector),
    "assign itself": lambda v, a: v.assign(v),
}
MATRIX: dict[str, Operation] = {
    "[]": lambda m, a: m[a.key],
    "in": lambda m, a: a.key in m,
    "row": lambda m, a: m.row(a.line),
    "column": lambda m, a: m.column(a.line),
    "column by name": lambda m, a: m.column(j=a.line),
    "frozen": lambda m, a: m.row(a.line).clear(),
    "all": lambda m, a: (len(m), list(m), m.items(), m.rows(), repr(m)),
    "dot": lambda m, a: m.dot(a.vector),
    "+": lambda m, a: [n.items() for n in (m + m, m - ab.Matrix(), ab.Matrix() - m, 0 + m, -m, m * 2.0, ab.Matrix(m))],
    "/": lambda m, a: (m / a.x).items(),
    "==": lambda m, a: (m == m.copy(), ab.Matrix() == m),
    "[]=": lambda m, a: m.__setitem__(a.key, a.x),
    "set_row": lambda m, a: m.set_row(a.line, a.vector),
    "set_row wrong": lambda m, a: m.set_row(a.line, a.x),
    "clear": lambda m, a: m.clear(),
    "assign": lambda m, a: m.assign(ab.Matrix({(1, k): x for k, x in a.vector.items()})),
}
DENSE: dict[str, Operation] = {
    "[]": lambda v, a: v[a.key],
    "len": lambda v, a: len(v),
    "all": lambda v, a: (list(v), v.tolist(), v.sum(), v.norm(), v.dot(v), repr(v)),
    "numpy": lambda v, a: v.to_numpy(),
    "+": lambda v, a: (v + v, v - 1.0, 1.0 - v, a.x * v, -v, v / a.x, v == v.copy(), copy_state(v)),
    "other length": lambda v, a: ab.DenseVector([1.0]) - v,
    "[]=": lambda v, a: v.__setitem__(a.key, a.x),
    "assign": lambda v, a: v.assign([a.x] * len(v)),
    "assign wrong": lambda v, a: v.assign([a.x]),
}
GRID: dict[str, Operation] = {
    "[]": lambda m, a: m[a.key],
    "shape": lambda m, a: (m.shape, len(m), m.rows()),
    "row": lambda m, a: m.row(a.line),
    "frozen": lambda m, a: m.row(a.line).assign([1.0, 1.0]),
    "all": lambda m, a: (m.tolist(), repr(m), m.to_numpy(), m.dot(ab.DenseVector([a.x, 1.0]))),
    "+": lambda m, a: [n.tolist() for n in (m + m, 0 + m, m * 2.0, -m, m.copy(), ab.DenseMatrix(m), ab.mean([m, m]))],
    "other shape": lambda m, a: ab.DenseMatrix.zeros(1, 1) - m,
    "[]=": lambda m, a: m.__setitem__(a.key, a.x),
    "set_row": lambda m, a: m.set_row(a.line, ab.DenseVector([a.x, 2.0])),
    "set_row wrong": lambda m, a: m.set_row(a.line, ab.DenseVector([a.x])),
    "assign": lambda m, a: m.assign([[a.x, 1.0]] * 3),
}
VALUE: dict[str, Operation] = {
    "value": lambda v, a: (v.value, repr(v), v == v._copy(), list(v._cells())),
    "frozen": lambda v, a: v.value.append(1),
    "value=": lambda v, a: setattr(v, "value", a.x),
    "assign": lambda v, a: v.assign(v.value + [1]),
}
OWN: dict[str, Operation] = {
    "add": lambda t, a: t.add(a.key, a.x),
    "add by name": lambda t, a: t.add(key=a.key, by=1),
    "rename": lambda t, a: t.rename(a.key),
    "total": lambda t, a: t.total(),
    "len": lambda t, a: len(t),
    "vars": lambda t, a: sorted(vars(copy_state(t))),
}
OPERATIONS = dict.fromkeys(["pairs", "triples", "deep"], TABLE)
WITHOUT_LINES = {name: call for name, call in TABLE.items() if name != "row"}
OPERATIONS |= dict.fromkeys(["words", "lists", "points"], WITHOUT_LINES)
OPERATIONS |= {"vector": VECTOR, "matrix": MATRIX, "dense": DENSE, "grid": GRID, "value": VALUE, "tally": OWN}


@st.composite
def contents(draw: st.DrawFn, name: str) -> Any:
    """A state with some content, as a program has it."""
    part = copy_state(PROGRAM.__anabranch_states__[name])
    given = draw(st.dictionaries(KEYS[name], VALUES[name], max_size=8))
    if name == "value":
        part.assign(draw(VALUES[name]))
    for key, x in given.items():
        if name == "tally":
            outcome(lambda key=key, x=x: part.add(key, x))
        elif name != "value":
            outcome(lambda key=key, x=x: part.__setitem__(key, x))
    return part


@st.composite
def calls(draw: st.DrawFn, name: str, *among: str, keys: Any = None) -> tuple[Operation, Arguments]:
    key, x = KEYS[name] if keys is None else keys, VALUES[name]
    operation = OPERATIONS[name][draw(st.sampled_from(among or list(OPERATIONS[name])))]
    of_key = draw(key)
    line = of_key[0] if isinstance(of_key, tuple) else of_key
    wrong = 9 if among else draw(st.integers(0, 7))
    arguments = Arguments(
        draw(WRONG) if wrong == 0 else of_key,
        draw(WRONG) if wrong == 1 else line,
        draw(WRONG) if wrong == 2 else draw(x),
        draw(st.dictionaries(key, x, max_size=2)),
        draw(vectors),
    )
    return operation, arguments


class Request(NamedTuple):
    calls: list[tuple[Operation, Arguments]]
    refused: bool  # all it did is taken back


def requests(name: str) -> st.SearchStrategy[list[Request]]:
    return st.lists(st.builds(Request, st.lists(calls(name), max_size=5), st.booleans()), min_size=1, max_size=4)


def answers(part: Any, request: Request) -> list[Any]:
    return [outcome(lambda c=call, a=arguments: c(part, copy.deepcopy(a))) for call, arguments in request.calls]


def directly(part: Any, asked: list[Request]) -> list[Any]:
    journal, results = Journal(), []
    journal.active = True
    bind(part, journal)
    for request in asked:
        mark = journal.mark()
        results.append(answers(part, request))
        if request.refused:
            journal.rollback(mark)
    bind(part, None)
    return results
