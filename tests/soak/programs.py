"""Random programs: plain run against the interpreter of the graph and against worker threads."""

from __future__ import annotations

from collections import Counter
from random import Random

import anabranch as ab
from tests.engines import test_embedded_generated as embedded
from tests.engines import test_generated as sequential
from tests.generator.choices import SeededChoices
from tests.generator.inputs import generate_requests
from tests.generator.plain import loaded
from tests.generator.seeds import generate_seed
from tests.soak.part import CHUNK, Notes, Part, in_chunks
from tests.testing import test_generated as disturbed

WHAT = """Each random program is compiled and run on random requests as a plain class; by the tasks of its graph,
whole and, where grouping does not matter, with three instances; and on one, two and three worker threads, in stages or
fused: results, exceptions and final state must be equal. One in ten programs runs on threads, and
once more with crashes, restarts and other numbers of workers at random moments."""


def soak_programs(first: int, programs: int, jobs: int, notes: Notes) -> Part:
    return in_chunks(Part("Random programs", WHAT), run_chunk, first, programs, jobs, notes)


def run_chunk(first: int) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    failures = []
    for seed in range(first, first + CHUNK):
        generated = generate_seed(seed)
        requests = list(generate_requests(SeededChoices(f"inputs of {seed}"), generated))
        try:
            sequential.check_program(generated, requests)
            if seed % 10 == 0:
                embedded.check_program(generated, requests, Random(seed))
                counts["on worker threads too"] += 1
                counts["crashed, restarted and scaled too"] += disturbed.check_seed(seed, "threads")
            with loaded(generated.source) as program:
                graph = ab.compile(program)
        except ab.CompileError:
            counts["programs refused, with a type to be annotated"] += 1
            continue
        except Exception as error:
            told = str(error).splitlines()[0] if str(error) else ""
            failures.append(f"seed {seed}: {type(error).__name__}: {told}")
            continue
        counts["programs equal in every run"] += 1
        counts["requests"] += len(requests)
        counts["straight entries"] += sum(e.straight for e in graph.entries)
        counts["winding entries"] += sum(not e.straight for e in graph.entries)
        counts["fan-outs"] += sum(f.each and f.over is None for f in graph.flows)
        counts["gathers"] += sum(f.over == "instances" for f in graph.flows)
    return counts, failures
