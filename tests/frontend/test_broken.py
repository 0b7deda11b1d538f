"""Broken programs: each mistake is found at its line, told in full, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from anabranch.frontend.codes import CODES, ERROR
from tests.conftest import Golden
from tests.programs.load import broken, expected_codes, load, program_of

PROGRAMS = broken()


def told(path: Path) -> list[ab.Diagnostic]:
    return ab.check(program_of(load(path)))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_each_mistake_is_found_at_its_line(path: Path) -> None:
    found: dict[int, set[str]] = {}
    for diagnostic in told(path):
        found.setdefault(diagnostic.span.line, set()).add(diagnostic.code)
    assert found == {line: set(codes) for line, codes in expected_codes(path).items()}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_the_words_are_the_golden_ones(path: Path, golden: Golden) -> None:
    text = "\n".join(map(str, told(path))).replace(str(path), path.name)
    golden(Path("broken") / f"{path.stem}.txt", text)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_programs_with_errors_do_not_compile(path: Path) -> None:
    program = program_of(load(path))
    errors = [d for d in told(path) if d.severity == ERROR]
    if errors:
        with pytest.raises(ab.CompileError) as caught:
            ab.compile(program)
        assert [d for d in caught.value.diagnostics if d.severity == ERROR] == errors
        assert all(str(d) in str(caught.value) for d in errors)
    else:
        ab.compile(program)


def test_every_diagnostic_teaches() -> None:
    for path in PROGRAMS:
        for diagnostic in told(path):
            assert diagnostic.message and diagnostic.hint, (path.stem, diagnostic.code)
            assert diagnostic.span.file == str(path)


def test_every_code_is_shown_by_a_program_of_the_corpus() -> None:
    shown = {code for path in PROGRAMS for codes in expected_codes(path).values() for code in codes}
    # No file can show a class without source; AB602 is about tiers, see tests/test_check_tier.py.
    assert shown == set(CODES) - {"AB101", "AB602"}


def test_there_are_many() -> None:
    assert len(PROGRAMS) >= 40
