"""Workers that come and go: under load, with the load, and where one of them is slow.

    python benchmarks/scaling.py [PART ...] [--json] [--rounds N] [--scale F] [--disk FOLDER] [--plots FOLDER]
                                 [--report FILE]

Parts (default: all); of each there are at most three rounds, and times are those of one:

- `live`: from one worker to two, to three and to one with 1 GB under load, beside stop, restart, restore; on threads
  and in processes (about 3 minutes, and 8 GB of memory).
- `live_on_spark`: the same with 0.25 GB and workers that are tasks of Spark (2 minutes, 6 GB; needs Java).
- `rising`: a load that rises and falls, and the number of workers that follows it (7 minutes).
- `threshold`: how busy a worker may be until there are more, beside latency and number of workers (4.5 minutes).
- `fixed`: the number of workers that follows beside each fixed one, for the same load (10 minutes).
- `straggler`: a worker that is slowed, with buckets that move away from it and without (2 minutes).

A gigabyte of state is one of keys and values. Every part checks that the sums are those of numpy: a row that is lost,
or counted twice, ends the benchmark. What can be seen on two cores, which callers and coordinator share with the
workers: that scaling loses nothing, how long it holds still, and that a second worker helps where rows take long to
compute. A third cannot help there, so that `threshold`, and one half of `rising` and `fixed`, have rows that wait
instead of computing. Workers are processes where nothing else is said.

With `--report FILE`, such as docs/benchmarks/elastic.md, the figures of each part and its plots are written into that
document, between its marks; what is there of other parts stays.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from autoscale import measure_fixed, measure_rising, measure_threshold
from filling import fill_in
from harness import Bench, main
from live import measure_live, measure_live_on_spark
from locations import add_disk_options, add_parts
from straggler import measure_straggler

# name -> what it does and the plots that it draws
PARTS: dict[str, tuple[Callable[[Bench], None], tuple[str, ...]]] = {
    "live": (measure_live, ("scaling_live_threads.svg", "scaling_live_processes.svg")),
    "live_on_spark": (measure_live_on_spark, ("scaling_live_on_spark.svg",)),
    "rising": (
        measure_rising,
        ("scaling_rising_computed.svg", "scaling_rising_waited.svg", "scaling_rising_waited_one_spare.svg"),
    ),
    "threshold": (measure_threshold, ("scaling_threshold.svg",)),
    "fixed": (measure_fixed, ("scaling_fixed_computed.svg", "scaling_fixed_waited.svg")),
    "straggler": (measure_straggler, ("scaling_straggler.svg",)),
}


def measure(bench: Bench) -> None:
    for part in bench.options.parts or PARTS:
        before = len(bench.figures)
        run, pictures = PARTS[part]
        run(bench)
        if bench.options.report is not None:
            fill_in(bench.options.report, part, bench, bench.figures[before:], pictures)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_parts(parser, PARTS)
    add_disk_options(parser)
    parser.add_argument("--report", type=Path, metavar="FILE", help="a document that the figures are written into")


if __name__ == "__main__":
    main(measure, __doc__, add_options)
