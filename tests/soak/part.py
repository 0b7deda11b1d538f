"""One part of a soak: what was run, and what came of it."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

CHUNK = 100


@dataclass
class Part:
    title: str
    what: str
    counts: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def text(self) -> str:
        lines = [f"## {self.title}", "", *self.what.splitlines(), "", "| what | how many |", "|---|---|"]
        lines += [f"| {name} | {count:,} |" for name, count in self.counts.items()]
        lines += [f"| failures | {len(self.failures):,} |", ""]
        return "\n".join([*lines, *(f"- {failure}" for failure in self.failures)]) + "\n"


def in_chunks(
    part: Part, run: Callable[[int], tuple[Counter[str], list[str]]], first: int, count: int, jobs: int
) -> Part:
    """Run chunks of seeds on all cores, and add up what they count."""
    start, total = time.monotonic(), Counter[str]()
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        for done, (counts, failures) in enumerate(pool.imap_unordered(run, range(first, first + count, CHUNK)), 1):
            total += counts
            part.failures += failures
            for failure in failures:
                print(failure, file=sys.stderr)
            if sys.stderr.isatty():
                print(f"\r{part.title}: {done * CHUNK:,} of {count:,}", end="", file=sys.stderr)
    part.counts = {**total, "minutes": round((time.monotonic() - start) / 60, 1)}
    return part
