"""Word count: lines fan out to the owners of their words.

    python benchmarks/word_count.py [--json] [--rounds N] [--scale F] [--bytewax-python PATH]

Two million words, Zipf over 50 thousand, in lines of ten, fed as an Arrow string column in batches of 20 thousand
lines; the plain version splits strings of a list and counts in a `defaultdict`. Bytewax counts with `stateful_map`,
on one worker, in a process of its own; it is timed there, without start and imports:

    python -m venv FOLDER && FOLDER/bin/pip install 'bytewax==0.21.*'
    python benchmarks/word_count.py --bytewax-python FOLDER/bin/python
"""

from __future__ import annotations

import argparse
import string
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from harness import PLAIN, Bench, Way, app_name, as_lists, dict_table, in_batches, main, run_script

import anabranch as ab

WORDS_A_LINE = 10
BYTEWAX = "Bytewax, 1 worker"


class WordCount(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, line: str) -> None:
        for word in line.split():
            self.counts[word] += 1


def make_lines(words: int, vocabulary: int) -> pa.Array:
    rng = np.random.default_rng(7)
    letters = np.array(list(string.ascii_lowercase))
    names: dict[str, None] = {}
    while len(names) < vocabulary:
        names["".join(rng.choice(letters, rng.integers(3, 11)))] = None
    ranks = np.arange(1, vocabulary + 1)
    chosen = rng.choice(vocabulary, words, p=(1 / ranks) / (1 / ranks).sum())
    offsets = np.append(np.arange(0, words, WORDS_A_LINE), words)
    return pc.binary_join(pa.ListArray.from_arrays(offsets, pa.array(names).take(pa.array(chosen))), " ")


def plain_way(batches: list[pa.RecordBatch]) -> Way:
    lists = as_lists(batches)

    def run(counts: dict[str, int]) -> None:
        for (lines,) in lists:
            for line in lines:
                for word in line.split():
                    counts[word] += 1

    return Way(PLAIN, lambda: defaultdict(int), run, lambda counts, _: (dict_table(counts), None))


def bytewax_way(lines: pa.Array, python: str, folder: str) -> Way:
    file = Path(folder) / "lines.txt"
    file.write_text("\n".join(lines.to_pylist()), encoding="utf-8")

    def run(_: None) -> dict[str, Any]:
        found: dict[str, Any] = run_script("bytewax_words.py", str(file), python=python)
        return found

    return Way(
        BYTEWAX,
        lambda: None,
        run,
        lambda _, found: (dict_table(found["counts"]), None),
        clock=lambda found: float(found["seconds"]),
    )


def measure(bench: Bench) -> None:
    words = bench.size("words", 2_000_000)
    lines = make_lines(words, bench.size("different words", 50_000))
    batches = in_batches({"line": lines}, bench.size("lines a batch", 20_000))
    ways = [plain_way(batches), *(bench.app_way(WordCount, "add", batches, "counts", n) for n in (1, 2))]
    with tempfile.TemporaryDirectory() as folder:
        if bench.options.bytewax_python:
            ways.append(bytewax_way(lines, bench.options.bytewax_python, folder))
        times = bench.time(ways, words)
    rates = {way: times.per_second(way) for way in (app_name(1), app_name(2))}
    best = max(rates, key=lambda way: median(rates[way]))
    goal = 5_000_000.0
    if bench.options.bytewax_python:
        goal = max(goal, 10 * median(times.per_second(BYTEWAX)))
        bench.figure(f"{best} / {BYTEWAX}", times.ratio(best, BYTEWAX))
    else:
        bench.note("Bytewax was not measured: name an interpreter that has it with --bytewax-python")
    bench.figure(f"{best}, the faster", rates[best], "words/s", at_least=goal)
    bench.figure(f"{app_name(1)} / plain", times.ratio(app_name(1), PLAIN))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bytewax-python", metavar="PATH", help="an interpreter that has Bytewax 0.21")


if __name__ == "__main__":
    main(measure, __doc__, add_options)
