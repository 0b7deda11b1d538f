"""Where everything in the drawn picture of a graph goes.

Each entry is a lane; its tasks stand in columns by longest path, all lanes on one grid. Between two lanes stand the
states they use; a state used by lanes further apart is drawn again, so that no line crosses a lane. Boxes of one
column step to the right from row to row, so that each has an edge from which a line goes straight up or down.

Laws: no two boxes overlap, no label overlaps a box or a label, every wire begins and ends on the border of a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from anabranch.graph import labels
from anabranch.graph.labels import Text, measure
from anabranch.graph.nodes import Entry, Graph

Point = tuple[float, float]

MARGIN, HEADER, LANE_PAD, LANE_GAP = 24.0, 76.0, 18.0, 14.0
ROW_GAP, PORT, SLOT, BAND, RIM = 30.0, 22.0, 16.0, 46.0, 8.0
GUTTER, CURVE, ARC = 24.0, 22.0, 8.0


@dataclass(slots=True, eq=False)
class Box:
    """An `entry`, `task`, `result` or `state`; a `bend` is where a long wire passes a column and is not drawn.

    `tone` names its colour; `again` marks a state drawn before.
    """

    kind: str
    name: str
    lines: tuple[Text, ...] = ()
    title: str = ""
    tone: str = "plain"
    column: int = 0
    row: int = 0
    x: float = 0
    y: float = 0
    w: float = 0
    h: float = 12
    again: bool = False
    accesses: tuple[tuple[str, str], ...] = ()

    @property
    def middle(self) -> float:
        return self.y + self.h / 2

    @property
    def center(self) -> float:
        return self.x + self.w / 2


@dataclass(slots=True, eq=False)
class Wire:
    """A line through boxes, the first and last its ends. `kind` is a dispatch, `result`, `read`, `write` or `both`.

    Its labels stand above and below the point `at`.
    """

    kind: str
    chain: list[Box]
    above: tuple[Text, ...] = ()
    below: tuple[Text, ...] = ()
    title: str = ""
    each: bool = False
    back: bool = False
    ports: list[float] = field(default_factory=lambda: [0.0, 0.0])
    points: list[Point] = field(default_factory=list)
    at: Point = (0, 0)

    def end(self, place: int) -> float:
        """The height at which it meets a box of its chain."""
        first, last = place == 0, place == len(self.chain) - 1
        return self.chain[place].middle + (self.ports[0] if first else self.ports[1] if last else 0)


@dataclass(slots=True, eq=False)
class Lane:
    """One entry; heights count from the middle of the first row until `y` is known."""

    boxes: list[Box]
    wires: list[Wire]
    tracks: dict[tuple[Wire, int], float] = field(default_factory=dict)
    arcs: dict[Wire, float] = field(default_factory=dict)
    top: float = 0
    bottom: float = 0

    def shift(self, by: float) -> None:
        for box in self.boxes:
            box.y += by
        self.tracks = {step: y + by for step, y in self.tracks.items()}
        self.arcs = {wire: y + by for wire, y in self.arcs.items()}
        self.top, self.bottom = self.top + by, self.bottom + by


def build_lane(graph: Graph, entry: Entry) -> Lane:
    """Boxes with their columns, rows and sizes; wires with their bends."""
    order, back = labels.order_tasks(graph, entry)
    start = Box("entry", entry.name, labels.entry_lines(entry), labels.entry_title(entry))
    tasks: dict[str, Box] = {}
    for task in map(graph.task, order):
        tone = next((graph.state(s).distribution.name.lower() for s in task.states), "plain")
        box = Box("task", task.name, labels.task_lines(task), labels.task_title(task), tone, column=1)
        box.accesses = labels.accesses(task)
        tasks[task.name] = box
    head = labels.dispatch_lines(labels.dispatch_text(entry.dispatch, entry.key))
    wires = [Wire(entry.dispatch.value, [start, tasks[entry.start]], head, title=labels.signature_text(entry))]
    for flow in (f for f in graph.flows if f.source in tasks):
        chain, head = [tasks[flow.source], tasks[flow.target]], labels.dispatch_lines(labels.flow_text(flow))
        tail, title = labels.carried_lines(flow), labels.flow_title(flow)
        wires.append(Wire(flow.dispatch.value, chain, head, tail, title, flow.each, flow.number in back))
    boxes = [start, *tasks.values()]
    sources = [tasks[name] for name in order if labels.returns(graph, graph.task(name))]
    if sources:
        boxes.append(Box("result", entry.name, labels.result_lines(entry), f"{entry.name} gives {entry.result}"))
        wires += [Wire("result", [source, boxes[-1]], title=boxes[-1].title) for source in sources]
    for box in boxes:  # in topological order: a column is final when it is read
        for wire in wires:
            if wire.chain[0] is box and not wire.back:
                wire.chain[1].column = max(wire.chain[1].column, box.column + 1)
        w, h = measure(box.lines)
        ends = [[w.back for w in wires if w.chain[end] is box] for end in (0, -1)]
        far = max(max(sum(backs), len(backs) - sum(backs) - 1) for backs in ends)
        box.w, box.h = w + 32, max(h + 18, far * PORT * 2 + 24)
    for wire in wires:
        if not wire.back:
            wire.chain[1:1] = [Box("bend", "", column=c) for c in range(wire.chain[0].column + 1, wire.chain[1].column)]
            boxes += wire.chain[1:-1]
    _set_rows(boxes, wires)
    return Lane(boxes, wires)


def _set_rows(boxes: list[Box], wires: list[Wire]) -> None:
    """A box stands on the row of what leads to it, or on the next free one below."""
    for column in range(1, max(b.column for b in boxes) + 1):
        wanted = {}
        for box in (b for b in boxes if b.column == column):
            before = [a.row for w in wires if not w.back for a, b in pairwise(w.chain) if b is box]
            wanted[box] = sum(before) / max(len(before), 1)
        free = 0
        for box in sorted(wanted, key=lambda b: (wanted[b], b.kind == "bend")):
            box.row = max(free, int(wanted[box]))
            free = box.row + 1


def spread(wants: Sequence[float], befores: Sequence[float], afters: Sequence[float], gap: float = 0) -> list[float]:
    """Positions in the given order, by least squares near those wanted, each with its room before and after."""
    offsets = [0.0]
    for after, before in zip(afters, befores[1:], strict=False):
        offsets.append(offsets[-1] + after + gap + before)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wants, offsets, strict=False):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, size = blocks.pop()
            mean, count = (mean * count + other * size) / (count + size), count + size
        blocks.append((mean, count))
    bases = [mean for mean, count in blocks for _ in range(count)]
    return [base + offset for base, offset in zip(bases, offsets, strict=False)]


def set_heights(lane: Lane) -> None:
    """Heights of boxes, ports, labelled tracks and the arcs of wires that lead back."""
    rows = range(max(b.row for b in lane.boxes) + 1)
    heights = [max((b.h for b in lane.boxes if b.row == r), default=0) for r in rows]
    for box in lane.boxes:
        box.y = sum(heights[: box.row]) + box.row * ROW_GAP - heights[0] / 2 + (heights[box.row] - box.h) / 2
        for end, near in ((0, 1), (-1, -2)):
            ends = [w for w in lane.wires if w.chain[end] is box]
            ends.sort(key=lambda w: (not w.back, w.chain[near].row))
            for i, wire in enumerate(ends):
                wire.ports[end] = (i - sum(w.back for w in ends)) * PORT  # the first forward one at the middle
    extents = [(b.y, b.y + b.h) for b in lane.boxes]
    for column in range(max(b.column for b in lane.boxes)):
        steps = [(w, i) for w in lane.wires if not w.back for i, b in enumerate(w.chain[:-1]) if b.column == column]
        wants = {(w, i): (w.end(i) + w.end(i + 1)) / 2 for w, i in steps}
        steps.sort(key=lambda s: (wants[s], s[0].end(s[1])))
        befores = [measure(w.above)[1] + 5 if i == 0 else 5 for w, i in steps]
        afters = [measure(w.below)[1] + 5 if i == 0 else 5 for w, i in steps]
        ys = spread([wants[s] for s in steps], befores, afters, 6)
        lane.tracks.update(zip(steps, ys, strict=True))
        extents += [(y - before, y + after) for y, before, after in zip(ys, befores, afters, strict=True)]
    lane.top, lane.bottom = min(top for top, _ in extents), max(bottom for _, bottom in extents)
    for wire in sorted((w for w in lane.wires if w.back), key=lambda w: w.chain[0].column - w.chain[1].column):
        lane.arcs[wire] = lane.top - 12 - measure(wire.below)[1]
        lane.top = lane.arcs[wire] - 5 - measure(wire.above)[1]


def set_columns(lanes: list[Lane]) -> list[tuple[float, float, float, float]]:
    """Set the boxes' left edges; give for each channel right of a column where wires turn and labels begin and end."""
    boxes = [b for lane in lanes for b in lane.boxes]
    room = GUTTER + ARC * max((len(lane.arcs) for lane in lanes), default=0)
    channels, x = [], MARGIN + LANE_PAD
    for column in range(max((b.column for b in boxes), default=-1) + 1):
        here = [b for b in boxes if b.column == column and b.kind != "bend"]
        width = max(b.w for b in here)
        tall = any(sum(b in here for b in lane.boxes) > 1 for lane in lanes)
        step = SLOT * max(len(b.accesses) for b in here) + GUTTER if tall else 0
        right = max(x + step * b.row + width for b in here)
        for box in (b for b in boxes if b.column == column):
            box.x = x + step * box.row if box.kind != "bend" else x
            box.w = right - x if box.kind == "bend" else box.w if box.kind == "result" else width
        texts = [t for lane in lanes for w in lane.wires if w.chain[0].column == column for t in (*w.above, *w.below)]
        steps = [(w, i, y) for lane in lanes for (w, i), y in lane.tracks.items() if w.chain[i].column == column]
        curve = CURVE if any(abs(y - w.end(i)) + abs(y - w.end(i + 1)) > 1 for w, i, y in steps) else 2
        turn, begin = right + room, right + room + curve
        end = begin + max(measure(texts)[0] + 8, 16)
        channels.append((turn, begin, end, end + curve))
        x = end + curve + room
    return channels


