"""A copy is a new value: only what shares a value with another name is refused, and what to write is a copy."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch import testing
from tests.frontend.mutate import programs_in

FLAT, NESTED = "list[int]", "list[list[int]]"
COPIES = {
    FLAT: ["list(xs)", "xs[:]", "xs.copy()", "[*xs]", "xs + []", "xs * 1", "sorted(xs)", "[x for x in xs]"],
    NESTED: ["[list(x) for x in xs]", "[x[:] for x in xs]", "[x.copy() for x in xs]", "[[y for y in x] for x in xs]"],
    "dict[str, int]": ["dict(xs)", "xs.copy()", "xs | {}", "{k: v for k, v in xs.items()}"],
    "dict[str, list[int]]": ["{k: list(v) for k, v in xs.items()}", "{k: v.copy() for k, v in xs.items()}"],
    "set[int]": ["set(xs)", "xs.copy()", "xs | set()", "{x for x in xs}"],
    "ab.Vector": ["xs.copy()", "ab.Vector(xs)"],
    "ab.DenseVector": ["xs.copy()", "ab.DenseVector(xs)"],
}
SHARED = {
    FLAT: ["xs"],
    NESTED: ["xs", "list(xs)", "xs[:]", "xs.copy()", "[x for x in xs]", "xs + []", "[xs[0]]"],
    "dict[str, int]": ["xs"],
    "dict[str, list[int]]": ["xs", "dict(xs)", "{k: v for k, v in xs.items()}", "{'a': xs['a']}"],
    "set[int]": ["xs"],
    "ab.Vector": ["xs"],
    "ab.DenseVector": ["xs"],
}
CHANGES = {
    FLAT: "ys.append(7)",
    NESTED: "ys[0].append(7)",
    "dict[str, int]": "ys['a'] = 7",
    "dict[str, list[int]]": "ys['a'].append(7)",
    "set[int]": "ys.add(7)",
    "ab.Vector": "ys[0] = 7.0",
    "ab.DenseVector": "ys[0] = 7.0",
}
VALUES = {
    FLAT: [1, 2],
    NESTED: [[1], [2]],
    "dict[str, int]": {"a": 1},
    "dict[str, list[int]]": {"a": [1]},
    "set[int]": {1},
    "ab.Vector": ab.Vector({0: 1.0}),
    "ab.DenseVector": ab.DenseVector([1.0]),
}
HINTS = {
    FLAT: "ys = list(xs)",
    NESTED: "ys = [list(x) for x in xs]",
    "dict[str, int]": "ys = dict(xs)",
    "dict[str, list[int]]": "ys = {k: list(v) for k, v in xs.items()}",
    "set[int]": "ys = set(xs)",
    "ab.Vector": "ys = xs.copy()",
    "ab.DenseVector": "ys = xs.copy()",
}


def source_of(kind: str, copy: str) -> str:
    """`ys` is made at one place and changed at the next; `xs` is looked at afterwards."""
    return f"""
import anabranch as ab

class P(ab.Program):
    first: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    second: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def act(self, one: str, other: str, xs: {kind}) -> {kind}:
        n = self.first[one]
        ys = {copy}
        self.second[other] += n
        {CHANGES[kind]}
        self.first[one] = len(ys)
        return xs
"""


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(kind, text) for kind, texts in table.items() for text in texts]


@pytest.mark.parametrize(("kind", "copy"), cases(COPIES))
def test_a_copy_is_a_new_value(kind: str, copy: str) -> None:
    with programs_in(source_of(kind, copy)) as programs:
        assert [d.code for d in ab.check(programs[0]) if d.severity == "error"] == []
        testing.check(programs[0], [("act", "a", "b", VALUES[kind]), ("act", "b", "a", VALUES[kind])], workers=2)


@pytest.mark.parametrize(("kind", "text"), cases(SHARED))
def test_a_shared_value_is_told_with_the_copy_to_write(kind: str, text: str) -> None:
    with programs_in(source_of(kind, text)) as programs:
        (found,) = [d for d in ab.check(programs[0]) if d.severity == "error"]
    assert found.code == "AB511"
    assert "'xs' and 'ys' may share a value that is changed after another place is reached here" in found.message
    assert found.hint == f"make one of them a copy where it is assigned: {HINTS[kind]}"


@pytest.mark.parametrize("kind", HINTS)
def test_what_the_hint_says_is_accepted(kind: str) -> None:
    with programs_in(source_of(kind, HINTS[kind].partition(" = ")[2])) as programs:
        assert [d.code for d in ab.check(programs[0]) if d.severity == "error"] == []


def test_a_part_is_copied_where_it_is_taken() -> None:
    source = source_of(NESTED, "xs[0]").replace("ys[0].append(7)", "ys.append(7)")
    with programs_in(source) as programs:
        (found,) = [d for d in ab.check(programs[0]) if d.severity == "error"]
    assert found.hint == "make 'ys' a copy where it is assigned: ys = list(...)"


def test_one_value_twice_in_a_container() -> None:
    source = source_of(NESTED, "[[0]] * 2")
    with programs_in(source) as programs:
        (found,) = [d for d in ab.check(programs[0]) if d.severity == "error"]
    assert "'ys' may hold one value twice that is changed" in found.message
    assert found.hint == "put copies into it: xs.append(ys.copy())"


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("copy.copy(xs)", "write list(xs), dict(d), set(s) or x.copy()"),
        ("copy.deepcopy(xs)", "write out what is copied: [list(x) for x in xs]"),
    ],
)
def test_the_module_copy_is_told_what_to_write(call: str, hint: str) -> None:
    with programs_in("import copy\n" + source_of(FLAT, call)) as programs:
        (found,) = [d for d in ab.check(programs[0]) if d.severity == "error"]
    assert (found.code, found.hint) == ("AB502", hint)
