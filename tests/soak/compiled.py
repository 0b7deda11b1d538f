"""Random programs of which something compiles: kernels against the Python tier and the plain class."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.engines.test_compiled_generated import check_program, compiles
from tests.generator.choices import SeededChoices
from tests.generator.inputs import generate_requests
from tests.generator.seeds import generate_seed
from tests.soak.part import Notes, Part, in_chunks

WHAT = """Each random program of which at least one entry compiles runs on random requests as a plain class; on one
worker as kernels and as Python; and on three workers as kernels, fused or in stages: results, exceptions and final
state must be equal, and equal the replay of what the app says it did."""


CHUNK = 20  # a minute or two


def soak_compiled(first: int, programs: int, jobs: int, notes: Notes) -> Part:
    return in_chunks(Part("Compiled programs", WHAT), run_chunk, first, programs, jobs, notes, CHUNK)


def run_chunk(first: int) -> tuple[Counter[str], list[str]]:
    """As many programs as a chunk has numbers, from seeds that no other chunk uses."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    seed = first * 1000
    while counts["programs compiled and equal"] + len(failures) < CHUNK:
        seed += 1
        generated = generate_seed(seed)
        if not compiles(generated):
            counts["programs passed over: nothing compiles"] += 1
            continue
        requests = list(generate_requests(SeededChoices(f"inputs-{seed}"), generated))
        try:
            counts["entries compiled"] += check_program(generated, requests, Random(seed))
        except Exception as error:
            told = str(error).splitlines()[0] if str(error) else ""
            failures.append(f"seed {seed}: {type(error).__name__}: {told}")
            continue
        counts["programs compiled and equal"] += 1
        counts["requests"] += len(requests)
    return counts, failures
