"""The reference names all that is public, and the docstrings say something of each of it."""

from __future__ import annotations

import ast
import doctest
import inspect
from itertools import pairwise
from pathlib import Path

import pytest

import anabranch as ab
from anabranch import testing
from tests.programs.load import load

ROOT = Path(__file__).resolve().parent.parent
reference = load(ROOT / "docs" / "making" / "reference.py")
PAGE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
SECTIONS = dict(reference.sections(PAGE))
TOLD = [name for title, names in SECTIONS.items() if title != reference.RESERVED for name in names]


def test_the_page_names_all_that_is_public_once() -> None:
    public = {f"ab.{name}" for name in dir(ab) if not name.startswith("_")}
    public |= {f"testing.{name}" for name in dir(testing)}
    public |= {name for name in reference.PLACES if "." not in name}
    named = [name for names in SECTIONS.values() for name in names]
    assert sorted(named) == sorted(public)


@pytest.mark.parametrize("name", TOLD)
def test_what_is_public_has_a_docstring(name: str) -> None:
    found = reference.object_of(name)
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        assert under_assignment(reference.path_of(name)), f"{name} has no text under it"
        return
    own = vars(found).get("__doc__") if inspect.isclass(found) else found.__doc__
    assert own and not own.startswith(f"{found.__name__}("), f"{name} has no docstring"  # dataclasses make one
    silent = [member for member in reference.members_of(name) if not inspect.getdoc(getattr(found, member))]
    assert not silent, f"{name} has members without a docstring: {silent}"


def under_assignment(path: str) -> str:
    """The text under the assignment of a module's name."""
    module, _, name = path.rpartition(".")
    body = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")).body
    for statement, following in pairwise(body):
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            return str(ast.literal_eval(following.value)) if isinstance(following, ast.Expr) else ""
    return ""


def test_the_docstring_of_run_tells_all_options() -> None:
    told = inspect.getdoc(ab.run) or ""
    options = [name for name in inspect.signature(ab.run).parameters if name != "program"]
    assert [name for name in options if f"- `{name}`: " not in told] == []


def test_members_that_are_ours_exist() -> None:
    for name, members in reference.OURS.items():
        assert [member for member in members if not hasattr(reference.object_of(name), member)] == []


def test_its_own_examples_run() -> None:
    assert doctest.testmod(reference).failed == 0
