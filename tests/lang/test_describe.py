"""Reading a class: annotations wherever it is defined, and every problem with its code."""

import gc
import importlib
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NewType

import pytest

import anabranch as ab
from anabranch.lang import describe, types
from anabranch.lang.spec import RESERVED

FUTURE = """
from __future__ import annotations
import anabranch as ab
from typing import NamedTuple
from dataclasses import dataclass

def outer():
    class Point(NamedTuple):
        x: int

    def inner():
        @dataclass(frozen=True)
        class Line:
            a: Point
            b: Point | None = None

        class P(ab.Program):
            lines: ab.Partitioned[ab.Table[int, Line]]

            class Inside(NamedTuple):
                line: Line

            def __init__(self) -> None:
                self.unit = Line(Point(1))

            def put(self, k: int, line: Line, later: Later | None = None) -> Inside:
                self.lines[k] = line
                return P.Inside(self.lines[k])

        class Later(NamedTuple):
            z: Point

        return P, Line, Point

    return inner()
"""


@pytest.mark.parametrize("future", [True, False])
def test_programs_and_records_inside_functions(future: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        FUTURE
        if future
        else FUTURE.replace("from __future__ import annotations", "").replace("Later | None", "Line | None")
    )
    name = f"made_here_{future}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    program, line, point = importlib.import_module(name).outer()
    assert describe(program).problems == ()
    p = program()
    assert p.put(1, line(point(2))) == (line(point(2)),)
    assert describe(program).entries["put"].parameters[1].type == types.Record(line, ())
    assert describe(program) is describe(program)
    assert describe(program).namespace["Point"] is point


def test_a_name_defined_after_an_early_look_is_found_later() -> None:
    class P(ab.Program):
        def go(self, x: "Late") -> None:
            pass

    [problem] = describe(P).problems
    assert problem.code == "AB204" and problem.where == "entry:go:x" and "Late" in problem.message

    class Late(NamedTuple):
        n: int

    assert describe(P).problems == ()
    P().go(Late(1))


def test_classes_can_be_collected() -> None:
    def make() -> "weakref.ref[type]":
        class P(ab.Program):
            def go(self) -> None:
                pass

        P().go()
        return weakref.ref(P)

    ref = make()
    gc.collect()
    assert ref() is None


UserId = NewType("UserId", int)


def test_new_types_are_what_they_stand_for() -> None:
    class P(ab.Program):
        t: ab.Partitioned[ab.Table[UserId, float]]

        def go(self, user: UserId) -> float:
            return self.t[user]

    assert describe(P).states["t"].text == "Partitioned[Table[int, float]]"


@dataclass
class Loose:
    x: int


class Loop(NamedTuple):
    inner: "Loop | None"


class Bad(ab.Program):
    a: ab.Partitioned[int]
    b: ab.Partitioned[ab.Table]  # type: ignore[type-arg]
    c: ab.Table[int, int]
    d: ab.Partial[ab.Partitioned[ab.Matrix]]
    e: ab.Partitioned[ab.Value[int]]
    f: ab.Partitioned[ab.Table[float, int]]
    g: ab.Partial[ab.Timeline[int, float]]
    h: ab.Partial[ab.Table[int, object]]
    i: object
    j = object()
    _k: ab.Partial[ab.Matrix]
    loose: ab.Partial[ab.Table[int, Loose]]
    loop: ab.Partial[ab.Table[int, Loop]]

    def stop(self) -> None: ...

    def untyped(self, a): ...  # type: ignore[no-untyped-def]

    def many_kinds(self, p: int, /, *args: int, k: int, **rest: int) -> None: ...

    def hidden(self, _x: int, y: int = "a", z: Loose = 0) -> Loose: ...  # type: ignore[assignment,empty-body]

    @property
    def prop(self) -> int:
        return 1

    @staticmethod
    def static() -> int:
        return 1

    @classmethod
    def klass(cls) -> int:
        return 1

    def fine(self, x: int) -> int:
        return x


