"""Values that can change are shared and copied as in the plain run, whatever stands between two names of one.

For each kind of value and each crossing a method crosses, changes both sides and says how often each was changed. Where
the translator does not let one side be changed, as it belongs to state, the other alone is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.embedded import App
from anabranch.kernels.native.code import explain_tiers
from tests.conformance.sampling import runs_all
from tests.generator.plain import loaded
from tests.kernels.native.crossings import HEADER, KINDS, PRELUDE, Kind, crossings

AT_ONCE = 30  # methods in one entry: numba is slow with long ones
COPYING = ("argument", "result", "default", "stored", "popped", "setdefault")
ALL_WORKERS = (1, 2)
ROWS = 100  # of a batch, more than run where they arrive


@dataclass(frozen=True, slots=True)
class Case:
    kind: Kind
    name: str
    text: str
    sides: str = "ab"
    of_state: bool = False  # is `a` read from state?

    @property
    def method(self) -> str:
        start = self.kind.start or f"a = {self.kind.make}"
        if self.of_state:
            start = f"self.t[k] = {self.kind.make}\na = self.t[k]"
        body = [start, self.text.replace("NEW", self.kind.make).replace("TYPE", self.kind.type)]
        body += [_named(self.kind.change, side) for side in self.sides]
        body.append(f"return 100 * {_named(self.kind.show, 'a')} + {_named(self.kind.show, 'b')}")
        return f"    def case_{self.name}(self, k: int) -> int:\n" + indent("\n".join(body), " " * 8) + "\n"

    @property
    def stored(self) -> list[str]:
        """The states that have an entry afterwards, or may have."""
        return [s for s in ("t", "box") if re.search(rf"self\.{s}\b", self.text) or "self.stored" in self.text]


def _named(text: str, name: str) -> str:
    return re.sub(r"(?<!\.)\bx\b", name, text)


def _header(kind: Kind) -> str:
    text = (PRELUDE + HEADER).replace("{type}", kind.type).replace("{make}", kind.make)
    return re.sub(r"( +)\{change\}", lambda m: indent(kind.inside, m[1]), text)


def _source(kind: Kind, cases: Sequence[Case]) -> str:
    return "\n".join([_header(kind), *(case.method for case in cases)])


def _groups(cases: Sequence[Case]) -> list[list[Case]]:
    """What stands in one entry, at one place: partial state is at a place of its own."""
    here, keyed = [c for c in cases if "mine" in c.text], [c for c in cases if "mine" not in c.text]
    return [*([c] for c in here), *(keyed[i : i + AT_ONCE] for i in range(0, len(keyed), AT_ONCE))]


def _grouped(kind: Kind, groups: Sequence[Sequence[Case]]) -> str:
    """The cases as helpers, some in each entry: a kernel for each of them would take long to compile."""
    cases = [case for group in groups for case in group]
    parts = [_source(kind, cases).replace("    def case_", "    def _case_")]
    for i, group in enumerate(groups):
        lines = ["found: list[int] = []"]
        for case in group:
            lines.append(f"found.append(self._case_{case.name}(k))")
            lines += [f"if k in self.{state}:\n    del self.{state}[k]" for state in case.stored]
        body = indent("\n".join([*lines, "return found"]), " " * 8)
        parts.append(f"    def group_{i}(self, k: int) -> list[int]:\n{body}\n")
    return "\n".join(parts)


def _taken(cases: list[Case]) -> list[Case]:
    """Those that the translator takes, with both sides changed or with one."""
    while refused := _refused(cases):
        one = [replace(c, sides="a") for c in cases if c.name in refused and c.sides == "ab"]
        cases = [c for c in cases if c.name not in refused] + one
    return cases


def _refused(cases: Sequence[Case]) -> set[str]:
    if not cases:
        return set()
    source = _source(cases[0].kind, cases)
    lines = source.splitlines()
    with loaded(source) as program:
        found = [d.span.line for d in ab.check(program) if d.severity == "error"]
    heads = [next(x for x in reversed(lines[:line]) if x.lstrip().startswith("def ")) for line in found]
    names = {re.sub(r".*\bdef (case_)?(\w+)\(.*", r"\2", head) for head in heads}
    functions = names - {c.name for c in cases}  # refused for the sake of those that call them
    return names - functions | {c.name for c in cases if any(f"{f}(" in c.text for f in functions)}


def _chosen(kind: Kind) -> dict[str, str]:
    """All crossings of the kind in a long run; in a short one every second has one kind, and all that copy have one."""
    found = crossings(kind)
    if runs_all():
        return found
    number = KINDS.index(kind)
    shown = [name for i, name in enumerate(found) if i % (2 * len(KINDS)) == number]
    copied = [name for i, name in enumerate(found) if (i + 5) % len(KINDS) == number and name.startswith(COPYING)]
    return {name: found[name] for name in dict.fromkeys((*shown, *copied))}


def _cases(kind: Kind) -> list[Case]:
    return _taken([Case(kind, name, text, "a" if kind.start else "ab") for name, text in _chosen(kind).items()])


def _attempt(call: Callable[[], object]) -> object:
    try:
        return call()
    except Exception as error:  # what the plain run raises, whatever it is, every tier must raise
        return type(error), str(error)


def _answers(program: Any, names: Sequence[str]) -> dict[str, object]:
    """What each entry gives for a key that no other has."""
    return {name: _attempt(lambda name=name, i=i: program.entries[name](10 * i + 10)) for i, name in enumerate(names)}


def _batch(program: Any, name: str) -> object:
    return _attempt(lambda: program.entries[name].many({"k": list(range(1000, 1000 + ROWS))}))


def _check(program: type[ab.Program], names: Sequence[str], workers: Sequence[int], tier: str) -> dict[str, object]:
    plain = program()
    wanted = _answers(plain, names)
    for count in workers:
        with App(program(), count, tier=tier) as app:
            if tier == "compiled":
                assert all(app._engine.tiers.is_fast(name) for name in names), app.explain()
            assert _answers(app, names) == wanted
            for name in names if count > 1 else ():  # which goes from worker to worker, where a call does not
                assert _batch(app, name) == _batch(plain, name)
    return wanted


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_python_tier(kind: Kind) -> None:
    cases = _cases(kind)
    with loaded(_source(kind, cases)) as program:
        answers = _check(program, [f"case_{c.name}" for c in cases], ALL_WORKERS, "python")
    assert all(isinstance(found, int) for found in answers.values()), answers


@pytest.mark.parametrize("kind", [k for k in KINDS if k.name != "vector"], ids=lambda kind: kind.name)
def test_compiled_tier(kind: Kind) -> None:
    cases = _cases(kind)
    with loaded(_source(kind, cases)) as program:
        why = explain_tiers(ab.compile(program))
    groups = _groups([case for case in cases if why[f"case_{case.name}"] is None])
    assert groups
    workers = ALL_WORKERS if runs_all() else ALL_WORKERS[KINDS.index(kind) % 2 :][:1]
    with loaded(_grouped(kind, groups)) as program:
        _check(program, [f"group_{i}" for i in range(len(groups))], workers, "compiled")


@pytest.mark.parametrize("kind", KINDS if runs_all() else KINDS[::4], ids=lambda kind: kind.name)
def test_what_belongs_to_state_does_not_change(kind: Kind) -> None:
    """Under whatever other name: the translator refuses it, or every tier raises what the plain run raises."""
    cases = [Case(kind, name, text, "b", True) for name, text in crossings(kind).items()]
    while refused := _refused(cases):
        cases = [c for c in cases if c.name not in refused]
    with loaded(_source(kind, cases)) as program:
        _check(program, [f"case_{c.name}" for c in cases], ALL_WORKERS, "python")
