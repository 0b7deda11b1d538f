"""Whatever Python a class holds, `check` and `compile` answer with diagnostics: no internal error, no hang."""

from __future__ import annotations

import random
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
from hypothesis import settings

import anabranch as ab
from tests.frontend.mutate import mutant, programs_in
from tests.generator.choices import SeededChoices

# Four for each example of hypothesis' profile: the same 400 on every run, or 20,000 new ones with
# --hypothesis-profile=soak. There is nothing to shrink, so hypothesis itself is not asked.
COUNT = 4 * settings().max_examples
FIRST = 0 if settings().derandomize else random.SystemRandom().randrange(2**40)
BLOCKS = 8
SECONDS = 20  # for one program; the slowest take a fraction of one


class TooLong(BaseException):
    """Not an Exception, so that nothing on the way takes it for one of the program's."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooLong(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def translate(program: type[ab.Program]) -> None:
    """All that a user may ask for: the findings, their text, the graph or the error."""
    findings = ab.check(program)
    assert all(str(finding) for finding in findings)
    graph, refusal = None, ""
    try:
        graph = ab.compile(program)
    except ab.CompileError as error:
        refusal = str(error)
    if any(finding.severity == "error" for finding in findings):
        assert graph is None and refusal, "check finds errors and compile does not"
    else:
        assert isinstance(graph, ab.Graph), f"check finds no errors, compile says {refusal}"


def story_of(seed: int) -> str | None:
    """What went wrong with the mutant of a seed; None if nothing did, or if its class cannot be created."""
    source = mutant(SeededChoices(seed))
    if source is None:
        return None
    created = False
    try:
        with at_most(SECONDS), programs_in(source) as programs:
            created = True
            for program in programs:
                translate(program)
    except (Exception, TooLong):
        if created:
            return f"mutant(SeededChoices({seed})):\n\n{source}\n{traceback.format_exc(limit=-6)}"
    return None


@pytest.mark.parametrize("block", range(BLOCKS))
def test_mutants_are_translated_or_refused(block: int) -> None:
    stories = [story for seed in range(FIRST + block, FIRST + COUNT, BLOCKS) if (story := story_of(seed)) is not None]
    assert not stories, f"{len(stories)} mutants broke the translator; the first is {stories[0]}"


def test_most_mutants_reach_the_translator() -> None:
    """A mutator that breaks every class, or none, tests nothing."""
    reached = failed = 0
    for seed in range(60):
        source = mutant(SeededChoices(seed))
        try:
            with programs_in(source or "") as programs:
                reached += bool(programs)
                failed += any(d.severity == "error" for p in programs for d in ab.check(p))
        except Exception:
            continue
    assert reached > 40 and 20 < failed < reached
    assert [mutant(SeededChoices(seed)) for seed in range(5)] == [mutant(SeededChoices(seed)) for seed in range(5)]
