"""How much memory an entry of a table takes: what the state says of itself, and how much the process grows.

    python benchmarks/state_size.py [--json] [--rounds N] [--scale F]

A million entries, each table in a fresh process (at most three rounds: memory hardly varies). The growth of the process
also counts what allocators keep; pages that were never touched it does not count. A plain dict stands beside it.
"""

from __future__ import annotations

from fill_state import KINDS
from harness import Bench, main, run_script


def measure(bench: Bench) -> None:
    entries = bench.size("entries", 1_000_000, least=1000)
    tables = [(kind, way) for kind in KINDS for way in ("app", "plain")]
    rounds = [[run_script("fill_state.py", *table, str(entries)) for table in tables] for _ in bench.rounds[:3]]
    for (kind, way), found in zip(tables, zip(*rounds, strict=True), strict=True):
        limit = 40 if (kind, way) == ("int to float", "app") else None
        bench.figure(f"{kind}, {way}", [one["bytes"] for one in found], "bytes/entry", at_most=limit)
        bench.figure(f"{kind}, {way}: process", [one["growth"] for one in found], "bytes/entry")


if __name__ == "__main__":
    main(measure, __doc__)
