"""The command line, as a user starts it."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from anabranch.cli import main
from tests.programs.load import EXAMPLES

BROKEN = EXAMPLES.parent / "tests" / "programs" / "broken" / "float_key.py"


def test_check_of_a_good_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(EXAMPLES / "recommender.py")]) == 0
    assert capsys.readouterr().out == "Recommender: no problems\n"


def test_check_tells_notes_and_still_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(EXAMPLES / "transfer.py")]) == 0
    out = capsys.readouterr().out
    assert "note AB601: 'transfer' is winding: it visits accounts at source and again at target" in out
    assert out.endswith("Bank: 1 note\n")


def test_check_of_a_broken_file_shows_the_line_with_a_caret(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(BROKEN)]) == 1
    out = capsys.readouterr().out
    assert f"{BROKEN}:7:5: error AB203: float cannot be the key of a Table" in out
    assert "    ^^^^" in out


def test_check_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(BROKEN), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    (program,) = told["programs"]
    (diagnostic,) = program["diagnostics"]
    assert diagnostic["code"] == "AB203"
    assert (diagnostic["severity"], diagnostic["line"], diagnostic["column"]) == ("error", 7, 5)
    assert diagnostic["hint"]


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("text", "program WordCount"),
        ("dot", "digraph"),
        ("mermaid", "flowchart"),
        ("svg", "<svg"),
        ("drawing", "WordCount"),
    ],
)
def test_graph_in_every_format(form: str, start: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", str(EXAMPLES / "wordcount.py"), "--format", form]) == 0
    out = capsys.readouterr().out
    assert out.startswith(start)
    if form == "svg":
        ET.fromstring(out)


def test_graph_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", str(EXAMPLES / "wordcount.py"), "--format", "mermaid", "--json"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    assert program["program"] == "WordCount"
    assert program["graph"].startswith("flowchart")


def test_graph_of_a_broken_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", str(BROKEN)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "does not compile: 1 error" in captured.err


def test_one_program_of_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.py"
    one = (
        "class {}(ab.Program):\n    t: ab.Partitioned[ab.Table[int, int]]\n"
        "    def get(self, k: int) -> int:\n        return self.t[k]\n"
    )
    file.write_text("import anabranch as ab\n" + one.format("A") + one.format("B"))
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().out == "A: no problems\nB: no problems\n"
    assert main(["check", str(file), "--program", "B"]) == 0
    assert capsys.readouterr().out == "B: no problems\n"
    assert main(["check", str(file), "--program", "C"]) == 2
    assert "has no program C" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no file"),
        ("x = 1\n", "has no program"),
        ("import nowhere_to_be_found\n", "cannot be imported: ModuleNotFoundError"),
        ("def f(:\n", "cannot be imported: SyntaxError"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    text: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "it.py"
    if text is not None:
        file.write_text(text)
    assert main(["check", str(file)]) == 2
    assert words in capsys.readouterr().err
    assert main(["check", str(file), "--json"]) == 2
    assert words in json.loads(capsys.readouterr().out)["error"]


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "check", str(EXAMPLES / "kvstore.py")], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("no problems\n")


@pytest.mark.parametrize("seconds", ["0", "-1"])
def test_a_demo_without_time_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--seconds", seconds]) == 2
    assert "--seconds is a time above zero" in capsys.readouterr().err
