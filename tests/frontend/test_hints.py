"""Hints about states: every one names only what the state has, for every state type and distribution."""

from __future__ import annotations

import re

import pytest

import anabranch as ab
from anabranch.frontend.diagnostics import Report
from anabranch.frontend.program import read_program
from anabranch.frontend.states import method_names
from anabranch.graph.nodes import State
from anabranch.lang.types import INT, List, Tuple
from tests.frontend.mutate import programs_in

OWN = """
class Tally:
    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    @ab.reads
    def seen(self, key: int) -> int:
        return self.counts.get(key, 0)

    @ab.writes
    def add(self, key: int, by: int) -> None:
        self.counts[key] = self.counts.get(key, 0) + by
"""
TYPES = {
    "Table[int, int]": "Table()",
    "Table[tuple[int, str], list[int]]": "Table()",
    "Vector": "Vector()",
    "Matrix": "Matrix()",
    "DenseVector": "DenseVector.zeros(3)",
    "DenseMatrix": "DenseMatrix.zeros(3, 3)",
    "Value[int]": "Value(0)",
    "Value[list[int]]": "Value([])",
    "Tally": "Tally()",
}
MISUSES = """
self.s = x
self.s += x
del self.s
x = self.s
return self.s
x = self.s + 1
x = [self.s]
x = len(self.s)
x = sum(self.s)
self.s.clear()
for x in self.s: pass
x = ab.everywhere(self.s)
each = ab.everywhere(self.s); x = each
ab.everywhere(self.s).clear()
ab.everywhere(self.s).assign(x)
ab.everywhere(self.s)[0] = 1
ab.everywhere(self.s)[0, 0] = 1.0
x = ab.everywhere(self.s)[0]
x = ab.everywhere(self.s).get(x)
x = ab.everywhere(self.s).row(x)
self.s[0] = 1
self.s[0, 0] = 1.0
self.s[0] += 1
self.s.value = 1
self.s.value += 1
self.s.assign(x)
self.s.wrong = x
x = self.s.wrong
self.s.wrong()
self.s.append(1)
self.s.add(x, x)
self.s.value.append(1)
self.s[0].append(1)
self.s[0, "a"].append(1)
self.s.row(0)[1] = 2.0
x = self.s.items()
x = self.s.rows()
del self.s[0]
del self.s[0, 0]
x = 0 in self.s
x, self.s = 1, 2
for self.s in range(2): pass
""".strip().splitlines()
ON = r"(?:self\.s|ab\.everywhere\(self\.s\))"
NAMED = re.compile(ON + r"\.(\w+)")
CODE = re.compile(rf"(del )?{ON}(\.\w+\b(\(\)|(?!\())|\[[^\]]*\])( = (\.\.\.|0\.0))?")
ABOUT_THE_STATE = {"AB301", "AB303", "AB304", "AB309", "AB311", "AB409"}
PLACES = [(kind, distribution) for kind in TYPES for distribution in ("Partitioned", "Partial", "Replicated")]
PLACES = [p for p in PLACES if p[1] != "Partitioned" or not p[0].startswith("Value")]  # refused itself: AB202


def source_of(kind: str, distribution: str, misuse: str) -> str:
    prefix = "" if kind == "Tally" else "ab."
    body = "\n".join(f"        {line}" for line in misuse.split("; "))
    return (
        f"import anabranch as ab\n{OWN}\nclass P(ab.Program):\n"
        f"    s: ab.{distribution}[{prefix}{kind}] = {prefix}{TYPES[kind]}\n\n"
        f"    def act(self, x: int) -> None:\n{body}\n"
    )


def findings(kind: str, distribution: str, misuse: str) -> list[ab.Diagnostic]:
    with programs_in(source_of(kind, distribution, misuse)) as programs:
        return ab.check(programs[0])


def state_of(kind: str, distribution: str) -> State:
    with programs_in(source_of(kind, distribution, "pass")) as programs:
        reading = read_program(programs[0], Report())
    assert reading is not None
    return reading.unit.states["s"]


def hints_of(kind: str, distribution: str) -> list[str]:
    """All that is said about misuses of this state, for once each."""
    found = [d.hint for misuse in MISUSES for d in findings(kind, distribution, misuse)]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize(("kind", "distribution"), PLACES)
def test_a_hint_names_only_what_the_state_has(kind: str, distribution: str) -> None:
    state = state_of(kind, distribution)
    known = {*method_names(state), "NAME"}
    named = [(name, hint) for hint in hints_of(kind, distribution) for name in NAMED.findall(hint)]
    assert all(name in known for name, _ in named), [(n, h) for n, h in named if n not in known]


@pytest.mark.parametrize(("kind", "distribution"), PLACES)
def test_the_code_of_a_hint_is_code_for_the_state(kind: str, distribution: str) -> None:
    state = state_of(kind, distribution)
    key = "(0, 'a')" if isinstance(state.key, Tuple) else "0"
    value = {INT: "1", List(INT): "[1]"}.get(state.value or INT, "1.0")
    tried = 0
    for hint in hints_of(kind, distribution):
        for code in (found[0] for found in CODE.finditer(hint)):
            line = code.replace("[key]", f"[{key}]").replace("[i]", "[0]").replace("[i, j]", "[0, 0]")
            line = line.replace("...", value)
            wrong = [d for d in findings(kind, distribution, line) if d.code in ABOUT_THE_STATE]
            assert not wrong, (hint, line, str(wrong[0]))
            tried += 1
    assert tried or kind == "Tally" or distribution == "Partitioned"
