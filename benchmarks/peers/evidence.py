"""What was found, as a table, as JSON, as plots, and as a section of docs/evidence.md: the same in all of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panels import Panel, panel_plot
from plot import Point as Mark
from plot import bar_plot, line_plot
from report import Figure, Spread, Timing, shown
from workloads import Point, Workload

HEAD = """\
# Evidence

anabranch beside the systems people would use instead, as `anabranch bench` found it last. Every section was written by
the command it names, and holds nothing that the command does not print. What is measured, how, and what was tuned for
each peer: [the benchmarks](../benchmarks/README.md#beside-other-systems).
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A contender at a point: its time, what it does a second in each round, and how many times as fast we are."""

    point: Point
    title: str
    timing: Timing
    rates: Sequence[float]
    figures: Sequence[Figure]
    best: bool  # of the embedded ones the faster, with which peers are compared

    @property
    def rate(self) -> Spread:
        return Spread.of(self.rates)

    def to_dict(self) -> dict[str, Any]:
        told = {"point": self.point.name, "contender": self.title, "best": self.best, **self.timing.to_dict()}
        return {**told, "rates": list(self.rates), "ratios": [figure.to_dict() for figure in self.figures]}


@dataclass(frozen=True, slots=True)
class Found:
    workload: Workload
    command: str
    rounds: int
    scale: float
    rows: Sequence[Row]
    absent: Mapping[str, str]
    versions: Mapping[str, str]
    machine: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {
            "benchmark": self.workload.name,
            "about": self.workload.about,
            "unit": self.workload.unit,
            "command": self.command,
            "rounds": self.rounds,
            "scale": self.scale,
            "rows": [row.to_dict() for row in self.rows],
            "absent": dict(self.absent),
            "versions": dict(self.versions),
            "machine": dict(self.machine),
        }


def text_of(found: Found) -> str:
    """The section of one workload, in Markdown, which a terminal shows as well."""
    machine, unit = found.machine, found.workload.unit
    versions = ", ".join(f"{name} {number}" for name, number in {"python": machine["python"], **found.versions}.items())
    size = "" if found.scale == 1 else f" Not at full size (scale {found.scale:g}): the targets are meant for scale 1."
    parts = [
        f"## {found.workload.name}",
        f"{found.workload.about[0].upper()}{found.workload.about[1:]}. `{found.command}`: medians of {found.rounds} "
        f"rounds, quartiles in brackets.{size}",
        f"{machine['cores']} cores of {machine['cpu']}, load {machine['load']} at the start; {versions}.",
        table_of(found.rows, unit),
    ]
    if found.absent:
        parts.append(markdown(("not in the table", "reason"), list(found.absent.items())))
    return "\n\n".join(parts) + "\n"


def table_of(rows: Sequence[Row], unit: str) -> str:
    several = len({row.point for row in rows}) > 1
    heads = ("contender", f"counted {unit}", f"{unit}/s", "embedded is so many times as fast", "on Spark is")
    lines = []
    for row in rows:
        ratios = {figure.what: cell(figure) for figure in row.figures}
        title = f"**{row.title}**" if row.best else row.title
        ours = (ratios.get("embedded", ""), ratios.get("on Spark", ""))
        cells = (title, f"{row.timing.rows:,}", spread(row.rate), *ours)
        lines.append((row.point.name, *cells) if several else cells)
    return markdown(("", *heads) if several else heads, lines)


def spread(values: Spread) -> str:
    return f"{shown(values.median)} ({shown(values.low)} .. {shown(values.high)})"


def cell(figure: Figure) -> str:
    return f"{spread(figure.spread)}, target {figure.target}: {'met' if figure.met else 'missed'}"


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    table = [tuple(heads), *rows]
    widths = [max(len(row[n]) for row in table) for n in range(len(heads))]
    padded = [[f"{text:<{width}}" for text, width in zip(row, widths, strict=True)] for row in table]
    lines = [f"| {' | '.join(row)} |" for row in padded]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


# --- the page ----------------------------------------------------------------------------------------------------


def page(found: Found, plots: Path | None, report: Path) -> tuple[str, str]:
    """The name and the text of a section, with its plot where there is one."""
    text = text_of(found)
    if plots:
        link = os.path.relpath(plots / plot_name(found), report.parent)
        text += f"\n![{found.workload.name}: what each does a second]({link})\n"
    return found.workload.name, text


def write_into(file: Path, section: tuple[str, str]) -> None:
    """Put a section in its place, or at the end; the others stay as they are."""
    name, text = section
    old = file.read_text(encoding="utf-8") if file.exists() else HEAD
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    block = f"{start}\n{text}{end}\n"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}\n", re.DOTALL)
    new = pattern.sub(lambda _: block, old) if pattern.search(old) else f"{old}\n{block}"
    file.write_text(new, encoding="utf-8")


# --- plots -------------------------------------------------------------------------------------------------------


def plot_name(found: Found) -> str:
    return f"peers-{found.workload.name}.svg"


def plots_of(found: Found, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / plot_name(found)).write_text(draw(found), encoding="utf-8")


def draw(found: Found) -> str:
    """Bars where there is one point, else a line for each contender; the axis of rates is logarithmic."""
    workload = found.workload
    title, y_name = f"{workload.name}: beside other systems", f"{workload.unit} a second"
    lines: dict[str, list[Row]] = {}
    for row in found.rows:
        lines.setdefault(row.title, []).append(row)
    if len(workload.points) == 1:
        return bar_plot(title, y_name, {name: row.rate.median for name, (row,) in lines.items()})
    if min(point.x for point in workload.points) > 0:
        marks = {name: [mark(row) for row in sorted(rows, key=lambda r: r.point.x)] for name, rows in lines.items()}
        return line_plot(title, workload.x_name, y_name, marks)
    pairs = {name: [(row.point.x, row.rate.median) for row in rows] for name, rows in lines.items()}
    return panel_plot(title, workload.x_name, [Panel(y_name, pairs, log=True)])


def mark(row: Row) -> Mark:
    return Mark(row.point.x, row.rate.median, row.rate.low, row.rate.high)
