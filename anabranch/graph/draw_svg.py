"""A graph as a standalone SVG: the picture of notebooks and of the documentation.

Colours are attributes, so that the picture is right where styles are stripped; the only style is the dark scheme, and
its rules begin with the class of the picture because a notebook puts it into the page. There are no ids for the same
reason: arrowheads are paths, not markers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from anabranch.graph import labels, layout
from anabranch.graph.labels import Text, measure
from anabranch.graph.layout import BAND, HEADER, LANE_GAP, LANE_PAD, MARGIN, RIM, Box, Point, Wire
from anabranch.graph.nodes import Dispatch, Graph

_SANS = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_COLOURS = {  # light, dark
    "card": ("#ffffff", "#0f172a"),
    "edge": ("#e2e8f0", "#273449"),
    "lane": ("#f6f8fb", "#162033"),
    "box": ("#ffffff", "#1e293b"),
    "frame": ("#cbd5e1", "#475569"),
    "chip": ("#e4eaf2", "#334155"),
    "ink": ("#0f172a", "#f1f5f9"),
    "soft": ("#475569", "#cbd5e1"),
    "quiet": ("#64748b", "#94a3b8"),
    "wire": ("#475569", "#a8b5c8"),
    "winding": ("#c2410c", "#fb923c"),
    "plain": ("#94a3b8", "#64748b"),
    "plain-line": ("#94a3b8", "#64748b"),
    "again-line": ("#94a3b8", "#64748b"),
    "again-fill": ("#ffffff", "#0f172a"),
    "partitioned": ("#1e40af", "#bfdbfe"),
    "partitioned-line": ("#2563eb", "#60a5fa"),
    "partitioned-fill": ("#dbe9fe", "#172e57"),
    "partial": ("#92400e", "#fde68a"),
    "partial-line": ("#d97706", "#fbbf24"),
    "partial-fill": ("#fef0c3", "#3f2d0b"),
    "replicated": ("#5b21b6", "#ddd6fe"),
    "replicated-line": ("#7c3aed", "#a78bfa"),
    "replicated-fill": ("#ebe5fe", "#2e1f54"),
}
_MEANINGS = {
    "again": "the same state again",
    "by key": "by key: to the owner of the key",
    "any": "any: to the instance of the row",
    "all": "all: to every instance",
    "gather": "gather: one list of all values",
    "each": "each: a message per iteration",
    "read": "reads",
    "write": "writes",
    "both": "reads and writes",
}


@dataclass(slots=True)
class Picture:
    """What is drawn, in place."""

    width: float = 0
    height: float = 0
    lanes: list[tuple[float, float]] = field(default_factory=list)  # top and height
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)


def draw_svg(graph: Graph) -> str:
    """A standalone picture with tooltips, for light and dark pages."""
    picture = lay_out(graph)
    title = (Text(graph.name, 20, bold=True, role="ink"), Text(labels.graph_text(graph), 12))
    width = max(picture.width, measure(title)[0] + 2 * MARGIN, 420)
    legend, height = _draw_legend(picture, width)
    lanes = (
        f'<rect x="{_n(MARGIN)}" y="{_n(y)}" width="{_n(width - 2 * MARGIN)}" height="{_n(h)}" rx="14" '
        f"{_paint('lane', 'edge')}/>"
        for y, h in picture.lanes
    )
    dark = "".join(
        f".anabranch .f-{name}{{fill:{dark}}}.anabranch .s-{name}{{stroke:{dark}}}"
        for name, (_, dark) in _COLOURS.items()
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="anabranch" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img" aria-label="{_x(graph.name)}" '
        f'style="max-width:100%;height:auto" font-family="{_x(_SANS)}">',
        f"<style>@media (prefers-color-scheme: dark){{{dark}}}</style>",
        f'<rect x="0.5" y="0.5" width="{_n(width - 1)}" height="{_n(height - 1)}" rx="16" {_paint("card", "edge")}/>',
        _draw_lines(title, MARGIN + 2, MARGIN - 4, "start"),
        *lanes,
        *map(_draw_box, picture.boxes),
        *map(_draw_wire, sorted(picture.wires, key=lambda w: w.kind not in ("read", "write", "both"))),
        *(_draw_label(wire) for wire in picture.wires if wire.above),
        *legend,
        "</svg>",
    ]
    return "\n".join(parts)


def lay_out(graph: Graph) -> Picture:
    """Lanes from top to bottom with the rows of states between them."""
    lanes = [layout.build_lane(graph, entry) for entry in graph.entries]
    for lane in lanes:
        layout.set_heights(lane)
    channels = layout.set_columns(lanes)
    homes = layout.find_homes(graph)
    rows = [layout.state_row(graph, lanes, homes, i) for i in range(max(len(lanes), 1))]
    picture, y = Picture(), HEADER
    for i, row in enumerate(rows):
        for lane in lanes[i : i + 1]:
            lane.shift(y + LANE_PAD - lane.top)
            picture.lanes.append((y, lane.bottom - lane.top + 2 * LANE_PAD))
            y += picture.lanes[-1][1]
            layout.route(lane, channels)
            picture.wires += lane.wires
            picture.boxes += (b for b in lane.boxes if b.kind != "bend")
        for box in row:
            box.y = y + BAND
            box.again = any(b.kind == "state" and b.name == box.name for b in picture.boxes)
        picture.boxes += row
        y += 2 * BAND + max(b.h for b in row) if row else LANE_GAP
    for i, lane in enumerate(lanes):
        picture.wires += layout.connect(lane, rows[i], homes[i], i, down=True)
        picture.wires += layout.connect(lane, rows[i - 1], homes[i], i - 1, down=False)
    rights = [b.x + b.w for b in picture.boxes] + [x for w in picture.wires for x, _ in w.points]
    rights += [w.at[0] + measure((*w.above, *w.below))[0] / 2 for w in picture.wires]
    picture.width = max(rights, default=300) + LANE_PAD + MARGIN
    picture.height = y if rows[-1] else y - LANE_GAP + 30
    return picture


def _draw_box(box: Box) -> str:
    x, y, w, h = box.x, box.y, box.w, box.h
    top = y + (h - measure(box.lines)[1]) / 2
    if box.kind == "state":
        shape = _cylinder(x, y, w, h, box.tone, box.again)
        text = _draw_lines(box.lines, box.center, top + RIM / 2, "middle")
        title = box.title + ("\n(drawn again: it is one state)" if box.again else "")
    else:
        look = _paint("box", "frame") if box.kind == "task" else _paint("chip")
        shape = f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="10" {look}/>'
        if box.kind == "task":
            bar = _paint(f"{box.tone}-line")
            shape += f'<rect x="{_n(x + 6)}" y="{_n(y + 9)}" width="3" height="{_n(h - 18)}" rx="1.5" {bar}/>'
        text, title = _draw_lines(box.lines, x + 18, top, "start"), box.title
    return f"<g><title>{_x(title)}</title>{shape}{text}</g>"


def _cylinder(x: float, y: float, w: float, h: float, tone: str, again: bool = False, rim: float = RIM) -> str:
    look = _paint(f"{tone}-fill", f"{tone}-line") + ' stroke-width="1.4"' + (' stroke-dasharray="5 3"' if again else "")
    arc = f"A{_n(w / 2)} {_n(rim)} 0 0"
    body = (
        f"M{_n(x)} {_n(y + rim)}{arc} 1 {_n(x + w)} {_n(y + rim)}V{_n(y + h - rim)}{arc} 1 {_n(x)} {_n(y + h - rim)}Z"
    )
    lid = f"M{_n(x)} {_n(y + rim)}{arc} 0 {_n(x + w)} {_n(y + rim)}"
    return f'<path d="{body}" {look}/><path d="{lid}" {look}/>'


def _draw_wire(wire: Wire) -> str:
    access = wire.kind in ("read", "write", "both")
    colour = f"{wire.chain[-1].tone}-line" if access else "plain" if wire.kind == "result" else "wire"
    points = list(wire.points)
    heads = ""
    if wire.kind == "all":
        (x, y), points[-1] = points[-1], (points[-1][0] - 20, points[-1][1])
        for aside in (-8, 0, 8):
            parts = (
                f"M{_n(x - 20)} {_n(y)}C{_n(x - 11)} {_n(y)} {_n(x - 15)} {_n(y + aside)} {_n(x - 5)} {_n(y + aside)}"
            )
            heads += f'<path d="{parts}" fill="none" {_paint(stroke=colour)} stroke-width="1.5"/>'
            heads += _head((x, y + aside), (1, 0), colour, 3)
    elif wire.kind == "gather":
        (x, y), points[0] = points[0], (points[0][0] + 20, points[0][1])
        for aside in (-8, 0, 8):
            joins = f"M{_n(x)} {_n(y + aside)}C{_n(x + 11)} {_n(y + aside)} {_n(x + 9)} {_n(y)} {_n(x + 20)} {_n(y)}"
            heads += f'<path d="{joins}" fill="none" {_paint(stroke=colour)} stroke-width="1.5"/>'
    if wire.kind in ("read", "both"):
        heads += _arrive(points, 0, colour)
    if wire.kind not in ("read", "all"):
        heads += _arrive(points, -1, colour, wire.kind == "any", 3 if wire.each else 1)
    dash = ' stroke-dasharray="4 4"' if access else ""
    path = _path(points, wire.back, access)
    line = f'<path d="{path}" fill="none" {_paint(stroke=colour)} stroke-width="1.5"{dash}/>'
    wide = f'<path d="{path}" fill="none" stroke="transparent" stroke-width="12"/>'  # room for the tooltip
    return f"<g><title>{_x(wire.title)}</title>{wide}{line}{heads}</g>"


def _arrive(points: list[Point], end: int, colour: str, is_open: bool = False, count: int = 1) -> str:
    """Heads at an end of a line, which is cut back so that it does not show beyond the tip."""
    (x, y), (px, py) = points[end], points[1 if end == 0 else -2]
    length = max(abs(x - px) + abs(y - py), 1)
    way = ((x - px) / length, (y - py) / length)
    points[end] = (x - way[0] * (1 if is_open else 6), y - way[1] * (1 if is_open else 6))
    return "".join(_head((x - way[0] * 7 * i, y - way[1] * 7 * i), way, colour, 4.2, is_open) for i in range(count))


def _head(tip: Point, way: Point, colour: str, half: float, is_open: bool = False) -> str:
    (x, y), (dx, dy) = tip, way
    long = half * 2
    left = f"{_n(x - dx * long - dy * half)} {_n(y - dy * long + dx * half)}"
    right = f"{_n(x - dx * long + dy * half)} {_n(y - dy * long - dx * half)}"
    shape = f"M{left}L{_n(x)} {_n(y)}L{right}"
    if is_open:
        return f'<path d="{shape}" fill="none" {_paint(stroke=colour)} stroke-width="1.5"/>'
    return f'<path d="{shape}Z" {_paint(colour)}/>'


def _path(points: list[Point], back: bool, vertical: bool) -> str:
    (x, y), rest = points[0], points[1:]
    path = f"M{_n(x)} {_n(y)}"
    for i, (nx, ny) in enumerate(rest):
        if back and i < len(rest) - 1:  # a rounded corner
            ax, ay = rest[i + 1]
            radius = min(12.0, (abs(nx - x) + abs(ny - y)) / 2, (abs(ax - nx) + abs(ay - ny)) / 2)
            before = (nx - _sign(nx - x) * radius, ny - _sign(ny - y) * radius)
            after = (nx + _sign(ax - nx) * radius, ny + _sign(ay - ny) * radius)
            path += f"L{_n(before[0])} {_n(before[1])}Q{_n(nx)} {_n(ny)} {_n(after[0])} {_n(after[1])}"
        elif abs(nx - x) < 0.5 or abs(ny - y) < 0.5:
            path += f"L{_n(nx)} {_n(ny)}"
        elif vertical:
            path += f"C{_n(x)} {_n((y + ny) / 2)} {_n(nx)} {_n((y + ny) / 2)} {_n(nx)} {_n(ny)}"
        else:
            path += f"C{_n((x + nx) / 2)} {_n(y)} {_n((x + nx) / 2)} {_n(ny)} {_n(nx)} {_n(ny)}"
        x, y = nx, ny
    return path


def _draw_label(wire: Wire) -> str:
    x, y = wire.at
    drawn = ""
    for lines, top in ((wire.above, y - 4 - measure(wire.above)[1]), (wire.below, y + 4)):
        w, h = measure(lines)
        if wire.back:  # it may lie over accesses
            drawn += f'<rect x="{_n(x - w / 2)}" y="{_n(top)}" width="{_n(w)}" height="{_n(h)}" {_paint("lane")}/>'
        drawn += _draw_lines(lines, x, top, "middle")
    return f"<g><title>{_x(wire.title)}</title>{drawn}</g>"


def _draw_legend(picture: Picture, width: float) -> tuple[list[str], float]:
    """One item for each thing that occurs, and the height of the whole picture."""
    x, y = MARGIN + 2, picture.height
    tones = dict.fromkeys(b.tone for b in picture.boxes if b.kind == "state")
    kinds = {w.kind for w in picture.wires} | {"each" for w in picture.wires if w.each}
    parts = []
    again = ["again"] if any(b.again for b in picture.boxes) else []
    for item in [*tones, *again, *(kind for kind in _MEANINGS if kind in kinds)]:
        text = Text(_MEANINGS.get(item, item), 11, role="soft")
        if x > MARGIN + 2 and x + 54 + text.width > width - MARGIN:
            x, y = MARGIN + 2, y + 26
        if item in tones or item in again:
            sample, wide = _cylinder(x, y - 9, 24, 18, item, item in again, rim=3.5), 32
        else:
            ends = [Box("", "", tone="plain"), Box("", "", tone="plain")]
            kind = Dispatch.BY_KEY.value if item == "each" else item
            points = [(x, y), (x + 20, y), (x + 44, y)]
            sample, wide = _draw_wire(Wire(kind, ends, title=text.text, each=item == "each", points=points)), 54
        parts.append(sample + _draw_lines((text,), x + wide, y - text.height / 2, "start"))
        x += wide + text.width + 12
    return parts, y + 26 if parts else y


def _draw_lines(lines: tuple[Text, ...], x: float, y: float, anchor: str) -> str:
    drawn = ""
    for line in lines:
        font = f' font-family="{_x(_MONO)}"' if line.mono else ""
        font += ' font-weight="600"' if line.bold else ""
        drawn += (
            f'<text x="{_n(x)}" y="{_n(y + line.size * 1.08)}" font-size="{_n(line.size)}" text-anchor="{anchor}"'
            f"{font} {_paint(line.role)}>{_x(line.text)}</text>"
        )
        y += line.height
    return drawn


def _paint(fill: str | None = None, stroke: str | None = None) -> str:
    names = [f"f-{fill}"] * (fill is not None) + [f"s-{stroke}"] * (stroke is not None)
    colours = [f'fill="{_COLOURS[fill][0]}"'] if fill is not None else []
    colours += [f'stroke="{_COLOURS[stroke][0]}"'] if stroke is not None else []
    return f'class="{" ".join(names)}" {" ".join(colours)}'


def _sign(value: float) -> float:
    return (value > 0) - (value < 0)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _x(text: str) -> str:
    """XML knows no control characters, not even escaped."""
    return escape("".join(c if c >= " " or c in "\n\t" else "�" for c in text))