def route(lane: Lane, channels: list[tuple[float, float, float, float]]) -> None:
    """Give the wires between tasks their points, and place their labels."""
    for wire in lane.wires:
        source, target = wire.chain[0], wire.chain[-1]
        wire.points = [(source.x + source.w, wire.end(0))]
        if wire.back:
            n, y = list(lane.arcs).index(wire), lane.arcs[wire]
            out = max(b.x + b.w for b in lane.boxes if b.column == source.column) + 12 + ARC * n
            into = min(b.x for b in lane.boxes if b.column == target.column) - 20 - ARC * n
            wire.points += [(out, wire.end(0)), (out, y), (into, y), (into, wire.end(1))]
            wire.at = (max((out + into) / 2, MARGIN + LANE_PAD + measure((*wire.above, *wire.below))[0] / 2), y)
        else:
            for i, box in enumerate(wire.chain[:-1]):
                turn, begin, end, into = channels[box.column]
                y = lane.tracks[wire, i]
                wire.points += [(turn, wire.end(i)), (begin, y), (end, y), (into, wire.end(i + 1))]
            wire.at = ((wire.points[2][0] + wire.points[3][0]) / 2, wire.points[2][1])
        wire.points.append((target.x, wire.end(len(wire.chain) - 1)))


def find_homes(graph: Graph) -> list[dict[str, int]]:
    """For each lane the states it uses, and below which lane they stand: its own or the one above."""
    homes: list[dict[str, int]] = []
    for i, entry in enumerate(graph.entries):
        used = {s for t in graph.tasks if t.entry == entry.name for s in t.states}
        above = {s for s in used if i > 0 and (homes[-1].get(s) == i - 1 or i == len(graph.entries) - 1)}
        homes.append({s: i - 1 if s in above else i for s in sorted(used)})
    return homes


