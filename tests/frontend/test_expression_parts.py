"""Every part of an expression survives where a type is expected: keywords, defaults, steps, tests, formats."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import anabranch as ab
from anabranch.kernels.native.code import explain_tiers
from tests.generator.plain import loaded
from tests.kernels.harness import PythonApp

HEAD = """
import dataclasses
import datetime as dt
from typing import NamedTuple

import anabranch as ab


class Pair(NamedTuple):
    x: int
    ys: list[int] | None = None


@dataclasses.dataclass(frozen=True)
class Note:
    words: list[str] | None
    counts: dict[str, int] | None = None


def apart(xs: list[int], *, sep: str = "-", last: int = 9) -> str:
    return sep.join([str(x) for x in [*xs, last]])


class P(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
"""
# Each kind of use is an entry: TYPE is what is expected, VALUE the expression, over k, which is 1 or 4.
USES = """
def assigned(self, k: int) -> TYPE:
    self.t[k] += 1
    found: TYPE = VALUE
    return found

def optional(self, k: int) -> TYPE | None:
    self.t[k] += 1
    found: TYPE | None = VALUE
    return found

def returned(self, k: int) -> TYPE | None:
    self.t[k] += 1
    return VALUE

def by_position(self, k: int) -> TYPE | None:
    self.t[k] += 1
    return self._same(VALUE)

def by_name(self, k: int) -> TYPE | None:
    self.t[k] += 1
    return self._same(x=VALUE)

def to_optional(self, k: int) -> TYPE | None:
    self.t[k] += 1
    return self._same_or_none(k, x=VALUE)

def inlined(self, k: int) -> TYPE | None:
    return self._counted(k=k, x=VALUE)

def of_helper(self, k: int) -> TYPE:
    self.t[k] += 1
    return self._made(k)

def of_inlined(self, k: int) -> TYPE:
    return self._made_counted(k)

def chosen(self, k: int) -> TYPE | None:
    self.t[k] += 1
    found = VALUE if k > 2 else None
    return found

def joined(self, k: int) -> TYPE | None:
    self.t[k] += 1
    found: TYPE | None = None
    if k > 2:
        found = VALUE
    return found

def element(self, k: int) -> list[TYPE | None]:
    self.t[k] += 1
    found: list[TYPE | None] = [VALUE]
    found.append(None)
    return found

def value_of_dict(self, k: int) -> dict[int, TYPE | None]:
    self.t[k] += 1
    found: dict[int, TYPE | None] = {1: VALUE}
    found[2] = None
    return found

def _same(self, x: TYPE) -> TYPE:
    return x

def _same_or_none(self, k: int, x: TYPE | None) -> TYPE | None:
    return None if k > 2 else x

def _counted(self, x: TYPE | None, k: int = 3) -> TYPE | None:
    self.t[k] += 1
    return x

def _made(self, k: int) -> TYPE:
    return VALUE

def _made_counted(self, k: int) -> TYPE:
    self.t[k] += 1
    return VALUE
"""
INTS = "list[int]"
CASES: list[tuple[str, str]] = [
    (INTS, "[]"),
    (INTS, "[1, k]"),
    (INTS, "list()"),
    (INTS, "sorted([], reverse=True)"),
    (INTS, "sorted([], key=lambda x: x)"),
    (INTS, "sorted([3, k, 1], key=lambda x: -x, reverse=True)"),
    (INTS, "max([[]], default=[])"),
    (INTS, "sum([[1], [k]], [])"),
    (INTS, "[*[], *[k], 1]"),
    (INTS, "[] + []"),
    (INTS, "[] * 3"),
    (INTS, "[i for i in []]"),
    (INTS, "[i for i in range(9) if i % 2 if i > k]"),
    (INTS, "[i * j for i in range(4) if i for j in range(i) if j]"),
    (INTS, "[1, 2, 3, k, 5][1:5:2]"),
    (INTS, "[1, 2, 3, k, 5][::-1]"),
    (INTS, "[][::2]"),
    (INTS, "[] if k > 2 else [k]"),
    (INTS, "[] if k > 2 else []"),
    (INTS, "[] or [k]"),
    (INTS, "{1: [k]}.get(k, [])"),
    (INTS, "list(map(lambda x: x + k, [1, 2]))"),
    (INTS, "list(filter(None, [0, k]))"),
    (INTS, "list(reversed([1, k]))"),
    ("list[list[int]]", "[[], [k]]"),
    ("list[list[int]]", "max([], default=[[]])"),
    ("list[int | None]", "[1, k]"),
    ("list[int | None]", "[i if i > 1 else None for i in range(k)]"),
    ("list[tuple[int, int]]", "list(enumerate([5, k], start=3))"),
    ("list[tuple[int, int]]", "list(zip([5, k], [1, 2], strict=True))"),
    ("list[str]", "'a,b,c'.split(sep=',', maxsplit=1)"),
    ("dict[str, int]", "{}"),
    ("dict[str, int]", "{'a': k} | {}"),
    ("dict[str, list[int]]", "{'a': []}"),
    ("dict[int, int]", "{i: i * i for i in range(9) if i > k if i % 2}"),
    ("set[int]", "set()"),
    ("set[int]", "{1, k}"),
    ("set[int]", "{i % 3 for i in range(9) if i > k}"),
    ("tuple[list[int], int]", "([], k)"),
    ("int", "min([], default=k)"),
    ("int", "max([3, k], key=lambda x: -x)"),
    ("int", "pow(k, 3, 5)"),
    ("int", "-k + ~k"),
    ("float", "sum([1.5, 2.5], start=0.5)"),
    ("float", "round(k / 3, ndigits=2)"),
    ("float", "k ** 2 / 3 // 1 % 5"),
    ("bool", "0 < k <= 4 != 3"),
    ("bool", "k > 1 and k < 9 or k == 3"),
    ("bool", "not k in [1, 2]"),
    ("bool", "any(x > 2 for x in [1, k] if x)"),
    ("str", "f'{k!r:>5}|{k:03d}|{k / 3:.2f}|{k:{k}d}|{str(k)!s:<4}|{k=}|{chr(233)!a}'"),
    ("str", "'{:>5}|{!r}'.format(k, 'x')"),
    ("str", "'%05d|%s' % (k, 'a')"),
    ("str", "apart([], last=k)"),
    ("str", "apart(xs=[], last=k, sep='+')"),
    ("bytes", "'é'.encode(encoding='latin-1')"),
    ("Pair", "Pair(ys=[k], x=1)"),
    ("Pair", "Pair(k)._replace(ys=[], x=k)"),
    ("Note", "Note(counts={}, words=[])"),
    ("Note", "dataclasses.replace(Note(None), words=[])"),
    ("dt.datetime", "dt.datetime(2024, 1, k, hour=3)"),
    ("dt.timedelta", "dt.timedelta(days=1, hours=k)"),
    ("ab.Vector", "ab.Vector()"),
    ("ab.Vector", "ab.Vector({i: 2.0 for i in range(k)})"),
    ("ab.DenseVector", "ab.DenseVector([float(i) for i in range(k)])"),
]


def source(expected: str, value: str) -> str:
    uses = USES.replace("TYPE", expected).replace("VALUE", value)
    return HEAD + textwrap.indent(uses, "    ")


@pytest.mark.parametrize(("expected", "value"), CASES, ids=[value for _, value in CASES])
def test_parts_survive(expected: str, value: str) -> None:
    with loaded(source(expected, value)) as program:
        graph = ab.compile(program)
        assert set(explain_tiers(graph)) == {e.name for e in graph.entries}  # to write a kernel raises nothing else
        plain = program()
        apps = [PythonApp(program(), whole=whole, graph=graph) for whole in (False, True)]
        assert len(plain.entries) == USES.count("def ") - USES.count("def _")
        for name, entry in plain.entries.items():
            for k in (1, 4):
                wanted: Any = entry(k)
                for app in apps:
                    got = app.entries[name](k)
                    assert (got, repr(got)) == (wanted, repr(wanted)), name


def test_an_empty_list_is_no_number() -> None:
    """A declared type that no list can have says nothing of the elements of an empty one."""
    body = """
def given(self, k: int) -> str:
    self.t[k] += 1
    return self._text([])

def made(self, k: int) -> str:
    self.t[k] += 1
    return str(self._number())

def _text(self, x: int) -> str:
    return str(x)

def _number(self) -> int:
    return []
"""
    with loaded(HEAD + textwrap.indent(body, "    ")) as program:
        graph = ab.compile(program)
        assert all(reason is not None for reason in explain_tiers(graph).values())
        app = PythonApp(program(), graph=graph)
        assert [app.entries[name](1) for name in ("given", "made")] == [program().given(1), program().made(1)]
