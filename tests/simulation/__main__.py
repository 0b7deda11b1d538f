"""Replay seeds of the simulator.

python -m tests.simulation [--saved | --scaled] --seed 17    # its story, step by step, and what is wrong with it
python -m tests.simulation [--saved | --scaled] --first 0 --seeds 20000 [--jobs N] [--json]

With --saved the stories are those of several runs on one disk; with --scaled these go on with other workers as well.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from tests.simulation.check import CHUNK, run_chunk, run_seed
from tests.simulation.lineage import run_saved, run_saved_chunk, run_scaled, run_scaled_chunk


def tell(seed: int, run: Callable[[int], Any]) -> int:
    try:
        told = run(seed)
    except Exception as error:
        print(*error.__dict__.get("story", []), sep="\n")
        traceback.print_exc()
        return 1
    print(*told.story, sep="\n")
    print(f"seed {seed}: {told.case.name}, equal to the oracle")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, help="tell the story of one seed")
    parser.add_argument("--saved", action="store_true", help="stories of several runs on one disk")
    parser.add_argument("--scaled", action="store_true", help="the same with other workers from time to time")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.seed is not None:
        return tell(options.seed, run_scaled if options.scaled else run_saved if options.saved else run_seed)
    chunk = run_scaled_chunk if options.scaled else run_saved_chunk if options.saved else run_chunk
    start, seeds, steps, failures = time.monotonic(), 0, 0, []
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        chunks = range(options.first, options.first + options.seeds, CHUNK)
        for some, more, failed in pool.imap_unordered(chunk, chunks):
            seeds, steps, failures = seeds + some, steps + more, failures + failed
            print(*failed, sep="\n", end="\n" if failed else "", file=sys.stderr)
            if sys.stderr.isatty():
                print(f"\r{seeds:,} of {options.seeds:,}", end="", file=sys.stderr)
    found = {"seeds": seeds, "steps": steps, "failures": failures, "seconds": round(time.monotonic() - start)}
    print(json.dumps(found) if options.json else f"{seeds:,} seeds, {steps:,} steps, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