def state_row(graph: Graph, lanes: list[Lane], homes: list[dict[str, int]], row: int) -> list[Box]:
    """The states below a lane, each near the tasks that use it."""
    wants: dict[Box, float] = {}
    for state in graph.states:
        near = [lanes[i] for i in range(row, min(row + 2, len(lanes))) if homes[i].get(state.name) == row]
        if not near and (row > 0 or any(state.name in home for home in homes)):
            continue
        w, h = measure(labels.state_lines(state))
        tone = state.distribution.name.lower()
        box = Box("state", state.name, labels.state_lines(state), labels.state_title(state), tone)
        box.w, box.h = w + 34, h + 2 * RIM + 14
        centers = [b.center for lane in near for b in lane.boxes if state.name in dict(b.accesses)]
        wants[box] = sum(centers) / len(centers) if centers else 0
    boxes = sorted(wants, key=lambda b: wants[b])
    centers = spread([wants[b] for b in boxes], [b.w / 2 for b in boxes], [b.w / 2 for b in boxes], 28)
    push = max((MARGIN + LANE_PAD - x + b.w / 2 for b, x in zip(boxes, centers, strict=True)), default=0)
    for box, x in zip(boxes, centers, strict=True):
        box.x, box.h = x - box.w / 2 + max(push, 0), max(b.h for b in boxes)
    return boxes


