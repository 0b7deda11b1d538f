"""Whatever Python a class holds, `check` and `compile` answer with diagnostics: no internal error, no hang."""

from __future__ import annotations

import random
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import NamedTuple

import pytest
from hypothesis import settings

import anabranch as ab
from anabranch.frontend.codes import ERROR
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


class Tried(NamedTuple):
    """What became of a mutant: how many of its programs were created and refused, and what went wrong."""

    created: int = 0
    refused: int = 0
    story: str | None = None


def is_refused(program: type[ab.Program], compiled: bool) -> bool:
    """What a user may ask for: the findings and their text, or the graph. Each costs a translation, so one is asked.

    That `compile` refuses just what `check` finds errors in is for test_broken.py.
    """
    if compiled:
        try:
            assert isinstance(ab.compile(program), ab.Graph)
        except ab.CompileError:  # holds the text of its findings, made already
            return True
        return False
    findings = ab.check(program)
    assert all(str(finding) for finding in findings)
    return any(finding.severity == ERROR for finding in findings)


@cache
def tried(seed: int) -> Tried:
    source = mutant(SeededChoices(seed))
    if source is None:
        return Tried()
    created = False
    try:
        with at_most(SECONDS), programs_in(source) as programs:
            created = True
            return Tried(len(programs), sum(is_refused(p, compiled=seed % 2 == 0) for p in programs))
    except (Exception, TooLong):
        if not created:
            return Tried()
        return Tried(story=f"mutant(SeededChoices({seed})):\n\n{source}\n{traceback.format_exc(limit=-6)}")


@pytest.mark.parametrize("block", range(BLOCKS))
def test_mutants_are_translated_or_refused(block: int) -> None:
    stories = [s for seed in range(FIRST + block, FIRST + COUNT, BLOCKS) if (s := tried(seed).story) is not None]
    assert not stories, f"{len(stories)} mutants broke the translator; the first is {stories[0]}"


def test_most_mutants_reach_the_translator() -> None:
    """A mutator that breaks every class, or none, tests nothing."""
    some = [tried(seed) for seed in range(60)]
    created, refused = sum(t.created > 0 for t in some), sum(t.refused > 0 for t in some)
    assert created > 40 and 20 < refused < created


def test_the_same_choices_give_the_same_mutant() -> None:
    assert [mutant(SeededChoices(seed)) for seed in range(5)] == [mutant(SeededChoices(seed)) for seed in range(5)]
