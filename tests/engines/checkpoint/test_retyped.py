"""The types of a program change between two runs: what can be converted is, in the snapshot and in the log; what cannot
is refused in words that say where.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import anabranch as ab
from anabranch.inspecting.looking import inspect

TEXT = """
import dataclasses
from typing import NamedTuple
import anabranch as ab

{records}

class Store(ab.Program):
    t: ab.Partitioned[ab.Table[str, {value}]]
    one: ab.Replicated[ab.Value[{value}]] = ab.Value({first})

    def put(self, k: str, x: {value}) -> None:
        self.t[k] = x

    def both(self, x: {value}) -> None:
        ab.everywhere(self.one).value = x

    def drop(self, k: str) -> None:
        del self.t[k]
"""
PLAIN = "class Rec(NamedTuple):\n    n: int\n"
FROZEN = "@dataclasses.dataclass(frozen=True)\nclass Rec:\n    n: int\n"


class Kind(NamedTuple):
    """What a value was, and what it is: the records, the type, and the value as Python text."""

    records: str
    value: str
    first: str
    then: str


def made(kind: Kind, home: Path, name: str) -> Any:
    """The program, and a value of it as the last field says. Each is a module of its own, as after an edit."""
    import importlib.util
    import sys

    text = TEXT.format(records=kind.records, value=kind.value, first=kind.first)
    path = home / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("retyped_program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["retyped_program"] = module
    spec.loader.exec_module(module)
    return module


def shown(value: Any) -> str:
    return repr(value)


BECOMES: dict[str, tuple[Kind, Kind]] = {
    "a field with a default": (
        Kind(PLAIN, "Rec", "Rec(0)", "Rec(7)"),
        Kind(PLAIN + "    note: str = 'none'\n", "Rec", "Rec(0)", "Rec(7, 'none')"),
    ),
    "a field of a dataclass": (
        Kind(FROZEN, "Rec", "Rec(0)", "Rec(7)"),
        Kind(FROZEN + "    xs: list[int] = dataclasses.field(default_factory=list)\n", "Rec", "Rec(0)", "Rec(7, [])"),
    ),
    "int to float": (Kind("", "int", "0", "7"), Kind("", "float", "0.0", "7.0")),
    "int to int or none": (Kind("", "int", "0", "7"), Kind("", "int | None", "0", "7")),
    "int to float or none": (Kind("", "int", "0", "7"), Kind("", "float | None", "0.0", "7.0")),
    "in a list": (Kind("", "list[int]", "[]", "[7, 8]"), Kind("", "list[float]", "[]", "[7.0, 8.0]")),
    "in a set": (Kind("", "set[int]", "set()", "{7}"), Kind("", "set[float]", "set()", "{7.0}")),
    "in a dict": (
        Kind(PLAIN, "dict[str, Rec]", "{}", "{'a': Rec(7)}"),
        Kind(PLAIN + "    x: float | None = None\n", "dict[str, Rec]", "{}", "{'a': Rec(7, None)}"),
    ),
    "in a tuple": (
        Kind("", "tuple[int, str]", "(0, '')", "(7, 'a')"),
        Kind("", "tuple[float, str | None]", "(0.0, '')", "(7.0, 'a')"),
    ),
    "in a list or none": (
        Kind("", "list[int] | None", "None", "[7]"),
        Kind("", "list[int | None] | None", "None", "[7]"),
    ),
    "a record in a record": (
        Kind(
            "class In(NamedTuple):\n    a: int\nclass Rec(NamedTuple):\n    i: In\n", "Rec", "Rec(In(0))", "Rec(In(7))"
        ),
        Kind(
            "class In(NamedTuple):\n    a: float\n    b: int = 3\nclass Rec(NamedTuple):\n    i: In\n",
            "Rec",
            "Rec(In(0.0))",
            "Rec(In(7.0, 3))",
        ),
    ),
}


@pytest.mark.parametrize("tier", ["python", "compiled"])
@pytest.mark.parametrize("how", BECOMES)
def test_a_value_becomes_what_it_is_today(how: str, tier: str, tmp_path: Path) -> None:
    was, now = BECOMES[how]
    old, folder = made(was, tmp_path, "old"), tmp_path / "at"
    value = eval(was.then, vars(old))
    with ab.run(old.Store(), workers=2, tier=tier, checkpoint=folder) as app:
        app.put("saved", value)
        app.put("dropped", value)
        app.checkpoint()
        app.put("logged", value)
        app.both(value)
        app.drop("dropped")
    assert inspect(folder).ok and ab.read_checkpoint(folder, "t").num_rows == 2
    new = made(now, tmp_path, "new")
    wanted = eval(now.then, vars(new))
    for _ in range(2):  # the second time it is saved as it is today
        with ab.run(new.Store(), workers=3, tier=tier, checkpoint=folder) as app:
            found = dict(app.state.t.scan())
            assert {k: shown(x) for k, x in found.items()} == {"saved": shown(wanted), "logged": shown(wanted)}, how
            assert shown(app.state.one.value) == shown(wanted)
            app.put("saved", wanted)
    assert inspect(folder).ok and ab.read_checkpoint(folder, "t").num_rows == 2


UNLIKE: dict[str, tuple[Kind, Kind, str]] = {
    "no default": (
        Kind(PLAIN, "Rec", "Rec(0)", "Rec(7)"),
        Kind(PLAIN + "    note: str\n", "Rec", "Rec(0, '')", ""),
        r"at value\.note: .* has no such field, Store has note: str in Rec, without a default",
    ),
    "a field is gone": (
        Kind(PLAIN + "    note: str = ''\n", "Rec", "Rec(0)", "Rec(7)"),
        Kind(PLAIN, "Rec", "Rec(0)", ""),
        r"at value\.note: .* has the field note, Store has no such field in Rec",
    ),
    "other order": (
        Kind(PLAIN + "    m: int = 0\n", "Rec", "Rec(0)", "Rec(7)"),
        Kind("class Rec(NamedTuple):\n    m: int\n    n: int\n", "Rec", "Rec(0, 0)", ""),
        r"has the fields in the order n, m, Store has m, n in Rec",
    ),
    "float to int": (
        Kind("", "float", "0.0", "7.0"),
        Kind("", "int", "0", ""),
        "at value: .* has double, Store has int64",
    ),
    "int to str": (Kind("", "int", "0", "7"), Kind("", "str", "''", ""), "at value: .* has int64, Store has string"),
    "or none to never": (
        Kind("", "int | None", "0", "7"),
        Kind("", "int", "0", ""),
        "has a value or None, Store has int",
    ),
    "retyped field": (
        Kind(PLAIN, "list[Rec]", "[]", "[Rec(7)]"),
        Kind("class Rec(NamedTuple):\n    n: str\n", "list[Rec]", "[]", ""),
        r"at value\[...\]\.n: .* has int64, Store has string",
    ),
}


@pytest.mark.parametrize("how", UNLIKE)
def test_what_cannot_be_converted_is_refused_with_its_place(how: str, tmp_path: Path) -> None:
    was, now, told = UNLIKE[how]
    old, folder = made(was, tmp_path, "old"), tmp_path / "at"
    with ab.run(old.Store(), workers=2, tier="python", checkpoint=folder) as app:
        app.put("saved", eval(was.then, vars(old)))
    before = inspect(folder)
    with pytest.raises(ab.ProgramError, match=told) as caught:
        ab.run(made(now, tmp_path, "new").Store(), workers=2, tier="python", checkpoint=folder)
    assert str(caught.value).startswith("t is Partitioned[Table[str, ") and "anabranch migrate" in str(caught.value)
    assert inspect(folder) == before and before.ok and ab.read_checkpoint(folder, "t").num_rows == 1
    again = made(was, tmp_path, "again")
    with ab.run(again.Store(), workers=2, tier="python", checkpoint=folder) as app:
        assert shown(app.state.t["saved"]) == shown(eval(was.then, vars(again)))


def test_an_int_that_no_float_is_stops_the_start(tmp_path: Path) -> None:
    old, folder = made(Kind("", "int", "0", ""), tmp_path, "old"), tmp_path / "at"
    with ab.run(old.Store(), workers=1, tier="python", checkpoint=folder) as app:
        app.put("a", (1 << 53) + 1)
    new = made(Kind("", "float", "0.0", ""), tmp_path, "new")
    with pytest.raises(ab.ProgramError, match=r"t cannot be restored as Table\[str, float\].*no float is exactly that"):
        ab.run(new.Store(), workers=1, tier="python", checkpoint=folder)


class Three(ab.Program):
    d: ab.Partitioned[ab.DenseVector] = ab.DenseVector.zeros(3)
    m: ab.Replicated[ab.DenseMatrix] = ab.DenseMatrix.zeros(2, 2)

    def put(self, i: int, x: float) -> None:
        self.d[i] = x


class Four(ab.Program):
    d: ab.Partitioned[ab.DenseVector] = ab.DenseVector.zeros(4)
    m: ab.Replicated[ab.DenseMatrix] = ab.DenseMatrix.zeros(2, 2)

    def put(self, i: int, x: float) -> None:
        self.d[i] = x


class Two(ab.Program):
    d: ab.Partitioned[ab.DenseVector] = ab.DenseVector.zeros(2)
    m: ab.Replicated[ab.DenseMatrix] = ab.DenseMatrix.zeros(2, 2)

    def put(self, i: int, x: float) -> None:
        self.d[i] = x


class Wide(ab.Program):
    d: ab.Partitioned[ab.DenseVector] = ab.DenseVector.zeros(3)
    m: ab.Replicated[ab.DenseMatrix] = ab.DenseMatrix.zeros(1, 4)

    def put(self, i: int, x: float) -> None:
        self.d[i] = x


@pytest.mark.parametrize("tier", ["python", "compiled"])
@pytest.mark.parametrize(("other", "name"), [(Four, "d"), (Two, "d"), (Wide, "m")])
def test_a_dense_state_of_another_shape_is_named(other: Any, name: str, tier: str, tmp_path: Path) -> None:
    with ab.run(Three(), workers=2, tier=tier, checkpoint=tmp_path) as app:
        app.put(2, 1.5)
        app.checkpoint()
    with pytest.raises(ab.ProgramError, match=f"^{name} .*shape"):
        ab.run(other(), workers=2, tier=tier, checkpoint=tmp_path)
    with ab.run(Three(), workers=2, tier=tier, checkpoint=tmp_path) as app:
        assert app.state.d[2] == 1.5