def connect(lane: Lane, row: list[Box], homes: dict[str, int], number: int, down: bool) -> list[Wire]:
    """The accesses between a lane and a row of states below or above it."""
    wires, edge = [], lane.bottom + LANE_PAD if down else lane.top - LANE_PAD
    for task in lane.boxes:
        states = [b for b in row if b.name in dict(task.accesses) and homes[b.name] == number]
        others = [b for b in lane.boxes if b.column == task.column and b.kind != "bend"]
        above = [b.x + b.w + GUTTER for b in others if not down and b.row < task.row]
        below = [b.x - GUTTER for b in others if down and b.row > task.row]
        low, high = max([task.x, *above]), min([task.x + task.w, *below])
        for state, x in zip(states, _slots([b.center for b in states], low, high), strict=True):
            mode = dict(task.accesses)[state.name]
            title = f"{task.name} {labels.access_text(mode)} {state.name}"
            wires.append(Wire(mode, [task, state], title=title))
            wires[-1].points = [(x, task.y + task.h if down else task.y), (x, edge)]
    for state in row:
        ends = sorted((w for w in wires if w.chain[1] is state), key=lambda w: w.points[0])
        xs = _slots([w.points[0][0] for w in ends], state.x + 4, state.x + state.w - 4)
        for wire, x in zip(ends, xs, strict=True):
            rim = RIM - RIM * (1 - ((x - state.center) / (state.w / 2)) ** 2) ** 0.5
            top, bottom = state.y, state.y + state.h
            wire.points += [(x, top - 8), (x, top + rim)] if down else [(x, bottom + 8), (x, bottom - rim)]
    return wires


def _slots(wants: list[float], low: float, high: float) -> list[float]:
    """Places for line ends on an edge, near those wanted and in their order."""
    step = min(SLOT, (high - low) / max(len(wants), 1))
    first, spare = low + step / 2, high - low - step * len(wants)
    clamped = [min(max(x, first + step * i), first + step * i + spare) for i, x in enumerate(wants)]
    return spread(clamped, [step / 2] * len(wants), [step / 2] * len(wants))
