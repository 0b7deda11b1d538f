"""Defects of before, put back on purpose: the generator has to make programs that show them.

python -m tests.generator.mistakes --first 0 --seeds 600      # the first seed that catches each, by what features say
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab
from anabranch.frontend import functions
from anabranch.frontend.diagnostics import CompileError
from anabranch.graph.code import Apply, Expr
from anabranch.kernels.native import accesses, running
from anabranch.kernels.native.registers import Value
from anabranch.lang.types import Type
from tests.generator.choices import SeededChoices
from tests.generator.inputs import generate_requests
from tests.generator.plain import loaded, run_plain
from tests.generator.seeds import generate_seed
from tests.soak.everything import Way, compared

Mistake = Callable[[pytest.MonkeyPatch], None]


def remember_the_row_that_lacked_room(patch: pytest.MonkeyPatch) -> None:
    """From batch to batch: what is allocated for results doubles each time."""
    patch.setattr(running.Context, "end_run", lambda self: None)


def lose_the_names_of_arguments(patch: pytest.MonkeyPatch) -> None:
    """Where an empty container gets its type from the parameter of a helper."""

    def filled(value: Expr, declared: Type | None) -> Expr:
        if declared is None or not isinstance(value, Apply):
            return value
        return Apply(value.op, value.args, declared, value.span)

    patch.setattr(functions.expressions, "filled", filled)


def shared(scope: Any, value: Value, frozen: bool = False) -> Value:
    return value


def share_the_default_of_get(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(accesses, "deep_copy", shared)


MISTAKES: tuple[tuple[Mistake, str, str], ...] = (  # with a feature that shows it, and the tier
    (remember_the_row_that_lacked_room, "theme: large batches", "compiled"),
    (lose_the_names_of_arguments, "empty arguments", "python"),
    (share_the_default_of_get, "changed defaults", "compiled"),
)


def caught(seed: int, mistake: Mistake | None, tier: str) -> str | None:
    """How the program of a seed differs from its plain run on one thread; None if it does not."""
    generated = generate_seed(seed)
    requests = generate_requests(SeededChoices(f"inputs of {seed}"), generated)
    with loaded(generated.source) as program, pytest.MonkeyPatch.context() as patch:
        plain = run_plain(program, requests)
        if mistake is not None:
            mistake(patch)
        return compared(program, ab.compile(program), requests, plain, Way(tier, 1, tier), None)


def look_for(mistake: Mistake, feature: str, tier: str, seeds: range) -> tuple[int, int, str] | None:
    """The first seed that catches it, the number of programs that were tried, and what was seen."""
    tried = 0
    for seed in seeds:
        if feature not in generate_seed(seed).features:
            continue
        tried += 1
        try:
            told = caught(seed, mistake, tier)
        except CompileError:
            continue
        if told is not None:
            return seed, tried, told
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.generator.mistakes")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=600)
    options = parser.parse_args()
    seeds, missed = range(options.first, options.first + options.seeds), 0
    for mistake, feature, tier in MISTAKES:
        found = look_for(mistake, feature, tier, seeds)
        missed += found is None
        told = f"not caught by {len(seeds)} seeds" if found is None else "seed {}, after {} programs: {}".format(*found)
        print(f"{mistake.__name__}: {told}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
