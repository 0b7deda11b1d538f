"""Line plots on logarithmic axes as standalone SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import log10

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 84, 176, 64, 62
LINE = 16  # height of a line of text
INK, QUIET, GRID = "#0f172a", "#64748b", "#e2e8f0"
COLOURS = ("#2563eb", "#d97706", "#0f766e", "#7c3aed", "#be123c", "#475569")  # apart also for the colour-blind
MORE_COLOURS = (*COLOURS, "#0891b2", "#ca8a04", "#65a30d", "#c026d3", "#ea580c", "#94a3b8", "#1e3a8a", "#14532d")
FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured at `x`: a median and its quartiles."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis from one pixel to another."""

    first: float
    last: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        span = log10(self.last / self.first) or 1.0
        return self.begin + (self.end - self.begin) * log10(value / self.first) / span


def line_plot(title: str, x_name: str, y_name: str, lines: Mapping[str, Sequence[Point]]) -> str:
    """A picture with a line for each name; the ticks of the x axis are where it was measured."""
    points = [point for line in lines.values() for point in line]
    xs = sorted({point.x for point in points})
    ys = ticks(min(point.low for point in points), max(point.high for point in points))
    x_axis = Axis(xs[0], xs[-1], LEFT + 20, WIDTH - RIGHT - 12)
    y_axis = Axis(ys[0], ys[-1], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="12" fill="#ffffff" stroke="{GRID}"/>',
        text(LEFT, 32, title, INK, size=17, bold=True),
        text(LEFT, TOP - 14, y_name, QUIET),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, x_name, QUIET, anchor="middle"),
    ]
    for tick in ys:
        y = y_axis.at(tick)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        parts.append(text(LEFT - 10, y + 4, short(tick), QUIET, anchor="end"))
    for tick in xs:
        x = x_axis.at(tick)
        parts.append(f'<path d="M{x:.1f} {HEIGHT - BOTTOM}v5" stroke="{QUIET}"/>')
        parts.append(text(x, HEIGHT - BOTTOM + 20, short(tick), QUIET, anchor="middle"))
    parts.append(f'<path d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}" stroke="{QUIET}"/>')
    ends = {name: y_axis.at(line[-1].y) for name, line in lines.items()}
    labels = apart(ends)
    for (name, line), colour in zip(lines.items(), MORE_COLOURS, strict=False):
        parts += draw_line(name, line, colour, x_axis, y_axis)
        parts.append(text(WIDTH - RIGHT + 10, labels[name] + 4, name, colour, bold=True))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return "\n".join([f'{head} font-family="{FONT}">', *parts, "</svg>\n"])


def bar_plot(title: str, x_name: str, bars: Mapping[str, float]) -> str:
    """A picture with a bar for each name, the longest first, on a logarithmic axis."""
    order = sorted(bars.items(), key=lambda item: -item[1])
    bottom, left, step = TOP + 24 * len(bars), 250, 24
    marks = ticks(min(bars.values()) / 2, max(bars.values()))
    axis = Axis(marks[0], marks[-1], left, WIDTH - 90)
    height = bottom + BOTTOM
    parts = [
        f'<rect width="{WIDTH}" height="{height}" rx="12" fill="#ffffff" stroke="{GRID}"/>',
        text(20, 32, title, INK, size=17, bold=True),
        text((left + WIDTH - 90) / 2, height - 16, x_name, QUIET, anchor="middle"),
    ]
    for tick in marks:
        x = axis.at(tick)
        parts.append(f'<path d="M{x:.1f} {TOP - 8}V{bottom}" stroke="{GRID}"/>')
        parts.append(text(x, bottom + 20, short(tick), QUIET, anchor="middle"))
    for number, (name, value) in enumerate(order):
        y, end = TOP + step * number, axis.at(value)
        parts.append(text(left - 10, y + 12, name, INK, anchor="end"))
        parts.append(f'<rect x="{left}" y="{y}" width="{end - left:.1f}" height="16" rx="3" fill="{COLOURS[0]}"/>')
        parts.append(text(end + 8, y + 12, short(value), QUIET))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join([f'{head} font-family="{FONT}">', *parts, "</svg>\n"])


def draw_line(name: str, line: Sequence[Point], colour: str, x_axis: Axis, y_axis: Axis) -> list[str]:
    """The medians joined, with a bar from quartile to quartile at each."""
    path = " ".join(f"{x_axis.at(point.x):.1f},{y_axis.at(point.y):.1f}" for point in line)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>']
    for point in line:
        x, y = x_axis.at(point.x), y_axis.at(point.y)
        parts.append(
            f'<path d="M{x:.1f} {y_axis.at(point.low):.1f}V{y_axis.at(point.high):.1f}" stroke="{colour}" '
            f'stroke-width="5" stroke-opacity="0.3"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">'
            f"<title>{escape(name)}: {short(point.y)} at {short(point.x)}</title></circle>"
        )
    return parts


def ticks(low: float, high: float) -> list[float]:
    """Powers of ten around the values, with their doubles and fives while there are few.

    >>> ticks(30, 400)
    [20, 50, 100, 200, 500]
    """
    decades = range(int(log10(low)) - 1, int(log10(high)) + 2)
    steps = (1, 2, 5) if high / low < 1000 else (1,)
    marks = [step * 10.0**decade for decade in decades for step in steps]
    first = max(mark for mark in marks if mark <= low)
    last = min((mark for mark in marks if mark >= high), default=marks[-1])
    return [int(mark) if mark >= 1 else mark for mark in marks if first <= mark <= last]


def apart(ends: Mapping[str, float], bottom: float = HEIGHT - BOTTOM) -> dict[str, float]:
    """Heights of labels: beside the ends of their lines, moved so that none covers another."""
    placed = dict(sorted(ends.items(), key=lambda item: item[1]))
    for upper, lower in pairwise(placed):
        placed[lower] = max(placed[lower], placed[upper] + LINE)
    for lower, upper in pairwise(reversed(placed)):
        placed[lower] = min(placed[lower], bottom)
        placed[upper] = min(placed[upper], placed[lower] - LINE)
    return placed


def short(value: float) -> str:
    """
    >>> short(30_000_000), short(2500), short(7)
    ('30 M', '2.5 k', '7')
    """
    for size, unit in UNITS:
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def text(x: float, y: float, words: str, colour: str, size: int = 12, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" fill="{colour}"{weight}>{escape(words)}</text>'
