"""From the start of a process to its first results, with an empty cache of compiled tasks and with a filled one.

    python benchmarks/second_start.py [--json] [--rounds N]

Each round makes an empty folder, names it in ANABRANCH_CACHE, and runs a small script twice: it starts keyed sums on
two workers, feeds a batch of 100 thousand rows, and asks for one sum.
"""

from __future__ import annotations

import tempfile
from time import monotonic

from harness import Bench, main, run_script

START = {True: "second start", False: "first start"}


def seconds_to(folder: str) -> dict[str, float]:
    """Seconds from before the process is started to each of its moments."""
    begun = monotonic()
    moments = run_script("first_result.py", environment={"ANABRANCH_CACHE": folder})
    return {moment: at - begun for moment, at in moments.items()}


def measure(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds_to(folder)  # Python's own caches are filled, and the files in memory
    found: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for _ in bench.rounds:
        with tempfile.TemporaryDirectory() as folder:
            for again in (False, True):
                found[again].append(seconds_to(folder))
    for again, starts in found.items():
        for moment in starts[0]:
            limit = 2 if again and moment == "first call" else None
            values = [start[moment] for start in starts]
            bench.figure(f"{START[again]}, after {moment}", values, "s", at_most=limit)


if __name__ == "__main__":
    main(measure, __doc__)
