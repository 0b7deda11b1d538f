"""Runs the benchmarks one after the other and writes one report.

    python benchmarks/all.py [NAME ...] --report FILE [--rounds N] [--scale F] [--tier TIER]
                             [--data FOLDER] [--bytewax-python PATH] [--plots FOLDER]

FILE gets all that they print as JSON; tables of it go to the file beside it that ends in .md, and to the terminal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import add_common_options, run_script
from report import describe_machine, shown, verdict

# name -> the options of its own
BENCHMARKS: dict[str, tuple[str, ...]] = {
    "keyed_sum": (),
    "word_count": ("bytewax_python",),
    "recommend": ("data",),
    "transfers": (),
    "sensors": (),
    "one_call": (),
    "state_size": (),
    "second_start": (),
    "growth": ("plots",),
    "on_paper": ("plots",),
    "durability": ("plots",),
    "recovery": ("plots",),
    "scaling": ("plots",),
    "amplification": ("data", "plots"),
    "apart": ("plots",),
    "spark": (),
}


def run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    arguments = ["--json", "--rounds", str(options.rounds), "--scale", str(options.scale), "--tier", options.tier]
    for option in BENCHMARKS[name]:
        if value := getattr(options, option):
            arguments += [f"--{option.replace('_', '-')}", str(value)]
    try:
        found: dict[str, Any] = run_script(f"{name}.py", *arguments)
    except subprocess.CalledProcessError as error:
        return {"benchmark": name, "error": f"ended with status {error.returncode}"}
    return found


def lines_of(found: Sequence[dict[str, Any]], machine: dict[str, Any]) -> Iterator[str]:
    """Markdown: what was aimed at and what was reached, then how long each way took."""
    versions = ", ".join(f"{name} {machine[name]}" for name in ("python", "numba", "numpy", "pyarrow"))
    yield f"{machine['cores']} cores of {machine['cpu']}, {versions}."
    yield from ("", "| benchmark | figure | median | quartiles | target | met |", "|---|---|---:|---:|---:|---|")
    for one in found:
        if "error" in one:
            yield f"| {one['benchmark']} | failed: {one['error']} | | | | NO |"
            continue
        for figure in one["figures"]:
            unit = f" ({figure['unit']})" if figure["unit"] else ""
            cells = f"{figure['what']}{unit} | {spread(figure)} | {figure['target']} | {verdict(figure['met'])}"
            yield f"| {one['benchmark']} | {cells} |"
    yield from ("", "| benchmark | way | seconds | quartiles | per second |", "|---|---|---:|---:|---:|")
    for one in found:
        for timing in one.get("timings", ()):
            group = f"{timing['group']}: " if timing["group"] else ""
            cells = f"{group}{timing['way']} | {spread(timing)} | {shown(timing['rows_per_second'])}"
            yield f"| {one['benchmark']} | {cells} |"
    notes = [f"- {one['benchmark']}: {note}" for one in found for note in one.get("notes", ())]
    yield from ("", *notes)


def spread(measured: dict[str, Any]) -> str:
    median, low, high = (shown(measured["spread"][name]) for name in ("median", "low", "high"))
    return f"{median} | {low} .. {high}"


def main() -> None:
    parser = argparse.ArgumentParser(description="runs the benchmarks and writes one report")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which (default: all of them)")
    parser.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the JSON goes")
    add_common_options(parser)
    for option in dict.fromkeys(option for options in BENCHMARKS.values() for option in options):
        parser.add_argument(f"--{option.replace('_', '-')}", metavar="PATH", help="handed on")
    options = parser.parse_args()
    names = options.names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {', '.join(unknown)}: there are {', '.join(BENCHMARKS)}")
    machine = describe_machine()
    found = []
    for name in names:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        found.append(run(name, options))
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps({"machine": machine, "benchmarks": found}, indent=1) + "\n", encoding="utf-8")
    tables = "\n".join(lines_of(found, machine)).rstrip() + "\n"
    options.report.with_suffix(".md").write_text(tables, encoding="utf-8")
    print(tables, end="")
    if any("error" in one for one in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
