"""`ab.check(P, tier="compiled")` notes the entries that would run as Python, at the line that is the reason."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.cli import main
from tests.programs.load import EXAMPLES


class Tally:
    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    @ab.writes
    def add(self, key: int) -> None:
        self.counts[key] = self.counts.get(key, 0) + 1


class Mixed(ab.Program):
    sums: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    tally: ab.Partitioned[Tally]

    def __init__(self) -> None:
        self.tally = Tally()

    def compiled(self, key: int) -> int:
        self.sums[key] += 1
        return self.sums[key]

    def direct(self, key: int) -> None:
        self.tally.add(key)

    def one(self, key: int) -> None:
        self._count(key)

    def two(self, key: int) -> None:
        self._count(key)

    def formatted(self, key: int) -> str:
        return f"{self.sums[key]:>10}"

    def _count(self, key: int) -> None:
        self.tally.add(key)


class Several(ab.Program):
    sums: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def shown(self, key: int, x: float) -> str:
        count = f"{self.sums[key]:>10}"
        share = f"{x:.3f}"
        if key > 3:
            share = f"{key:>4}"
        return count + share + "%d" % key  # noqa: UP031 - it is what is tested


class Broken(ab.Program):
    sums: ab.Partitioned[ab.Table[float, int]]

    def add(self, key: float) -> None:
        self.sums[key] = 1


HERE = Path(__file__)
LINES = HERE.read_text(encoding="utf-8").splitlines()


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(LINES, 1) if text in line)


def test_each_entry_that_runs_as_python_has_a_note_at_its_line() -> None:
    notes = {d.message: d for d in ab.check(Mixed, tier="compiled")}
    own = "tally is of an own state type, Tally"
    direct = notes.pop(f"'direct' runs as Python: {own}")
    assert (direct.code, direct.severity, direct.span.file) == ("AB602", "note", str(HERE))
    assert direct.span.line == line_of("def direct") + 1
    assert direct.hint == (
        "it runs right, but slower: to have it compiled, keep this in a Table, Vector, Matrix or Value of numbers, "
        "text, tuples, records or lists"
    )
    assert "^" in str(direct) and "self.tally.add(key)" in str(direct)
    formatted = notes.pop("'formatted' runs as Python: text is formatted by a specification")
    assert formatted.span.line == line_of("def formatted") + 1
    assert "simpler means" in formatted.hint
    assert all(name in "\n".join(notes) for name in ("'one'", "'two'")), "what is in a helper is told of each"
    assert "'compiled'" not in "\n".join(notes)


def test_the_notes_are_in_the_order_of_the_file_among_all_others() -> None:
    found = ab.check(Mixed, tier="compiled")
    assert found == sorted(found, key=lambda d: (d.span, d.code))
    assert [d for d in found if d.code != "AB602"] == ab.check(Mixed)


def test_without_a_tier_nothing_is_said_of_it() -> None:
    assert "AB602" not in [d.code for d in ab.check(Mixed)]
    assert ab.check(Mixed, tier=None) == ab.check(Mixed())


def test_a_program_that_does_not_compile_has_its_errors_alone() -> None:
    assert ab.check(Broken, tier="compiled") == ab.check(Broken) != []


@pytest.mark.parametrize("tier", ["python", "auto", "native", "", 1])
def test_another_tier_is_refused(tier: str) -> None:
    with pytest.raises(ValueError, match="tier is 'compiled' or None, got"):
        ab.check(Mixed, tier=tier)


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(HERE), "--program", "Mixed", "--tier", "compiled"]) == 0
    out = capsys.readouterr().out
    assert f"{HERE}:{line_of('def direct') + 1}:9: note AB602: 'direct' runs as Python" in out
    assert out.splitlines()[-1].startswith("Mixed: ") and out.rstrip().endswith("notes")
    assert main(["check", str(HERE), "--program", "Mixed"]) == 0
    assert "AB602" not in capsys.readouterr().out


def test_the_command_tells_it_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(HERE), "--program", "Mixed", "--tier", "compiled", "--json"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    told = [d for d in program["diagnostics"] if d["code"] == "AB602"]
    assert {d["severity"] for d in told} == {"note"} and all(d["hint"] for d in told)
    assert line_of("def formatted") + 1 in [d["line"] for d in told]


def test_an_example_that_compiles_has_nothing_to_tell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(EXAMPLES / "wordcount.py"), "--tier", "compiled"]) == 0
    assert capsys.readouterr().out == "WordCount: no problems\n"


def test_another_tier_is_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", str(HERE), "--tier", "python"])
    assert "invalid choice: 'python'" in capsys.readouterr().err


def test_numba_is_loaded_by_those_who_ask_only() -> None:
    script = (
        "import sys, anabranch as ab\nfrom tests.test_check_tier import Mixed\nab.check(Mixed)\n"
        "assert 'numba' not in sys.modules\nab.check(Mixed, tier='compiled')\nassert 'numba' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=HERE.parent.parent)


def test_all_reasons_of_an_entry_are_told_at_once() -> None:
    start = line_of("def shown")
    formatted, percent = "text is formatted by a specification", "str % int is not in the kernels' table"
    reasons = [(start + 1, formatted), (start + 2, formatted), (start + 4, formatted), (start + 5, percent)]
    notes = ab.check(Several, tier="compiled")
    assert [(d.span.line, d.message) for d in notes] == [
        (line, f"'shown' runs as Python: {why}") for line, why in reasons
    ]
    with ab.run(Several(), workers=1) as app:
        told = app.explain().to_dict()["entries"]["shown"]["tasks"]["shown.1"]
    assert told["tier"] == "python"
    assert told["why"] == "; ".join(f"{why}, {HERE.name}:{line}" for line, why in reasons)
