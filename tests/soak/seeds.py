"""Stories of the simulator without end."""

from __future__ import annotations

from collections import Counter

from tests.simulation.check import run_chunk as run_stories
from tests.soak.part import Part, in_chunks

WHAT = """Each seed is a program, clients, a number of workers and a schedule with delays, repeats, losses, crashes,
stalls, aborts and withdrawn requests; answers, state and every look at it must equal the sequential engine's."""


def soak_seeds(first: int, seeds: int, jobs: int) -> Part:
    return in_chunks(Part("Simulator", WHAT), run_chunk, first, seeds, jobs)


def run_chunk(first: int) -> tuple[Counter[str], list[str]]:
    seeds, steps, failures = run_stories(first)
    return Counter({"seeds": seeds, "steps": steps}), failures
