"""Random programs without end: plain run against the interpreter of the graph, on all cores.

    python -m tests.soak --programs 20000 [--first 0] [--jobs N] [--report docs/soak.md] [--json]

Every program is one seed; a failing one is printed with the command that shows it. The report says what was run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import anabranch as ab
from tests.engines.test_generated import check_program
from tests.generator.choices import SeededChoices
from tests.generator.inputs import generate_requests
from tests.generator.plain import loaded
from tests.generator.programs import generate_seed

CHUNK = 100


@dataclass
class Tally:
    programs: int = 0
    requests: int = 0
    straight: int = 0
    winding: int = 0
    fan_outs: int = 0
    gathers: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.programs += other.programs
        self.requests += other.requests
        self.straight += other.straight
        self.winding += other.winding
        self.fan_outs += other.fan_outs
        self.gathers += other.gathers
        self.failures += other.failures


def run_chunk(first: int) -> Tally:
    tally = Tally()
    for seed in range(first, first + CHUNK):
        generated = generate_seed(seed)
        requests = list(generate_requests(SeededChoices(f"inputs of {seed}"), generated))
        try:
            check_program(generated, requests)
            with loaded(generated.source) as program:
                graph = ab.compile(program)
        except Exception as error:
            told = str(error).splitlines()[0] if str(error) else ""
            tally.failures.append(f"seed {seed}: {type(error).__name__}: {told}")
            continue
        tally.programs += 1
        tally.requests += len(requests)
        tally.straight += sum(e.straight for e in graph.entries)
        tally.winding += sum(not e.straight for e in graph.entries)
        tally.fan_outs += sum(f.each and f.over is None for f in graph.flows)
        tally.gathers += sum(f.over == "instances" for f in graph.flows)
    return tally


def report(tally: Tally, options: argparse.Namespace, seconds: float) -> str:
    version = f"Python {platform.python_version()}, {os.cpu_count()} cores, anabranch {ab.__version__}"
    lines = [
        "# The last soak",
        "",
        f"`python -m tests.soak --first {options.first} --programs {options.programs}` ({version}).",
        "",
        "Each random program is compiled and run on random requests as a plain class, by the tasks of its graph, whole",
        "and, where grouping does not matter, with three instances: results, exceptions and final state must be equal.",
        "",
        "| what | how many |",
        "|---|---|",
        f"| programs equal in every run | {tally.programs:,} |",
        f"| requests | {tally.requests:,} |",
        f"| straight entries | {tally.straight:,} |",
        f"| winding entries | {tally.winding:,} |",
        f"| fan-outs | {tally.fan_outs:,} |",
        f"| gathers | {tally.gathers:,} |",
        f"| failures | {len(tally.failures):,} |",
        f"| minutes | {seconds / 60:.0f} |",
    ]
    return "\n".join([*lines, *(f"- {f}" for f in tally.failures)]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    start, total = time.monotonic(), Tally()
    chunks = range(options.first, options.first + options.programs, CHUNK)
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for done, tally in enumerate(pool.imap_unordered(run_chunk, chunks), 1):
            total.add(tally)
            for failure in tally.failures:
                print(failure, file=sys.stderr)
            if sys.stderr.isatty():
                print(f"\r{done * CHUNK:,} of {options.programs:,}", end="", file=sys.stderr)
    seconds = time.monotonic() - start
    text = report(total, options, seconds)
    if options.report is not None:
        options.report.write_text(text, encoding="utf-8")
    print(json.dumps({**total.__dict__, "seconds": round(seconds)}) if options.json else text)
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