def test_every_problem_has_its_code() -> None:
    spec = describe(Bad)
    found = {(p.code, p.where) for p in spec.problems}
    assert found == {
        ("AB201", "state:a"),
        ("AB201", "state:b"),
        ("AB201", "state:c"),
        ("AB201", "state:d"),
        ("AB202", "state:e"),
        ("AB203", "state:f"),
        ("AB901", "state:g"),
        ("AB204", "state:h"),
        ("AB204", "state:i"),
        ("AB204", "config:j"),
        ("AB109", "state:_k"),
        ("AB204", "state:loose"),
        ("AB204", "state:loop"),
        ("AB107", "entry:stop"),
        ("AB105", "entry:untyped:a"),
        ("AB106", "entry:untyped:return"),
        ("AB108", "entry:many_kinds:p"),
        ("AB108", "entry:many_kinds:args"),
        ("AB108", "entry:many_kinds:k"),
        ("AB108", "entry:many_kinds:rest"),
        ("AB109", "entry:hidden:_x"),
        ("AB113", "entry:hidden:y"),
        ("AB204", "entry:hidden:z"),
        ("AB204", "entry:hidden:return"),
        ("AB112", "entry:prop"),
        ("AB112", "entry:static"),
        ("AB112", "entry:klass"),
    }
    assert all(p.message and p.hint for p in spec.problems)
    assert spec.entries["fine"].result == types.INT


def test_instantiating_lists_the_problems() -> None:
    with pytest.raises(ab.ProgramError) as caught:
        Bad()
    text = str(caught.value)
    assert text.startswith(
        "Bad breaks the rules of the language:\n  AB201 state:a: Partitioned[int]: int is no state type; use "
    )
    assert "AB203 state:f: float cannot be the key of a Table: NaN, -0.0 and rounding break equality; use int" in text
    assert "ab.Timeline is reserved: not yet available" in text


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_reserved_names(name: str) -> None:
    def entry(self: Any) -> None: ...

    program = type("P", (ab.Program,), {name: entry})
    assert [(p.code, p.where) for p in describe(program).problems] == [("AB107", f"entry:{name}")]


def test_the_spec_of_a_sound_program() -> None:
    def helper() -> None: ...

    class P(ab.Program):
        LIMIT = 3
        alpha: float = 0.5
        m: ab.Partitioned[ab.Matrix]
        t: ab.Replicated[ab.Table[tuple[int, str], list[float]]]

        def go(self, x: int, y: str | None = None) -> tuple[int, str]:
            return x, y or ""

        def _help(self, x: int) -> int:
            return x

    spec = describe(P)
    assert spec.problems == () and spec.cls is P
    assert [s.text for s in spec.states.values()] == [
        "Partitioned[Matrix]",
        "Replicated[Table[tuple[int, str], list[float]]]",
    ]
    assert spec.config == {"alpha": types.FLOAT, "LIMIT": 3}
    assert list(spec.helpers) == ["_help"] and spec.namespace["helper"] is helper
    go = spec.entries["go"]
    assert [(p.name, str(p.type), p.has_default) for p in go.parameters] == [
        ("x", "int", False),
        ("y", "str | None", True),
    ]
    assert (
        str(go.result) == "tuple[int, str]" and go.function.__name__ == "go" and not hasattr(go.function, "__wrapped__")
    )
    assert P().alpha == 0.5


def test_names_for_later() -> None:
    for name in ("Timeline", "Time", "Vertex", "Feed", "random", "stale"):
        placeholder = getattr(ab, name)
        assert placeholder[int] is placeholder and repr(placeholder) == f"ab.{name}"
        with pytest.raises(NotImplementedError, match=f"ab.{name} is reserved: not yet available"):
            placeholder()


def test_a_timer_is_told_when_the_program_is_made() -> None:
    class Cache(ab.Program):
        hits: ab.Partitioned[ab.Table[str, int]]

        @ab.every(60)
        def forget(self) -> None:
            self.hits["all"] = 0

    with pytest.raises(ab.ProgramError, match=r"AB901 entry:forget: ab\.every is reserved: not yet available"):
        Cache()


def test_names_for_later_of_the_module() -> None:
    with pytest.raises(AttributeError, match=r"ab\.submit is reserved: not yet available"):
        ab.submit  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ab.nothing  # noqa: B018
    with pytest.raises(NotImplementedError):

        class V(ab.Vertex):  # type: ignore[misc]
            pass
