"""The generator: programs are valid and quick, cover the language, and are a function of the choices alone."""

from __future__ import annotations

import ast
import math
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.testing.outcomes import Failure, canonical, state_contents
from tests.generator.batches import FORMS
from tests.generator.choices import SeededChoices
from tests.generator.features import FEATURES
from tests.generator.inputs import LENGTHS, REPEATS, Batch, Call, generate_calls, generate_requests, requests_of
from tests.generator.plain import answer, arguments, load, loaded, rows, run_plain, states_of
from tests.generator.programs import GeneratedProgram, generate, programs
from tests.generator.seeds import first_try, generate_seed, is_legal
from tests.generator.themes import THEMES

# What generated programs may raise; anything else, such as TypeError or NameError, is a fault of the generator.
INTENDED = {
    "AssertionError",
    "BadInput",
    "IndexError",
    "KeyError",
    "LookupError",
    "OverflowError",
    "RuntimeError",
    "UnicodeDecodeError",
    "ValueError",
    "ZeroDivisionError",
}
SEEDS = range(300)


def assert_intended(program: GeneratedProgram, requests: list[Call | Batch]) -> None:
    with loaded(program.source) as cls:
        outcome = run_plain(cls, requests)
        for request, answer in zip(requests, outcome.answers, strict=True):
            if isinstance(answer, Failure):
                assert answer.error in INTENDED, f"{request}: {answer}\n{program.source}"
                assert "raises" in program.features, f"{request}: {answer}\n{program.source}"
        assert run_plain(cls, requests) == outcome, "a run differs from the run before"


@settings(max_examples=200)
@given(st.data())
def test_programs_run_as_plain_python(data: st.DataObject) -> None:
    program = data.draw(programs())
    assert_intended(program, data.draw(requests_of(program)))


@pytest.mark.parametrize("start", range(0, len(SEEDS), 50))
def test_seeds_run_as_plain_python(start: int) -> None:
    for seed in SEEDS[start : start + 50]:
        program = generate_seed(seed)
        assert_intended(program, list(generate_requests(SeededChoices(f"inputs {seed}"), program)))


def test_first_tries_obey_the_rules_but_for_one_in_fifty() -> None:
    """What the generator takes for legal and `check` refuses is often a rule that is stricter than it need be."""
    refused = [seed for seed in SEEDS if not is_legal(first_try(seed))]
    assert len(refused) <= len(SEEDS) // 50, f"refused: {refused}"


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    """How many of 600 programs have a feature."""
    return Counter(feature for seed in range(600) for feature in generate_seed(seed).features)


def test_every_feature_appears(counts: Counter[str]) -> None:
    assert set(counts) <= set(FEATURES), f"not described in features.py: {set(counts) - set(FEATURES)}"
    rare = {feature: counts[feature] for feature in FEATURES if counts[feature] < 3}
    assert not rare, f"features that hardly appear in 600 programs: {rare}"


def test_what_a_theme_is_for_appears_often(counts: Counter[str]) -> None:
    """Of 600 programs so many have the theme, and use what it brings."""
    for theme, (percent, _) in THEMES.items():
        assert 4 * percent < counts[f"theme: {theme}"] < 8 * percent, theme
    wanted = {"bytes": 15, "times": 15, "nested containers": 15, "odd texts": 30, "format specifications": 12}
    wanted |= {"lone surrogates": 20, "empty arguments": 20, "arguments by name": 40, "pure functions": 25, "Own": 15}
    wanted |= {"changed defaults": 25, "changed after storing": 8, "changed arguments of entries": 12}
    wanted |= {"changed arguments of helpers": 6, "second names": 40, "patterns": 25, "state loops": 20}
    rare = {feature: counts[feature] for feature, least in wanted.items() if counts[feature] < least}
    assert not rare, f"features that are too rare in 600 programs: {rare}"


def test_batches_come_in_every_form_and_many_lengths() -> None:
    forms, lengths, repeated = Counter[str](), Counter[int](), 0
    for seed in range(600):
        program = generate_seed(seed)
        requests = generate_requests(SeededChoices(f"inputs of {seed}"), program)
        batches = [request for request in requests if isinstance(request, Batch)]
        forms.update(batch.form for batch in set(batches))
        lengths.update(len(batch.all_rows) for batch in set(batches))
        repeated += len(batches) > REPEATS
    assert min(forms[form] for form in ("rows", *FORMS)) >= 5, forms
    assert min(lengths[length] for length in (0, 1, *LENGTHS)) >= 2, lengths
    assert repeated > 15


def test_partial_state_is_often_free_of_grouping() -> None:
    """Engines with several instances are compared with plain runs on these programs."""
    programs = [generate_seed(seed) for seed in SEEDS]
    partial = [p for p in programs if "partial" in p.features]
    assert sum("grouping-sensitive" not in p.features for p in partial) > len(partial) / 4


