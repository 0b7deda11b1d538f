"""The user's lines in emitted code: tracebacks show the user's text, and notes name the line that a plain run names."""

from __future__ import annotations

import dataclasses
import sys
import textwrap
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import anabranch as ab
from anabranch.graph.span import Span
from anabranch.kernels import PythonCode
from tests.engines.test_semantics_programs import source
from tests.generator.plain import loaded
from tests.kernels.harness import PythonApp
from tests.programs.load import load, program_of

# Each raises where it is called with "q"; the statements run over several lines.
SPREAD = {
    "a chain of methods": 'x = (s\n     .strip()\n     .index("y"))\nreturn x',
    "arguments of a method": 'x = s.index(\n    "y",\n    1,\n)\nreturn x',
    "a chain with arguments": 'return 1 + (s\n    .strip()\n    .index(\n        "y",\n    ))',
    "a method as a statement": "xs = [1]\nxs.remove(\n    2,\n)\nreturn 1",
    "arguments of a function": "x = max(\n    1,\n    int(s),\n)\nreturn x",
    "brackets around an operation": "x = (\n    1 // (len(s) - 1)\n)\nreturn x",
    "brackets around a call": "x: int = (\n    int(s)\n)\nreturn x",
    "an operation in an operation": "x = (len(s) +\n    1 // (len(s) - 1)\n)\nreturn x",
    "an augmented assignment": "n = 1\nn //= (\n    len(s) - 1)\nreturn n",
    "a helper": "x = self._divide(\n    1,\n    len(s) - 1,\n)\nreturn x",
    "an argument that an entry refuses": "return self.pure(\n    2**70,\n)",
    "an argument that an entry with state refuses": "return self.stateful(\n    s,\n    k=\n        2**70,\n)",
    "a result that an entry refuses": "return (1 +\n    self.large())",
    "a missing entry": "x = 1 + (\n    self.t[\n        len(s) + 100]\n)\nreturn x",
    "a method of a state": "return self.t.pop(\n    len(s) + 50,\n)",
    "a method of a state, on its own line": "return (self.t\n    .pop(\n        len(s) + 50))",
    "a store": "self.t[\n    len(s)] = (\n    2 ** 70\n)\nreturn 1",
    "an increment": "self.t[\n    len(s) + 100] += (\n    1\n)\nreturn 1",
    "a dict": 'd = {\n    "a": 1,\n    "b": int(s)\n}\nreturn d["a"]',
    "a comprehension": "d = [\n    int(x)\n    for x in s\n]\nreturn d[0]",
    "a condition of a comprehension": "d = [\n    1\n    for x in s\n    if int(x)\n]\nreturn d[0]",
    "a lambda": "return len(sorted(\n    [s, s],\n    key=lambda x:\n        int(x)))",
    "a format string": 'return len(\n    f"{s}"\n    f"{int(s)}"\n)',
    "an assertion": 'assert (\n    len(s) > 1\n), "x"\nreturn 1',
    "raise": 'raise ValueError(\n    "a",\n    s)',
    "raise again": "try:\n    x = int(s)\nexcept ValueError as e:\n    y = 1\n    raise e\nreturn x",
    "a bare raise": "try:\n    x = int(s)\nexcept ValueError:\n    raise\nreturn x",
    "raise from": "try:\n    x = int(s)\nexcept ValueError as e:\n    raise KeyError(\n        s) from e\nreturn x",
    "finally": "try:\n    x = int(s)\nfinally:\n    y = 1\nreturn x + y",
    "an item": "xs = [s]\nreturn len(xs[\n    3])",
    "an item that is stored": "xs = [s]\nxs[\n    3] = (\n        s)\nreturn 1",
    "unpacking": "(a,\n b) = (\n    s.split(','))\nreturn len(a)",
    "unpacking in a loop": "r = 0\nfor (a,\n     b) in [\n        s.split(',')]:\n    r += len(a)\nreturn r",
    "the source of a loop": "n = 1\nfor c in (\n        int(x) for x in s):\n    n += c\nreturn n",
    "one side of a condition": 'return (\n    1 if s == "a"\n    else int(s))',
    "the test of a loop": "while (\n        int(s) > 0):\n    s = s[1:]\nreturn 1",
    "match": 'match len(s):\n    case 2:\n        return 1\n    case _:\n        return int("z")',
    "a fan-out": "n = 0\nfor x in s:\n    n += self.t[\n        len(x) + 50]\nreturn n",
    "a comprehension over state": "return sum([\n    self.t[\n        len(x) + 50]\n    for x in s])",
    "a result that is refused": "return (\n    2 ** 70)",
}
METHODS = """
        def pure(self, k: int) -> int:
            return k

        def stateful(self, s: str, k: int = 1) -> int:
            return k + self.t.get(k, 0)

        def large(self) -> int:
            return self.t.get(1, 0) + 2 ** 70

        def _divide(self, a: int,
                    b: int) -> int:
            return a // b

        def f(self, s: str) -> int:
"""


