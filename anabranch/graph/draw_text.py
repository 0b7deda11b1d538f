"""A graph as a picture for a terminal.

Each entry is a row of boxes in the order of its flows; what does not lead from a box to the next is listed below.
"""

from __future__ import annotations

import textwrap
import unicodedata

from anabranch.graph import labels
from anabranch.graph.nodes import Dispatch, Entry, Flow, Graph, Task

_LINES = {Dispatch.BY_KEY: "─", Dispatch.ANY: "╌", Dispatch.ALL: "═", Dispatch.GATHER: "┅"}
_INDENT = "  "


def draw_text(graph: Graph, width: int = 100) -> str:
    """Boxes and arrows within `width` columns, as long as no single name is wider than that."""
    blocks = [f"{graph.name}: {labels.graph_text(graph)}"]
    if graph.states:
        blocks.append("\n".join(_list_states(graph)))
    blocks += ("\n".join(_draw_entry(graph, entry, width)) for entry in graph.entries)
    return "\n\n".join(blocks) + "\n"


def _list_states(graph: Graph) -> list[str]:
    names = max(_width(s.name) for s in graph.states)
    types = max(_width(labels.state_text(s)) for s in graph.states)
    rows = []
    for state in graph.states:
        axis = f"by {state.axis}  " if state.axis else ""
        kind = _pad(labels.state_text(state), types)
        rows.append(f"{_INDENT}{_pad(state.name, names)}  {kind}  {axis}{labels.source_text(state.span)}")
    return rows


def _draw_entry(graph: Graph, entry: Entry, width: int) -> list[str]:
    order, back = _chain_tasks(graph, entry)
    head = f"{labels.signature_text(entry)}  {labels.source_text(entry.span)}"
    lines = textwrap.wrap(head, width, subsequent_indent=_INDENT * 2, break_long_words=False, break_on_hyphens=False)
    if entry.winding is not None:
        reason = f"winding: {entry.winding}"
        lines += textwrap.wrap(reason, width, initial_indent=_INDENT, subsequent_indent=_INDENT * 2)
    shown: set[int] = set()
    row: list[str] = []
    for before, name in zip((None, *order), order, strict=False):
        arrow: list[str] = []
        flow = next((f for f in graph.flows if f.source == before and f.target == name), None)
        if name == entry.start:
            arrow = _arrow(labels.dispatch_text(entry.dispatch, entry.key), "", _LINES[entry.dispatch])
        elif flow is not None:
            shown.add(flow.number)
            arrow = _arrow(labels.flow_text(flow), labels.carried_text(flow), _LINES[flow.dispatch], flow.each)
        last = name == order[-1]
        unit = _beside(arrow, _task_box(graph, graph.task(name), last))
        if last and labels.returns(graph, graph.task(name)):
            unit = _beside(unit, ["", "", f"───▶ {entry.result}"])
        if row and max(map(_width, row)) + 1 + max(map(_width, unit)) > width - len(_INDENT):
            lines += ["", *(_INDENT + line for line in row)]
            row = []
        row = _beside(row, unit)
    lines += ["", *(_INDENT + line for line in row)]
    rest = [f for f in graph.flows if f.source in order and f.number not in shown]
    if rest:
        lines += ["", *(part for flow in rest for part in _tell(flow, flow.number in back, width))]
    return [line.rstrip() for line in lines]


def _chain_tasks(graph: Graph, entry: Entry) -> tuple[list[str], frozenset[int]]:
    """The order of the tasks, changed so that a task is followed by one it leads to where that can be."""
    tasks, back = labels.order_tasks(graph, entry)
    waiting = list(tasks)
    ahead = [(f.source, f.target) for f in graph.flows if f.source in waiting and f.number not in back]
    order: list[str] = []
    while waiting:
        ready = [name for name in waiting if not any(a in waiting for a, b in ahead if b == name)]
        name = next((n for n in ready if order and (order[-1], n) in ahead), ready[0])
        order.append(name)
        waiting.remove(name)
    return order, back


def _task_box(graph: Graph, task: Task, last: bool) -> list[str]:
    texts = (task.name, labels.place_text(task), labels.source_text(task.span))
    wide = max(map(_width, texts))
    below = [f"{labels.access_text(mode)} {state}" for state, mode in labels.accesses(task)]
    if labels.returns(graph, task) and not last:
        below.append(f"returns {graph.entry(task.entry).result}")
    return [
        f"┌{'─' * (wide + 2)}┐",
        *(f"│ {_pad(text, wide)} │" for text in texts),
        f"└{'─' * (wide + 2)}┘",
        *(f"  {line}" for line in below),
    ]


def _arrow(dispatch: str, carried: str, stroke: str, each: bool = False) -> list[str]:
    below = textwrap.wrap(carried, max(12, _width(dispatch)), break_long_words=False, break_on_hyphens=False)
    wide = max(_width(dispatch) + 2, *(_width(line) + 1 for line in below), 6)
    heads = "▶▶▶" if each else "▶"
    return ["", f" {dispatch}", stroke * (wide - len(heads)) + heads, *(f" {line}" for line in below)]


def _tell(flow: Flow, back: bool, width: int) -> list[str]:
    """A flow in words: one that leads back, or over other tasks."""
    stroke = _LINES[flow.dispatch]
    text = f"{flow.source} {stroke * 2} {labels.flow_text(flow)} {stroke * 2}▶ {flow.target}{' (back)' if back else ''}"
    if flow.carries:
        text += f"  {labels.carried_text(flow)}"
    return textwrap.wrap(
        text,
        width,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _beside(left: list[str], right: list[str]) -> list[str]:
    """Two blocks next to each other, a column apart."""
    if not left or not right:
        return left or right
    wide = max(map(_width, left))
    height = max(len(left), len(right))
    filled = [*left, *[""] * (height - len(left))], [*right, *[""] * (height - len(right))]
    return [f"{_pad(a, wide)} {b}" for a, b in zip(*filled, strict=True)]


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
