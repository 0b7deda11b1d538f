"""What the embedded engine costs beside the plain run of the same class, in the same run.

    python benchmarks/engine_overhead.py [--json] [--rounds N]

Programs: the key/value store (a row is almost nothing, so the engine is almost all), the recommender (a row is work)
and transfers (winding). Each round times every way in turn; the median of the rounds counts. Tasks run as Python, so
workers add no speed here: this is the price of calls, batches, stages and exchanges.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import anabranch as ab
from examples import kvstore, recommender, transfer
from tests.programs.load import program_of

CALLS, BATCH = 2_000, 20_000


def workload(name: str) -> tuple[type[ab.Program], str, list[tuple[Any, ...]]]:
    """A program, an entry of it and rows for it."""
    rng = Random(7)
    if name == "store":
        return program_of(kvstore), "put", [(str(rng.randrange(1000)), rng.randrange(100)) for _ in range(BATCH)]
    if name == "transfers":
        names = [str(n) for n in range(1000)]
        return program_of(transfer), "transfer", [(*rng.sample(names, 2), 0) for _ in range(BATCH)]
    ratings = [(rng.randrange(2000), rng.randrange(200), 1.0) for _ in range(BATCH)]
    return recommender.Recommender, "rate", list(ratings)


def time_calls(entry: Callable[..., Any], rows: list[tuple[Any, ...]]) -> float:
    start = perf_counter()
    for row in rows[:CALLS]:
        entry(*row)
    return (perf_counter() - start) / CALLS


def time_batch(entry: Any, rows: list[tuple[Any, ...]]) -> float:
    start = perf_counter()
    entry.many(rows)
    return (perf_counter() - start) / len(rows)


def measure(name: str, rounds: int) -> dict[str, float]:
    """Microseconds per row: the median of the rounds, for every way."""
    program, entry, rows = workload(name)
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        plain = program()
        ways: list[tuple[str, Any]] = [("plain", plain.entries[entry])]
        apps = {f"{n} worker{'s' if n > 1 else ''}": ab.run(program(), workers=n) for n in (1, 2)}
        ways += [(way, app.entries[entry]) for way, app in apps.items()]
        for way, target in ways:
            times.setdefault(f"call, {way}", []).append(time_calls(target, rows))
            times.setdefault(f"batch, {way}", []).append(time_batch(target, rows))
        for app in apps.values():
            app.stop()
    return {way: median(found) * 1e6 for way, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="the embedded engine beside the plain run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds (default: 5)")
    options = parser.parse_args()
    found = {name: measure(name, max(1, options.rounds)) for name in ("store", "recommender", "transfers")}
    if options.json:
        print(json.dumps({"rounds": options.rounds, "microseconds_per_row": found}))
        return
    for name, times in found.items():
        print(f"{name:<24}{'us/row':>10}{'/ plain':>10}")
        for way, micros in times.items():
            print(f"  {way:<22}{micros:>10.1f}{micros / times[way.partition(',')[0] + ', plain']:>10.2f}")


if __name__ == "__main__":
    main()
