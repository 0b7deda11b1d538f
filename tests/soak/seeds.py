"""Stories of the simulator without end."""

from __future__ import annotations

from collections import Counter

from tests.simulation.check import run_chunk as run_stories
from tests.simulation.lineage import run_saved_chunk as run_ages
from tests.simulation.lineage import run_scaled_chunk as run_scaled
from tests.soak.part import Notes, Part, in_chunks

WHAT = """Each seed is a program, clients, a number of workers and a schedule with delays, repeats, losses, crashes,
stalls, aborts and withdrawn requests; answers, state and every look at it must equal the sequential engine's. Each is
also told of several runs on one disk, which are killed, lose their power in the middle of what they write, find the
disk full and replace each other: what one restores must be what the one before has acknowledged; and once more of
such runs that go on with other workers, while connections break."""


def soak_seeds(first: int, seeds: int, jobs: int, notes: Notes) -> Part:
    return in_chunks(Part("Simulator", WHAT), run_chunk, first, seeds, jobs, notes)


def run_chunk(first: int) -> tuple[Counter[str], list[str]]:
    seeds, steps, failures = run_stories(first)
    ages, more, failed = run_ages(first)
    scaled, most, wrong = run_scaled(first)
    counts = {"seeds": seeds, "steps": steps, "seeds of several runs": ages, "their steps": more}
    counts |= {"seeds of runs that are scaled": scaled, "steps of these": most}
    return Counter(counts), failures + failed + wrong