def test_both_requests_and_failures_appear() -> None:
    answers: Counter[str] = Counter()
    for seed in SEEDS[:150]:
        program = generate_seed(seed)
        with loaded(program.source) as cls:
            outcome = run_plain(cls, generate_calls(SeededChoices(seed), program))
        answers.update(a.error if isinstance(a, Failure) else "result" for a in outcome.answers)
    assert answers["result"] > sum(answers.values()) / 2
    assert {"KeyError", "ZeroDivisionError"} <= set(answers)


def test_equal_seeds_give_equal_programs_and_calls() -> None:
    for seed in SEEDS[:30]:
        first, second = generate_seed(seed), generate_seed(seed)
        assert first == second
        assert generate_calls(SeededChoices(1), first) == generate_calls(SeededChoices(1), second)
    assert len({generate_seed(seed).source for seed in SEEDS}) > 0.95 * len(SEEDS)


def test_the_simplest_choices_give_a_small_program() -> None:
    class Simplest(SeededChoices):
        def integer(self, low: int, high: int) -> int:
            return low

    program = generate(Simplest(0))
    assert len(program.source.splitlines()) <= 10
    assert len(program.entries) == 1
    load(program.source)


def test_generating_is_quick() -> None:
    """Measured in time of this process alone, whatever else the machine does."""
    times = []
    for start in range(0, 100, 10):
        began = time.process_time()
        for seed in range(start, start + 10):
            generate_seed(seed)
        times.append((time.process_time() - began) / 10)
    assert sorted(times)[5] < 0.02


def test_sources_are_modules_with_the_entries_they_name() -> None:
    for seed in SEEDS[:50]:
        program = generate_seed(seed)
        methods = {n.name for n in ast.walk(ast.parse(program.source)) if isinstance(n, ast.FunctionDef)}
        assert {e.name for e in program.entries} <= methods
        with loaded(program.source) as cls:
            assert set(cls().entries) == {e.name for e in program.entries}


def test_forms_of_batches_give_what_rows_give() -> None:
    """Whatever rows are handed over as, a plain run fails alike and leaves the same state; results are not compared."""
    compared: Counter[str] = Counter()
    for seed in range(60):
        program = generate_seed(seed)
        choices = SeededChoices(f"forms {seed}")
        requests = [r for r in generate_requests(choices, program, 20) if isinstance(r, Batch)]
        with loaded(program.source) as cls:
            for form in FORMS:
                one, other = cls(), cls()
                for request in requests[:2]:
                    wanted = answer(cls, one, replace(request, form="rows"))
                    found = answer(cls, other, replace(request, form=form))
                    if isinstance(wanted, Failure):
                        assert isinstance(found, Failure), f"{seed} {request} as {form}"
                        assert found.error == wanted.error, f"{seed} {request} as {form}"
                    compared[form] += 1
                same = {name: state_contents(s) for name, s in states_of(one).items()}
                assert {name: state_contents(s) for name, s in states_of(other).items()} == same, f"{seed} {form}"
    assert min(compared.values()) > 20


# Comparing


def test_canonical_values_are_equal_bit_by_bit() -> None:
    assert canonical(0.0) != canonical(-0.0)
    assert canonical(math.nan) == canonical(-math.nan)
    assert len({canonical(1), canonical(1.0), canonical(True), canonical("1")}) == 4
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})
    assert canonical([1, 2]) != canonical((1, 2)) != canonical([2, 1])
    assert canonical(ab.Vector({2: 1.0, 1: 0.5})) == canonical(ab.Vector({1: 0.5, 2: 1.0}))
    assert canonical(ab.DenseVector([0.0])) != canonical(ab.DenseVector([-0.0]))


def test_state_contents_do_not_depend_on_order() -> None:
    assert state_contents(ab.Table({"a": 1.0, "b": 2.0})) == state_contents(ab.Table({"b": 2.0, "a": 1.0}))
    assert state_contents(ab.Table({1: 0.0})) != state_contents(ab.Table({1: -0.0}))
    assert state_contents(ab.Matrix({(1, 2): 3.0})) != state_contents(ab.Matrix({(2, 1): 3.0}))
    assert state_contents(ab.Value([1])) == state_contents(ab.Value([1]))


def test_arguments_are_of_the_module() -> None:
    source = "from typing import NamedTuple\nimport anabranch as ab\n\n\nclass Point(NamedTuple):\n    a: int\n\n\n"
    source += "class P(ab.Program):\n    def f(self, p: Point) -> int:\n        return p.a\n"
    with loaded(source) as cls:
        assert arguments(cls, Call("f", ("Point(3)",)))[0].a == 3
        assert rows(cls, Batch("f", (("Point(1)",), ("Point(2)",))))[1].a == 2
        outcome = run_plain(cls, [Call("f", ("Point(3)",)), Batch("f", (("Point(1)",), ("Point(2)",)))])
    assert [a.value for a in outcome.answers if not isinstance(a, Failure)] == [canonical(3), canonical([1, 2])]
