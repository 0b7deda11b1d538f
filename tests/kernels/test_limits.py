"""Limited code does what the code does while its allowance lasts, and ends whatever it runs on."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.kernels.allowance import LARGEST, Allowance, Spent
from anabranch.testing.outcomes import state_contents
from tests.generator.choices import SeededChoices
from tests.generator.inputs import generate_requests
from tests.generator.plain import answer, loaded, run_plain
from tests.generator.seeds import generate_seed
from tests.kernels.harness import PythonApp
from tests.kernels.test_corpus import PROGRAMS, outcome
from tests.programs.load import load, program_of

TURNS = 10_000


def plenty() -> Allowance:
    allowance = Allowance()
    allowance.grant(1 << 60)
    return allowance


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_the_corpus_is_the_plain_run(path: Path) -> None:
    module = load(path)
    program = program_of(module)
    plain, app = program(), PythonApp(program(), whole=True, allowance=plenty())
    for name, args in module.CALLS:
        assert outcome(app.entries[name], args) == outcome(plain.entries[name], args), (name, args)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_are_the_plain_run(seed: int) -> None:
    generated = generate_seed(seed)
    requests = list(generate_requests(SeededChoices(f"inputs of {seed}"), generated))
    with loaded(generated.source) as program:
        plain = run_plain(program, requests)
        for whole in (True, False):
            app = PythonApp(program(), 1, whole, allowance=plenty())
            assert tuple(answer(program, app, request) for request in requests) == plain.answers
            assert {name: state_contents(parts[0]) for name, parts in app.store.parts.items()} == plain.states


class Counter:
    """A state type of a user whose method loops."""

    def __init__(self) -> None:
        self.n = 0

    @ab.reads
    def until(self, step: int) -> int:
        n = 1
        while n > 0:
            n -= step
        return n


@ab.pure
def collatz(n: int) -> int:
    turns = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        turns += 1
    return turns


class Endless(ab.Program):
    """Each entry ends for the n of a plain run, and not for `ENDLESS[its name]`, or not with the memory there is."""

    seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    counter: ab.Partial[Counter]

    def test_of_while(self, n: int) -> int:
        left = 10
        while left > 0:
            left -= n
        return left

    def while_with_continue(self, n: int) -> int:
        left = 10
        while True:
            if left > 0:
                left -= n
                continue
            break
        return left

    def while_of_helper(self, n: int) -> int:
        return self._down(10, n)

    def _down(self, left: int, n: int) -> int:
        while left > 0:
            left -= n
        return left

    def long_for(self, n: int) -> int:
        total = 0
        for i in range(n):
            for j in range(n):
                total += i * j % 7
        return total

    def list_of_range(self, n: int) -> int:
        return len(list(range(n)))

    def sum_of_comprehension(self, n: int) -> int:
        return sum([i * j % 7 for i in range(n) for j in range(n)])

    def sum_of_generator(self, n: int) -> int:
        return sum(i * j % 7 for i in range(n) for j in range(n))

    def list_times(self, n: int) -> int:
        return len([0] * n)

    def text_times(self, n: int) -> int:
        return len("ab" * n)

    def power(self, n: int) -> int:
        return int(3**n) % 7

    def power_of_power(self, n: int) -> int:
        x = 3
        for _ in range(n):
            x = x * x
        return x % 7

    def shift(self, n: int) -> int:
        return (1 << n) % 7

    def factorial(self, n: int) -> int:
        return math.factorial(n) % 7

    def padded(self, n: int) -> int:
        return len("a".ljust(n))

    def width(self, n: int) -> int:
        return len(f"{n:>{n}}")

    def text_doubled(self, n: int) -> int:
        text = "a"
        for _ in range(n):
            text = text + text
        return len(text)

    def text_shown_twice(self, n: int) -> int:
        text = "a"
        for _ in range(n):
            text = f"{text}{text}"
        return len(text)

    def text_replaced(self, n: int) -> int:
        text = "a"
        for _ in range(n):
            text = text.replace("a", "aa")
        return len(text)

    def list_extended(self, n: int) -> int:
        xs = [1]
        for _ in range(n):
            xs.extend(list(xs))
        return len(xs)

    def pure(self, n: int) -> int:
        return collatz(n)

    def own_state(self, n: int) -> int:
        return ab.local(self.counter.until(n))


ENDLESS = {
    **dict.fromkeys(("test_of_while", "while_with_continue", "while_of_helper", "pure", "own_state"), 0),
    **dict.fromkeys(("list_of_range", "list_times", "text_times", "power", "shift", "padded", "width"), 10**10),
    **dict.fromkeys(("long_for", "sum_of_comprehension", "sum_of_generator"), 10**5),
    **dict.fromkeys(("power_of_power", "text_doubled", "text_shown_twice", "text_replaced", "list_extended"), 200),
    "factorial": 10**10,
}


@pytest.fixture(scope="module")
def limited() -> tuple[PythonApp, Allowance]:
    allowance = Allowance()
    return PythonApp(Endless(), whole=True, allowance=allowance), allowance


@pytest.mark.parametrize("entry", ENDLESS)
def test_code_ends_when_the_allowance_is_spent(limited: tuple[PythonApp, Allowance], entry: str) -> None:
    app, allowance = limited
    allowance.grant(TURNS)
    assert app.entries[entry](1) == Endless().entries[entry](1)
    with pytest.raises(Spent):
        app.entries[entry](ENDLESS[entry])


def test_every_entry_is_tried() -> None:
    assert sorted(ENDLESS) == sorted(Endless().entries)


def test_an_allowance_is_granted_anew(limited: tuple[PythonApp, Allowance]) -> None:
    app, allowance = limited
    for _ in range(3):
        allowance.grant(5)
        with pytest.raises(Spent):
            app.test_of_while(1)
        allowance.grant(TURNS)
        assert app.test_of_while(1) == 0


def test_what_is_large_but_fits_is_made(limited: tuple[PythonApp, Allowance]) -> None:
    app, allowance = limited
    allowance.grant(TURNS)
    assert app.list_times(LARGEST) == LARGEST


def test_a_trace_function_that_was_set_is_set_again(limited: tuple[PythonApp, Allowance]) -> None:
    seen: list[Any] = []
    before = sys.gettrace()
    sys.settrace(lambda *args: seen.append(args))
    try:
        with pytest.raises(Spent):
            limited[0].pure(0)
        assert sys.gettrace() is not None
    finally:
        sys.settrace(before)
