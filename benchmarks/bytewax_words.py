"""Counts the words of a file with Bytewax; runs in the processes that word_count.py starts.

    python benchmarks/bytewax_words.py FILE

Prints the seconds of the flow, without start and imports, and the counts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main


def count(so_far: int | None, _: int) -> tuple[int, int]:
    now = (so_far or 0) + 1
    return now, now


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    given: list[tuple[str, int]] = []
    flow = Dataflow("words")
    source = op.input("lines", flow, TestingSource(lines, batch_size=1000))
    words = op.flat_map("split", source, str.split)
    keyed = op.map("key", words, lambda word: (word, 1))
    op.output("out", op.stateful_map("count", keyed, count), TestingSink(given))
    start = perf_counter()
    run_main(flow)
    seconds = perf_counter() - start
    print(json.dumps({"seconds": seconds, "counts": dict(given)}))  # the last count of a word is the one that stays


if __name__ == "__main__":
    main()
