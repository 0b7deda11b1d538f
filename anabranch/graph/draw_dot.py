"""A graph as Graphviz source."""

from __future__ import annotations

from anabranch.graph import labels
from anabranch.graph.nodes import Dispatch, Entry, Graph, Task
from anabranch.lang.distribution import Distribution

_FILLS = {Distribution.PARTITIONED: "#dbeafe", Distribution.PARTIAL: "#fef3c7", Distribution.REPLICATED: "#ede9fe"}
_ARROWS = {Dispatch.BY_KEY: "normal", Dispatch.ANY: "vee", Dispatch.ALL: "crow", Dispatch.GATHER: "inv"}


def draw_dot(graph: Graph) -> str:
    """Graphviz source: a cluster per entry, states as cylinders, accesses dashed."""
    lines = [
        f"digraph {_quote(graph.name)} {{",
        "  rankdir=LR",
        '  node [fontname="Helvetica", fontsize=11]',
        '  edge [fontname="Helvetica", fontsize=9]',
    ]
    for state in graph.states:
        look = _look(
            label=f"{state.name}\n{labels.state_text(state)}",
            shape="cylinder",
            style="filled",
            fillcolor=_FILLS[state.distribution],
            tooltip=labels.state_title(state),
        )
        lines.append(f"  {_quote('state ' + state.name)} {look}")
    for entry in graph.entries:
        lines += _draw_entry(graph, entry)
    for flow in graph.flows:
        look = _look(
            label="\n".join(filter(None, (labels.flow_text(flow), labels.carried_text(flow)))),
            arrowhead=_ARROWS[flow.dispatch] * (3 if flow.each else 1),
            tooltip=labels.flow_title(flow),
        )
        lines.append(f"  {_quote('task ' + flow.source)} -> {_quote('task ' + flow.target)} {look}")
    for task in graph.tasks:
        for state_name, mode in labels.accesses(task):
            look = _look(style="dashed", dir="both" if mode == "both" else "forward", tooltip=labels.access_text(mode))
            ends = [_quote("task " + task.name), _quote("state " + state_name)]
            lines.append(f"  {' -> '.join(reversed(ends) if mode == 'read' else ends)} {look}")
    return "\n".join([*lines, "}", ""])


def _draw_entry(graph: Graph, entry: Entry) -> list[str]:
    name = "entry " + entry.name
    label = labels.signature_text(entry) + (" (winding)" if entry.winding is not None else "")
    tasks = [task for task in graph.tasks if task.entry == entry.name]
    lines = [
        f"  subgraph {_quote('cluster ' + entry.name)} {{",
        f"    label={_quote(label)}",
        f"    tooltip={_quote(labels.entry_title(entry))}",
        '    style="rounded"',
        '    color="#94a3b8"',
        '    fontname="Helvetica"',
        f"    {_quote(name)} {_look(label=chr(10).join(labels.parameter_texts(entry)) or '()', shape='plain')}",
        *(f"    {_quote('task ' + task.name)} {_draw_task(task)}" for task in tasks),
    ]
    dispatch = _look(label=labels.dispatch_text(entry.dispatch, entry.key), arrowhead=_ARROWS[entry.dispatch])
    lines.append(f"    {_quote(name)} -> {_quote('task ' + entry.start)} {dispatch}")
    sources = [task for task in tasks if labels.returns(graph, task)]
    if sources:
        lines.append(f"    {_quote('result ' + entry.name)} {_look(label=str(entry.result), shape='plain')}")
    lines += (f"    {_quote('task ' + task.name)} -> {_quote('result ' + entry.name)}" for task in sources)
    return [*lines, "  }"]


def _draw_task(task: Task) -> str:
    label = "\n".join((task.name, labels.place_text(task), labels.source_text(task.span)))
    return _look(label=label, shape="box", style="rounded", tooltip=labels.task_title(task))


def _look(**attributes: str) -> str:
    return f"[{', '.join(f'{name}={_quote(value)}' for name, value in attributes.items())}]"


def _quote(text: str) -> str:
    """Graphviz reads `\\` escapes and HTML entities inside quotes."""
    for plain, escaped in (("&", "&amp;"), ("\\", "\\\\"), ('"', '\\"'), ("\r", ""), ("\n", "\\n")):
        text = text.replace(plain, escaped)
    return f'"{text}"'
