"""One mistake gives one diagnostic, at its line: what follows from it is not told."""

from __future__ import annotations

import ast
import difflib
from itertools import islice

import pytest
from hypothesis import settings

import anabranch as ab
from tests.frontend.mutate import mutate, programs_in
from tests.frontend.plant import KINDS, Planted, planted
from tests.generator.choices import SeededChoices
from tests.programs.load import good

SOURCES = [path.read_text(encoding="utf-8") for path in good()]
STEP = 8 if settings().derandomize else 1  # with --hypothesis-profile=soak every place
# These may be no mistake at all, and where they are, more than one place can be called wrong: a value of the wrong type
# is used in several ways, one that may be None reaches several functions.
SEVERAL = {
    "deleted_assignments": 2,
    "deleted_guards": 3,
    "extra_arguments": 2,
    "missing_arguments": 3,
    "wrong_constants": 3,
}
RARE = ("unknown_annotations", "deleted_guards")
ANNOTATIONS = ("unknown_parameter_types", "unknown_result_types", "unknown_state_types", "unknown_annotations")


def told(source: str) -> list[ab.Diagnostic]:
    with programs_in(source) as programs:
        return [d for program in programs for d in ab.check(program) if d.severity != "note"]


def places(kind: str) -> list[Planted]:
    """Every eighth place of the corpus, from another one on in each program."""
    found = []
    step = 1 if kind in RARE else STEP
    for number, source in enumerate(SOURCES):
        if kind in ANNOTATIONS and "from __future__ import annotations" not in source:
            source = "from __future__ import annotations\n" + source
        found += list(islice(planted(source, kind), number % step, None, step))
    return found


def works(source: str) -> bool:
    """Some mistakes are ones of Python, and no class comes of them."""
    try:
        with programs_in(source):
            return True
    except Exception:  # whatever the text of a mutant raises
        return False


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in SEVERAL])
def test_a_mistake_is_told_once_where_it_is(kind: str) -> None:
    found = places(kind)
    assert found
    for source, line in found:
        diagnostics = told(source)
        assert [d.span.line for d in diagnostics] == [line], (source.splitlines()[line - 1], *map(str, diagnostics))


@pytest.mark.parametrize("kind", SEVERAL)
def test_a_mistake_that_shows_in_several_places_is_told_a_few_times(kind: str) -> None:
    found = places(kind)
    assert found
    for source, line in found:
        diagnostics = told(source)
        assert len(diagnostics) <= SEVERAL[kind], (source.splitlines()[line - 1], *map(str, diagnostics))


def changed_lines(before: str, after: str) -> set[int]:
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return {
        line + 1
        for tag, _, _, start, end in matcher.get_opcodes()
        if tag != "equal"
        for line in range(start, max(end, start + 1))
    }


def test_a_changed_program_is_told_about_its_change() -> None:
    """Of random changes: what is told stands where the change is, or follows from it in one or two other places."""
    refused = followed = 0
    for seed in range(200 if STEP > 1 else 5_000):
        choices = SeededChoices(seed)
        source = choices.choose(SOURCES)
        text = mutate(choices, source)
        if text is None or not works(text):
            continue
        errors = [d for d in told(text) if d.severity == "error"]
        changed = changed_lines(ast.unparse(ast.parse(source)), text)
        elsewhere = [d for d in errors if d.span.line not in changed]
        refused += bool(errors)
        followed += len(elsewhere) > 1
        assert len(elsewhere) <= 12, (seed, *map(str, elsewhere))
        told_twice = {(d.code, d.message, d.span) for d in errors}
        assert len(told_twice) == len(errors), seed
    assert refused > 80 and followed < refused / 10
