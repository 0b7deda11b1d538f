"""How long `import anabranch` takes, beside `import numpy` in the same run.

    python benchmarks/import_time.py [--json] [--repeat N]

Each import happens in a fresh interpreter, the packages in turn, and the best of the repeats counts. The time is that
of the import statement alone, without the start of the interpreter. The ratio to numpy is what can be compared
between machines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

PACKAGES = ("numpy", "anabranch")
SCRIPT = "from time import perf_counter as now; t = now(); import {0}; print(now() - t)"


def seconds_to_import(package: str) -> float:
    command = [sys.executable, "-c", SCRIPT.format(package)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def best_of(repeat: int) -> dict[str, float]:
    rounds = [{package: seconds_to_import(package) for package in PACKAGES} for _ in range(repeat)]
    return {package: min(times[package] for times in rounds) for package in PACKAGES}


def main() -> None:
    parser = argparse.ArgumentParser(description="time of `import anabranch` beside `import numpy`")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="imports of each package (default: 5)")
    options = parser.parse_args()

    best = best_of(max(1, options.repeat))
    if options.json:
        ratio = best["anabranch"] / best["numpy"]
        print(json.dumps({"best_of": options.repeat, "seconds": best, "ratio_to_numpy": round(ratio, 3)}))
        return
    print(f"{'import':<12}{'ms':>8}{'/ numpy':>10}")
    for package, seconds in best.items():
        print(f"{package:<12}{seconds * 1e3:>8.1f}{seconds / best['numpy']:>10.2f}")


if __name__ == "__main__":
    main()
