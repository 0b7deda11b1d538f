"""Programs from everywhere, on their way to worker processes: the same one arrives, or an error that teaches."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import anabranch as ab
from anabranch.drivers import fleet
from tests.conformance.engines import nursery
from tests.drivers.processes.parcels.laden import Laden
from tests.drivers.processes.parcels.parts import Point, Rule
from tests.drivers.processes.tools import ROOT, all_end, children, start

PROMPT = 120.0


def test_a_program_of_a_module_with_configuration_and_templates_of_all_kinds() -> None:
    def make() -> Laden:
        return Laden(3, {"a": Rule("a", 5, Point(1, 0.25))}, np.arange(6.0).reshape(2, 3))

    app, plain = start(make()), make()
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("limit", (1, "a")), ("limit", (1, "a")), ("where", (1,)), ("name", (4,)), ("step", ()), ("step", ()),
        ("count", (9,)), ("push", (1, 4.0)), ("push", (1, 4.0)), ("push", (1, 8.0)), ("push", (1, 2.0)),
        ("learn", (2,)),
    ]  # fmt: skip
    with all_end(app):
        for name, arguments in calls:
            assert getattr(app, name)(*arguments) == getattr(plain, name)(*arguments), name
        assert type(app.where(1)) is Point
        assert app.state.windows.total(1) == plain.windows.total(1)
        with pytest.raises(KeyError):
            app.limit(1, "none")


class Far(NamedTuple):
    """Used by a class of a function."""

    x: int


def test_a_class_inside_a_function_with_what_stands_beside_it() -> None:
    @dataclass(frozen=True)
    class Near:
        far: Far
        step: int

    class Sums:
        def __init__(self, first: int) -> None:
            self.sums: dict[int, int] = {}
            self.first = first

        @ab.writes
        def add(self, key: int, x: int) -> None:
            self.sums[key] = self.sums.get(key, self.first) + x

        @ab.reads
        def get(self, key: int) -> int:
            return self.sums.get(key, self.first)

    @ab.pure
    def twice(x: int) -> int:
        return x * factor

    factor = 2
    text = """a text
    of two lines"""

    class Inner(ab.Program):
        table: ab.Partitioned[ab.Table[int, Near]]
        sums: ab.Partitioned[Sums]

        def __init__(self, near: Near) -> None:
            self.near = near
            self.sums = Sums(5)

        def put(self, k: int) -> Near:
            self.table[k] = Near(Far(k), self.near.step)
            return self.table[k]

        def add(self, k: int, x: int) -> int:
            self.sums.add(k, twice(x))
            return self.sums.get(k)

        def length(self, k: int) -> int:
            self.table[k] = self.near
            return len(text) + len("""
            a""")

    plain = Inner(Near(Far(1), 2))
    app = start(Inner(Near(Far(1), 2)))
    with all_end(app):
        assert app.put(3) == plain.put(3) == Near(Far(3), 2)
        assert type(app.put(3)) is Near
        assert app.add(1, 10) == plain.add(1, 10) == 25
        assert app.length(1) == plain.length(1)


class Holder:
    @staticmethod
    def make() -> type[ab.Program]:
        def deeper() -> type[ab.Program]:
            class Deep(ab.Program):
                seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

                def see(self, k: int) -> int:
                    self.seen[k] += 1
                    return self.seen[k]

            return Deep

        return deeper()


def test_a_class_deep_inside() -> None:
    app = start(Holder.make()())
    with all_end(app):
        assert app.see(1) == 1


def test_what_cannot_be_sent_is_named_before_anything_starts() -> None:
    class Dated(ab.Program):
        seen: ab.Partitioned[ab.Table[int, int]]

        def __init__(self) -> None:
            self.dates = np.array(["2026-01-01"], "M8[D]")

        def see(self, k: int) -> int:
            self.seen[k] = 1
            return k

    before = children(nursery()._process.pid)
    with pytest.raises(
        ab.ProgramError, match=r"Dated cannot be sent to a worker in another process: .*dates.*datetime64"
    ):
        start(Dated())
    assert children(nursery()._process.pid) <= before


# -- scripts ----------------------------------------------------------------------------------------------------------

PROGRAM = """
    from __future__ import annotations
    from dataclasses import dataclass
    import anabranch as ab
    from beside import STEP

    @dataclass(frozen=True)
    class Seen:
        times: int

    class Script(ab.Program):
        seen: ab.Partitioned[ab.Table[int, Seen]] = ab.Table(default=Seen(0))

        def __init__(self, first: Seen) -> None:
            self.first = first

        def see(self, k: int) -> Seen:
            self.seen[k] = Seen(self.seen[k].times + self.first.times + STEP)
            return self.seen[k]
