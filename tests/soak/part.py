"""One part of a soak: what was run, and what came of it.

A soak may be stopped and go on later: what is finished is noted in a file, with the commit it was run on, and is not
run again.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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


class Notes:
    """What is finished, by a name that says all of what was asked; a line of JSON each."""

    def __init__(self, file: Path | None = None) -> None:
        self._file, self._known, self._commit = file, dict[str, Any](), commit()
        self.commits: set[str] = set()
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                noted = json.loads(line)
                self._known[noted["name"]] = noted

    def get(self, name: str) -> Any:
        """What came of it, if it is finished."""
        noted = self._known.get(name)
        if noted is None:
            return None
        self.commits.add(noted["commit"])
        return noted["found"]

    def add(self, name: str, found: Any) -> None:
        noted = {"name": name, "commit": self._commit, "found": found}
        self._known[name] = noted
        self.commits.add(self._commit)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(noted) + "\n")

    def once(self, name: str, run: Callable[[], Part]) -> Part:
        """A part that is run whole."""
        found = self.get(name)
        if found is None:
            self.add(name, asdict(run()))
            found = self.get(name)
        return Part(**found)


def commit() -> str:
    """What is run: the commit that is checked out, and whether something was changed since."""
    told = subprocess.run(["git", "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True, check=False)
    return told.stdout.strip() or "no commit"


def in_chunks(
    part: Part,
    run: Callable[[int], tuple[Counter[str], list[str]]],
    first: int,
    count: int,
    jobs: int,
    notes: Notes,
    chunk: int = CHUNK,
) -> Part:
    """Run chunks of seeds on all cores, and add up what they count."""
    start, total, seconds = time.monotonic(), Counter[str](), 0.0
    wanted = range(first, first + count, chunk)
    left = [seed for seed in wanted if notes.get(f"{part.title} {seed} {chunk}") is None]
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        for done, (seed, found, took) in enumerate(pool.imap_unordered(Timed(run), left), 1):
            notes.add(f"{part.title} {seed} {chunk}", [found[0], found[1], took])
            for failure in found[1]:
                print(failure, file=sys.stderr)
            so_far = (len(wanted) - len(left) + done) * chunk
            print(
                f"{part.title}: {so_far:,} of {count:,}, {(time.monotonic() - start) / 60:.1f} minutes", file=sys.stderr
            )
    for seed in wanted:
        counts, failures, took = notes.get(f"{part.title} {seed} {chunk}")
        total += Counter(counts)
        part.failures += failures
        seconds += took
    part.counts = {**total, "minutes of one core": round(seconds / 60, 1)}
    return part


@dataclass(frozen=True)
class Timed:
    """A function of a seed that also says which, and how long it took."""

    run: Callable[[int], tuple[Counter[str], list[str]]]

    def __call__(self, seed: int) -> tuple[int, tuple[Counter[str], list[str]], float]:
        start = time.process_time()
        found = self.run(seed)
        return seed, found, time.process_time() - start
