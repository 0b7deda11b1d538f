"""A graph as a Mermaid flowchart."""

from __future__ import annotations

from anabranch.graph import labels
from anabranch.graph.nodes import Dispatch, Entry, Flow, Graph
from anabranch.lang.distribution import Distribution

_CLASSES = {
    Distribution.PARTITIONED: ("partitioned", "fill:#dbeafe,stroke:#2563eb,color:#1e3a8a"),
    Distribution.PARTIAL: ("partial", "fill:#fef3c7,stroke:#d97706,color:#78350f"),
    Distribution.REPLICATED: ("replicated", "fill:#ede9fe,stroke:#7c3aed,color:#4c1d95"),
}
_ARROWS = {Dispatch.BY_KEY: "-->", Dispatch.ANY: "-->", Dispatch.ALL: "==>", Dispatch.GATHER: "==>"}
# In a label `#` begins a character code; a backtick, or a list at its start, makes it Markdown.
_SPECIAL = {ord(c): f"#{ord(c)};" for c in '"#&<>`*\\'} | {ord("\r"): "", ord("\n"): "<br/>"}


def draw_mermaid(graph: Graph) -> str:
    """A flowchart: a subgraph per entry, states as cylinders, accesses dotted."""
    tasks = {task.name: f"task{i}" for i, task in enumerate(graph.tasks)}
    states = {state.name: f"state{i}" for i, state in enumerate(graph.states)}
    lines = ["flowchart LR"]
    for state in graph.states:
        label = _quote(f"{state.name}\n{labels.state_text(state)}")
        lines.append(f"  {states[state.name]}[({label})]:::{_CLASSES[state.distribution][0]}")
    for number, entry in enumerate(graph.entries):
        lines += _draw_entry(graph, entry, number, tasks)
    lines += (f"  {tasks[f.source]} {_ARROWS[f.dispatch]}|{_flow_label(f)}| {tasks[f.target]}" for f in graph.flows)
    for task in graph.tasks:
        for state_name, mode in labels.accesses(task):
            t, s = tasks[task.name], states[state_name]
            lines.append({"read": f"  {s} -.-> {t}", "write": f"  {t} -.-> {s}", "both": f"  {t} <-.-> {s}"}[mode])
    used = {state.distribution for state in graph.states}
    lines += (f"  classDef {name} {style}" for kind, (name, style) in _CLASSES.items() if kind in used)
    return "\n".join([*lines, ""])


def _draw_entry(graph: Graph, entry: Entry, number: int, ids: dict[str, str]) -> list[str]:
    title = labels.signature_text(entry) + ("" if entry.winding is None else f"\nwinding: {entry.winding}")
    tasks = [task for task in graph.tasks if task.entry == entry.name]
    dispatch = _quote(labels.dispatch_text(entry.dispatch, entry.key))
    lines = [
        f"  subgraph entry{number}[{_quote(title)}]",
        f"    from{number}([{_quote(chr(10).join(labels.parameter_texts(entry)) or '()')}])",
    ]
    for task in tasks:
        label = _quote("\n".join((task.name, labels.place_text(task), labels.source_text(task.span))))
        lines.append(f"    {ids[task.name]}[{label}]")
    lines.append(f"    from{number} {_ARROWS[entry.dispatch]}|{dispatch}| {ids[entry.start]}")
    sources = [task for task in tasks if labels.returns(graph, task)]
    if sources:
        lines.append(f"    to{number}([{_quote(str(entry.result))}])")
    lines += (f"    {ids[task.name]} --> to{number}" for task in sources)
    return [*lines, "  end"]


def _flow_label(flow: Flow) -> str:
    return _quote("\n".join(filter(None, (labels.flow_text(flow), labels.carried_text(flow)))))


def _quote(text: str) -> str:
    return f'"{text.translate(_SPECIAL)}"'