"""
RUN = """
    with ab.run(Script(Seen(10)), workers=2, hosts="processes", tier="python") as app:
        print(app.see(1), app.see(1).times, app.see.many([(1,)] * 100)[-1].times)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Where scripts are, with a module beside them that another of the same name, in the current folder, hides."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "beside.py").write_text("STEP = 1\n")
    (tmp_path / "beside.py").write_text("raise AssertionError('the wrong one')\n")
    return tmp_path / "there" / "script.py"


def run(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *(arguments or [str(file)])]
    return subprocess.run(command, cwd=file.parents[1], env=environment, capture_output=True, text=True, timeout=PROMPT)


def indented(text: str) -> str:
    return textwrap.indent(textwrap.dedent(text), "    ")


def test_a_script_with_a_guard(script: Path) -> None:
    script.write_text(textwrap.dedent(PROGRAM) + 'if __name__ == "__main__":' + indented(RUN))
    done = run(script)
    assert (done.stdout, done.stderr) == ("Seen(times=11) 22 1122\n", "")


def test_a_module_of_a_package_as_a_script(script: Path) -> None:
    package = script.parents[1] / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "near.py").write_text("STEP = 1\n")
    text = textwrap.dedent(PROGRAM).replace("from beside", "from .near")
    (package / "script.py").write_text(text + 'if __name__ == "__main__":' + indented(RUN))
    done = run(script, "-m", "pack.script")
    assert (done.stdout, done.stderr) == ("Seen(times=11) 22 1122\n", "")


@pytest.mark.parametrize("after", ["", "\nraise SystemExit(0)\n"])
def test_a_script_without_a_guard_is_told_what_to_write(script: Path, after: str) -> None:
    script.write_text(textwrap.dedent(PROGRAM) + textwrap.dedent(RUN) + after)
    done = run(script)
    assert done.returncode == 1 and done.stdout == ""
    assert "ProgramError: worker" in done.stderr and "cannot run the program: RuntimeError: ab.run was" in done.stderr
    assert 'put what starts the app under `if __name__ == "__main__":`' in done.stderr


def test_a_module_that_starts_an_app_when_it_is_imported(script: Path) -> None:
    script.write_text(textwrap.dedent(PROGRAM) + textwrap.dedent(RUN))
    done = run(script, "-c", f"import sys; sys.path.insert(0, {str(script.parent)!r}); import script")
    assert done.returncode == 1
    assert 'put what starts the app under `if __name__ == "__main__":`' in done.stderr


def test_a_program_that_was_typed_in(script: Path) -> None:
    text = textwrap.dedent(PROGRAM) + textwrap.dedent(RUN)
    text = text.replace("from __future__ import annotations", f"import sys; sys.path.insert(0, {str(script.parent)!r})")
    code = text
    done = run(script, "-c", code)
    assert done.returncode == 1
    assert "Script" in done.stderr and ("typed in" in done.stderr or "cannot be read" in done.stderr), done.stderr


def test_a_class_that_its_file_does_not_have() -> None:
    space: dict[str, Any] = {"__name__": __name__, "ab": ab}
    file = ROOT / "tests" / "drivers" / "processes" / "village.py"
    exec(compile(file.read_text(), "<made>", "exec"), space)
    with pytest.raises(ab.CompileError):
        start(space["Village"]())


# -- what changes meanwhile -------------------------------------------------------------------------------------------

CHANGING = """
from __future__ import annotations
import anabranch as ab

@ab.pure
def step(k: int) -> int:
    return k + 1

class Changing(ab.Program):
    seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def see(self, k: int) -> int:
        self.seen[k] += step(k)
        return self.seen[k]
"""


@pytest.fixture
def changing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Any]]:
    name = f"changing_{tmp_path.name}".replace("-", "_")
    file = tmp_path / f"{name}.py"
    file.write_text(CHANGING)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield file, importlib.import_module(name)
    sys.modules.pop(name, None)


def test_a_source_that_changes_after_it_was_read_runs_as_it_was(changing: tuple[Path, Any]) -> None:
    file, module = changing
    ab.compile(module.Changing)
    file.write_text(CHANGING.replace("k + 1", "k + 1000"))
    app = start(module.Changing())
    with all_end(app):
        assert [app.see(k) for k in range(8)] == [k + 1 for k in range(8)]


def test_a_source_that_changes_before_it_was_read_is_refused(changing: tuple[Path, Any]) -> None:
    file, module = changing
    file.write_text(CHANGING.replace("k + 1", "k + 1000"))
    with pytest.raises(ab.ProgramError, match=r"changing_.*has changed since.*start this process again"):
        start(module.Changing())


def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = fleet.versions()
    monkeypatch.setattr(fleet, "versions", lambda: (*mine[:1], ("anabranch", "9.9"), *mine[2:]))
    with pytest.raises(
        ab.ProgramError, match=r"worker \d cannot take part: anabranch .* there, 9.9 here; install the same versions"
    ):
        start()
