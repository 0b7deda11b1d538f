"""Every example runs, shows what it says it shows, and has the same form."""

from __future__ import annotations

import ast
import doctest
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs.load import EXAMPLES, load

FILES = sorted(EXAMPLES.glob("*.py"))
ON_SPARK = {"spark_failover"}  # whose main is run by tests/spark/test_examples.py
HERE = [file for file in FILES if file.stem not in ON_SPARK]


@pytest.mark.parametrize("file", HERE, ids=lambda file: file.stem)
def test_the_output_is_what_the_docstring_says(file: Path) -> None:
    main = load(file).main
    (shown,) = doctest.DocTestFinder(recurse=False).find(main, "main", globs={"main": main})
    (example,) = shown.examples
    assert example.source == "main()\n" and example.want.strip()
    report: list[str] = []
    runner = doctest.DocTestRunner()
    runner.run(shown, out=report.append)
    assert runner.tries == 1 and not runner.failures, "".join(report)


def test_an_example_is_a_script() -> None:
    file = EXAMPLES / "kvstore.py"
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("key 7 holds 49")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_have_one_form(file: Path) -> None:
    """What it is; what it shows; how to run it; the program; main; what the tests call; the script."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    text = ast.get_docstring(tree) or ""
    assert "\n\nShows: " in text
    assert f"\n    python examples/{file.name}\n" in f"{text}\n"
    names = [n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    assert names[-1] == "main"
    kinds = [type(node).__name__ for node in tree.body[-2:]]
    assert kinds == ["AnnAssign", "If"], "CALLS and the script come last"