def failing(entry: Any, *args: Any) -> Exception:
    try:
        entry(*args)
    except Exception as error:
        return error
    raise AssertionError("it was to fail")


@pytest.mark.parametrize("name", SPREAD)
def test_the_line_is_that_of_a_plain_run(name: str) -> None:
    body = textwrap.dedent(METHODS) + textwrap.indent(SPREAD[name], " " * 4) + "\n"
    with loaded(source(body)) as program:
        graph = ab.compile(program)
        wanted = failing(program().entries["f"], "q")
        for whole in (False, True):
            found = failing(PythonApp(program(), whole=whole, graph=graph).entries["f"], "q")
            assert (type(found), found.args, found.__notes__) == (type(wanted), wanted.args, wanted.__notes__)


@pytest.fixture
def modules(tmp_path: Path) -> Iterator[dict[str, ModuleType]]:
    """A program, and a module of functions that it uses."""
    (tmp_path / "lines_of_others.py").write_text("# others\n\n\ndef ratio(a: int, b: int) -> int:\n    return a // b\n")
    (tmp_path / "lines_of_program.py").write_text(
        textwrap.dedent(
            """\
            import anabranch as ab
            from lines_of_others import ratio


            class P(ab.Program):
                t: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

                def f(self, k: int) -> int:
                    n = self.t[k] + 1
                    self.t[k] = n
                    return ratio(1, k)

                def g(self, k: int) -> int:
                    n = self.t[k]
                    return self._inverse(k) + n

                def _inverse(self, k: int) -> int:
                    n = self.t[k]
                    return n + 1 // k
            """
        )
    )
    sys.path.insert(0, str(tmp_path))
    try:
        program = load(tmp_path / "lines_of_program.py")
        yield {"program": program, "others": sys.modules["lines_of_others"]}
        del sys.modules[program.__name__], sys.modules["lines_of_others"]
    finally:
        sys.path.remove(str(tmp_path))


def test_a_traceback_shows_the_lines_of_the_user(modules: dict[str, ModuleType]) -> None:
    program = program_of(modules["program"])
    files = {str(m.__file__) for m in modules.values()}
    for whole in (False, True):
        error = failing(PythonApp(program(), whole=whole).entries["f"], 0)
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in files]
        assert [(Path(f.filename).name, f.lineno, f.name, f.line) for f in frames] == [
            ("lines_of_program.py", 11, "f", "return ratio(1, k)"),
            ("lines_of_others.py", 5, "ratio", "return a // b"),
        ]
        assert error.__notes__ == failing(program().entries["f"], 0).__notes__
        assert error.__notes__ == ["in entry 'f', row 0, at lines_of_program.py:11: return ratio(1, k)"]


def test_a_helper_of_another_file_is_named_with_its_file(
    modules: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The translator refuses base classes today, so the helper of this graph is moved to another file by hand."""
    program = program_of(modules["program"])
    other = str(modules["others"].__file__)
    helper = vars(program)["_inverse"]
    first = helper.__code__.co_firstlineno
    moved = helper.__code__.replace(co_filename=other, co_firstlineno=first - 15)
    graph = move(ab.compile(program), range(first, first + 3), other)
    monkeypatch.setattr(helper, "__code__", moved)
    wanted = failing(program().entries["g"], 0)
    assert wanted.__notes__ == ["in entry 'g', row 0, at lines_of_others.py:4: def ratio(a: int, b: int) -> int:"]
    for whole in (False, True):
        app = PythonApp(program(), whole=whole, graph=graph)
        assert failing(app.entries["g"], 0).__notes__ == wanted.__notes__
        assert app.entries["g"](1) == 1


def move(node: Any, lines: range, file: str) -> Any:
    """The same graph, with these lines in another file."""
    if isinstance(node, Span):
        at = node.line - 15, node.column, node.end_line - 15, node.end_column
        return Span(file, *at) if node.line in lines else node
    if isinstance(node, tuple) and not hasattr(node, "_fields"):
        return tuple(move(inner, lines, file) for inner in node)
    if dataclasses.is_dataclass(node) and type(node).__module__.startswith("anabranch.graph"):
        changes = {f.name: move(getattr(node, f.name), lines, file) for f in dataclasses.fields(node)}
        return dataclasses.replace(node, **changes)  # type: ignore[type-var]
    return node


def test_without_a_line_of_the_program_it_is_the_first_of_the_entry(modules: dict[str, ModuleType]) -> None:
    program = program_of(modules["program"])
    code = PythonCode(ab.compile(program), program())
    file, line = code.place("g", ValueError())
    assert (Path(file).name, line) == ("lines_of_program.py", 13)
