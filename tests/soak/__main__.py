"""Long runs, each with a command of its own; together they write the report docs/soak.md.

    python -m tests.soak [--programs 20000] [--compiled 1000] [--everything 500] [--seeds 20000] [--processes 300]
                         [--spark 100] [--kills 100] [--elastic 30] [--minutes 10]
                         [--notes FILE] [--report docs/soak.md] [--json]

Zero leaves a part out. With `--notes` a soak can be stopped, and goes on when the same is asked again. A failing
program or seed is printed with the command that shows it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

import anabranch as ab
from tests.soak.apart import soak_processes, soak_spark
from tests.soak.compiled import soak_compiled
from tests.soak.elastic import soak_elastic
from tests.soak.engine import soak_engine
from tests.soak.everything import soak_everything
from tests.soak.kills import soak_kills
from tests.soak.part import Notes
from tests.soak.programs import soak_programs
from tests.soak.seeds import soak_seeds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=int, default=20_000, help="random programs on the sequential engine")
    parser.add_argument("--compiled", type=int, default=1_000, help="random programs as kernels")
    parser.add_argument("--everything", type=int, default=500, help="random programs in both tiers and on processes")
    parser.add_argument("--seeds", type=int, default=20_000, help="stories of the simulator")
    parser.add_argument("--minutes", type=float, default=10.0, help="callers on worker threads")
    parser.add_argument("--processes", type=int, default=300, help="random programs on worker processes")
    parser.add_argument("--spark", type=int, default=100, help="random programs as Spark tasks")
    parser.add_argument("--kills", type=int, default=100, help="processes that are killed under load")
    parser.add_argument("--elastic", type=float, default=30.0, help="minutes of workers that come and go on Spark")
    parser.add_argument("--autoscale", action="store_true", help="let the app decide when they do")
    parser.add_argument("--first", type=int, default=1_000_000, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--notes", type=Path, help="note what is finished there, and do not run it again")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    parts, notes, first = [], Notes(options.notes), options.first
    if options.programs:
        parts.append(soak_programs(first, options.programs, options.jobs, notes))
    if options.compiled:
        parts.append(soak_compiled(first, options.compiled, options.jobs, notes))
    if options.everything:
        parts.append(soak_everything(first, options.everything, min(options.jobs, 2), notes))
    if options.seeds:
        parts.append(soak_seeds(first, options.seeds, options.jobs, notes))
    whole = {
        "processes": lambda: soak_processes(first, options.processes),
        "spark": lambda: soak_spark(first, options.spark),
        "kills": lambda: soak_kills(first, options.kills),
        "elastic": lambda: soak_elastic(options.elastic * 60, options.autoscale),
        "minutes": lambda: soak_engine(options.minutes * 60),
    }
    for name, run in whole.items():
        if asked := getattr(options, name):
            how = " autoscale" if name == "elastic" and options.autoscale else ""
            parts.append(notes.once(f"{name} {first} {asked}{how}", run))
    version = f"Python {platform.python_version()}, {os.cpu_count()} cores, anabranch {ab.__version__}"
    asked = f"--first {options.first} --programs {options.programs} --compiled {options.compiled}"
    asked += f" --everything {options.everything}"
    asked += f" --seeds {options.seeds} --processes {options.processes} --spark {options.spark} --kills {options.kills}"
    asked += f" --elastic {options.elastic:g}{' --autoscale' if options.autoscale else ''}"
    on = ", ".join(sorted(notes.commits))
    head = f"# The last soak\n\n`python -m tests.soak {asked} --minutes {options.minutes:g}` ({version}; {on}).\n"
    text = "\n".join([head, *(part.text() for part in parts)])
    if options.report is not None:
        options.report.write_text(text, encoding="utf-8")
    print(json.dumps([asdict(part) for part in parts]) if options.json else text)
    return 1 if any(part.failures for part in parts) else 0


if __name__ == "__main__":
    sys.exit(main())
