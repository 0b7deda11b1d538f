"""Random programs in the compiled tier: kernels give what the Python tier and the class give, errors included."""

from __future__ import annotations

from random import Random

import pytest

import anabranch as ab
from anabranch.drivers.callers import Gate
from anabranch.engines.embedded import App
from anabranch.testing.outcomes import Outcome, assert_same
from tests.engines.test_embedded_generated import WAYS
from tests.generator.apps import run_app
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Request, generate_requests
from tests.generator.plain import loaded, run_plain
from tests.generator.programs import GeneratedProgram
from tests.generator.seeds import generate_seed

CHUNKS, SIZE = 12, 5  # programs of which something compiles
FIRST = 70_000  # not those of the other engines


def run_tier(
    program: type[ab.Program], graph: ab.Graph, requests: list[Request], workers: int, tier: str, rng: Random
) -> tuple[Outcome, int]:
    """What the app gives, and how many of its entries have a kernel."""
    gate = Gate(inline_rows=rng.choice((0, 64)))
    with App(program(), workers, True, rng.choice(WAYS), gate, graph, tier) as app:
        fast = sum(app._engine.tiers.is_fast(e.name) for e in graph.entries)
        if tier == "compiled":
            assert fast == sum(app._engine.tiers.fallback(e.name) is None for e in graph.entries), (
                "numba refused a kernel"
            )
        return run_app(app, program, requests), fast


def check_program(generated: GeneratedProgram, requests: list[Request], rng: Random) -> int:
    """How many entries were compiled."""
    with loaded(generated.source) as program:
        graph = ab.compile(program)
        plain = run_plain(program, requests)
        compiled = 0
        for workers, tier in ((1, "compiled"), (1, "python"), (3, "compiled")):
            found, fast = run_tier(program, graph, requests, workers, tier, rng)
            compiled = max(compiled, fast)
            if workers == 1 or "grouping-sensitive" not in generated.features:
                assert_same(plain, found, requests)
        return compiled


def compiles(generated: GeneratedProgram) -> bool:
    from anabranch.kernels.native.code import explain_tiers

    with loaded(generated.source) as program:
        return any(why is None for why in explain_tiers(ab.compile(program)).values())


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int) -> None:
    seed, found = FIRST + 1000 * chunk, 0
    while found < SIZE:
        generated = generate_seed(seed)
        if compiles(generated):
            requests = generate_requests(SeededChoices(f"inputs-{seed}"), generated)
            try:
                assert check_program(generated, requests, Random(seed)), "something compiles, and nothing was compiled"
            except Exception as error:
                error.add_note(f"seed {seed}\n{generated.source}")
                raise
            found += 1
        seed += 1
