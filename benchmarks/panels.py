"""Plots of several panels, one above the other, that share their x axis, as standalone SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from pathlib import Path

from harness import Bench
from plot import FONT, GRID, INK, LEFT, MORE_COLOURS, QUIET, RIGHT, WIDTH, apart, short, text, ticks
from plot import Axis as LogAxis

HEIGHT, GAP, TOP, BOTTOM = 150, 34, 84, 56  # of a panel, between panels, above the first, below the last
MARK = "#be123c"

Line = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over the x axis that all panels share. `steps`: a value holds until the next; `log`: its own axis is."""

    y_name: str
    lines: Mapping[str, Line]
    steps: bool = False
    log: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened from one x to another."""

    first: float
    last: float
    name: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis from one pixel to another."""

    first: float
    last: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        return self.begin + (self.end - self.begin) * (value - self.first) / ((self.last - self.first) or 1.0)


def panel_plot(title: str, x_name: str, panels: Sequence[Panel], marks: Iterable[Mark] = ()) -> str:
    """A picture with a panel for each; what happened is marked through all of them."""
    bottom = TOP + len(panels) * (HEIGHT + GAP) - GAP
    xs = [x for panel in panels for line in panel.lines.values() for x, _ in line]
    low, high = min(xs), max(xs)
    x_axis = Axis(low, high, LEFT, WIDTH - RIGHT)
    size = f'width="{WIDTH}" height="{bottom + BOTTOM}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + BOTTOM}" {size}'
    parts = [
        f'{head} font-family="{FONT}">',
        f'<rect {size} rx="12" fill="#ffffff" stroke="{GRID}"/>',
        text(LEFT, 32, title, INK, size=17, bold=True),
        text((LEFT + WIDTH - RIGHT) / 2, bottom + BOTTOM - 14, x_name, QUIET, anchor="middle"),
    ]
    parts += draw_marks([mark for mark in marks if mark.last >= low and mark.first <= high], x_axis, bottom)
    for tick in linear_ticks(low, high, 8):
        if low <= tick <= high:
            parts.append(f'<path d="M{x_axis.at(tick):.1f} {bottom}v5" stroke="{QUIET}"/>')
            parts.append(text(x_axis.at(tick), bottom + 20, short(tick), QUIET, anchor="middle"))
    for n, panel in enumerate(panels):
        parts += draw_panel(panel, x_axis, TOP + n * (HEIGHT + GAP))
    return "\n".join([*parts, "</svg>\n"])


def draw_panels(
    bench: Bench, file: str, title: str, x_name: str, panels: Sequence[Panel], marks: Iterable[Mark] = ()
) -> None:
    """The same as a file in the folder of --plots."""
    folder: Path = bench.options.plots
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(panel_plot(title, x_name, panels, marks), encoding="utf-8")
    bench.note(f"there is a plot, {file} in the folder of --plots")


def draw_marks(marks: Sequence[Mark], x_axis: Axis, bottom: float) -> list[str]:
    """A band from begin to end, with its name above the first panel."""
    parts, free = [], 0.0
    for mark in marks:
        first, last = (min(max(x_axis.at(x), x_axis.begin), x_axis.end) for x in (mark.first, mark.last))
        width = max(1.5, last - first)
        parts.append(
            f'<rect x="{first:.1f}" y="{TOP}" width="{width:.1f}" height="{bottom - TOP:.1f}" fill="{MARK}" '
            f'fill-opacity="0.14"><title>{escape(mark.name)}</title></rect>'
        )
        if first >= free:  # a name that would cover another is in its title only
            parts.append(text(first, TOP - 22, mark.name, MARK, size=11))
            free = first + 7 * len(mark.name)
    return parts


def draw_panel(panel: Panel, x_axis: Axis, top: float) -> list[str]:
    bottom = top + HEIGHT
    ys = [y for line in panel.lines.values() for _, y in line]
    axis: Axis | LogAxis
    if panel.log:
        marks = ticks(min(ys), max(ys))
        axis = LogAxis(marks[0], marks[-1], bottom, top)
    else:
        marks = [mark for mark in linear_ticks(0.0, max(ys), 4) if not panel.steps or mark.is_integer()]
        axis = Axis(0.0, marks[-1], bottom, top)
    parts = [text(LEFT, top - 7, panel.y_name, QUIET)]
    for mark in marks:
        y = axis.at(mark)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        parts.append(text(LEFT - 10, y + 4, short(mark), QUIET, anchor="end"))
    parts.append(f'<path d="M{LEFT} {bottom}H{WIDTH - RIGHT}" stroke="{QUIET}"/>')
    labels = apart({name: axis.at(line[-1][1]) for name, line in panel.lines.items()}, bottom)
    for (name, line), colour in zip(panel.lines.items(), MORE_COLOURS, strict=False):
        path = " ".join(f"{x_axis.at(x):.1f},{axis.at(y):.1f}" for x, y in (stepped(line) if panel.steps else line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts.append(text(WIDTH - RIGHT + 10, labels[name] + 4, name, colour, bold=True))
    return parts


def stepped(line: Line) -> list[tuple[float, float]]:
    """
    >>> stepped([(0, 1), (2, 3)])
    [(0, 1), (2, 1), (2, 3)]
    """
    found = [line[0]]
    for x, y in line[1:]:
        found += [(x, found[-1][1]), (x, y)]
    return found


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers around the values, at equal distances.

    >>> linear_ticks(0, 37, 4), linear_ticks(0.1, 0.9, 4)
    ([0.0, 10.0, 20.0, 30.0, 40.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    span = (high - low) or 1.0
    decade = 10.0 ** floor(log10(span / most))
    step = next(step for step in (decade, 2 * decade, 5 * decade, 10 * decade) if span / step <= most)
    return [float(f"{n * step:.6g}") for n in range(floor(low / step), ceil(high / step) + 1)]
