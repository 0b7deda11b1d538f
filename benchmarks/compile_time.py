"""How long `ab.compile` takes, beside parsing and byte-compiling the same file in the same run.

    python benchmarks/compile_time.py [--rounds 9] [--json]

Medians of interleaved rounds after one warm-up: an absolute time says little on a noisy machine, the ratio to what
Python itself needs for the file says more.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anabranch as ab
import anabranch.compiler  # what `ab.compile` loads when it is first used: importing is not compiling

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def load(path: Path) -> type[ab.Program]:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return next(v for v in vars(module).values() if isinstance(v, type) and issubclass(v, ab.Program))


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def measure(path: Path, rounds: int) -> dict[str, object]:
    program = load(path)
    text = path.read_text(encoding="utf-8")
    graph = ab.compile(program)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours.append(timed(lambda: ab.compile(program)))
        theirs.append(timed(lambda: compile(ast.parse(text), str(path), "exec")))
    mine, python = statistics.median(ours), statistics.median(theirs)
    return {
        "program": path.stem,
        "lines": len(text.splitlines()),
        "tasks": len(graph.tasks),
        "compile_ms": round(mine, 2),
        "worst_ms": round(max(ours), 2),
        "python_ms": round(python, 2),
        "ratio": round(mine / python, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    largest = load(EXAMPLES / "smartgrid.py")
    first = timed(lambda: ab.compile(largest))
    rows = [measure(path, options.rounds) for path in sorted(EXAMPLES.glob("*.py"))]
    if options.json:
        print(json.dumps({"first_compile_ms": round(first, 2), "programs": rows}, indent=2))
        return
    print(f"first compile after import (smartgrid, the largest): {first:.1f} ms")
    print(f"{'program':<14}{'lines':>6}{'tasks':>6}{'compile ms':>12}{'worst ms':>10}{'python ms':>11}{'ratio':>7}")
    for row in rows:
        print(
            f"{row['program']:<14}{row['lines']:>6}{row['tasks']:>6}{row['compile_ms']:>12}{row['worst_ms']:>10}"
            f"{row['python_ms']:>11}{row['ratio']:>7}"
        )


if __name__ == "__main__":
    main()
