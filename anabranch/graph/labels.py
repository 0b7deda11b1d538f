"""The words of the pictures: what a key, a place, a flow or a state is called, and in which order tasks are told."""

from __future__ import annotations

import inspect
import textwrap
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from anabranch.graph.code import Apply, Clause, Comprehension, Config, Const, Expr, Lambda, Local, Return, Target, walk
from anabranch.graph.nodes import Dispatch, Entry, Flow, Graph, State, Task, Variable, Where
from anabranch.graph.span import Span
from anabranch.lang.types import NONE

_UNARY = {"neg": "-", "pos": "+", "invert": "~", "-": "-", "+": "+", "~": "~", "not": "not "}
_LEVELS = (
    ("or",),
    ("and",),
    ("not",),
    ("in", "not in", "is", "is not", "<", "<=", ">", ">=", "!=", "=="),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "@", "/", "//", "%"),
)
_BINDS = {op: level for level, ops in enumerate(_LEVELS, 1) for op in ops} | {"**": 12}
_UNARY_BINDS, _ATOM = 11, 13


def key_text(expr: Expr) -> str:
    """An expression as the user would write it."""
    return _write(expr)[0]


def _write(expr: Expr) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    match expr:
        case Local(name):
            return name, _ATOM
        case Config(name):
            return f"self.{name}", _ATOM
        case Const(value):
            named = inspect.isclass(value) or inspect.isroutine(value)
            return (value.__name__ if named else repr(value)), _ATOM
        case Lambda(params, body):
            return f"lambda {', '.join(params)}: {key_text(body)}".replace("lambda :", "lambda:"), 0
        case Comprehension(kind, element, clauses):
            return _write_comprehension(kind, element, clauses), _ATOM
        case Apply(op, args, keywords=keywords):
            return _write_apply(op, args, keywords)


def _write_apply(op: str, args: tuple[Expr, ...], keywords: tuple[str, ...]) -> tuple[str, int]:
    if op.startswith("attr:") and len(args) == 1:
        return f"{_inside(args[0], _ATOM)}.{op.removeprefix('attr:')}", _ATOM
    if op == "[]" and len(args) == 2:
        index = key_text(args[1])
        if isinstance(args[1], Apply) and args[1].op == "tuple" and args[1].args:
            index = index[1:-1]
        return f"{_inside(args[0], _ATOM)}[{index}]", _ATOM
    if op == "tuple":
        return f"({', '.join(map(key_text, args))}{',' if len(args) == 1 else ''})", _ATOM
    if op in _UNARY and len(args) == 1:
        level = _BINDS["not"] if op == "not" else _UNARY_BINDS
        return _UNARY[op] + _inside(args[0], level), level
    if op in _BINDS and len(args) >= 2:
        level = _BINDS[op]
        first, last = (level + 1, level) if op == "**" else (level, level + 1)
        return f" {op} ".join([_inside(args[0], first), *(_inside(a, last) for a in args[1:])]), level
    if op in ("call", "function", "procedure") and args:
        function = args[0].value if isinstance(args[0], Const) else args[0]
        op, args = getattr(function, "__name__", str(function)), args[1:]
    elif op.startswith("method:") and args:
        op, args = f"{_inside(args[0], _ATOM)}.{op.removeprefix('method:')}", args[1:]
    elif op == "slice":
        limits = ":".join("" if isinstance(a, Const) and a.value is None else key_text(a) for a in args[1:])
        return f"{_inside(args[0], _ATOM)}[{limits.removesuffix(':')}]", _ATOM
    elif op == "list":
        return f"[{', '.join(map(key_text, args))}]", _ATOM
    elif op == "set" and args:
        return f"{{{', '.join(map(key_text, args))}}}", _ATOM
    elif op == "dict":
        pairs = (f"{key_text(k)}: {key_text(v)}" for k, v in zip(args[::2], args[1::2], strict=True))
        return f"{{{', '.join(pairs)}}}", _ATOM
    elif op == "if":
        test, then, orelse = args
        return f"{_inside(then, 1)} if {_inside(test, 1)} else {_inside(orelse, 0)}", 0
    elif op.startswith("compare:"):
        words = ["", *(f" {w} " for w in op.removeprefix("compare:").split(","))]
        return "".join(w + _inside(a, _BINDS["=="] + 1) for w, a in zip(words, args, strict=True)), _BINDS["=="]
    elif op == "coerce":
        args = args[:1]
    split = len(args) - len(keywords)
    named = (f"{name}={key_text(arg)}" for name, arg in zip(keywords, args[split:], strict=True))
    return f"{op}({', '.join([*map(key_text, args[:split]), *named])})", _ATOM


def _inside(expr: Expr, level: int) -> str:
    text, binds = _write(expr)
    return text if binds >= level else f"({text})"


def _write_comprehension(kind: str, element: Expr, clauses: tuple[Clause, ...]) -> str:
    inner = key_text(element)
    if kind == "dict" and isinstance(element, Apply) and len(element.args) == 2:
        inner = ": ".join(map(key_text, element.args))
    for clause in clauses:
        inner += f" for {_target_text(clause.target)} in {key_text(clause.source)}"
        inner += "".join(f" if {key_text(test)}" for test in clause.tests)
    brackets = {"list": "[]", "set": "{}", "dict": "{}"}.get(kind, "()")
    return brackets[0] + inner + brackets[1]


def _target_text(target: Target) -> str:
    if isinstance(target, str):
        return target
    return ", ".join(f"({_target_text(t)})" if isinstance(t, tuple) else t for t in target)


def place_text(task: Task) -> str:
    match task.where:
        case Where.KEY:
            return f"at key {task.key}"
        case Where.NOWHERE:
            return "no state"
    return str(task.where.value)


def source_text(span: Span) -> str:
    """The user's lines, short: `recommender.py:8` or `recommender.py:9-13`."""
    lines = f"{span.line}-{span.end_line}" if span.end_line > span.line else str(span.line)
    return f"{PurePath(span.file).name}:{lines}"


def dispatch_text(dispatch: Dispatch, key: Expr | None) -> str:
    return dispatch.value if key is None else f"{dispatch.value} {key_text(key)}"


def flow_text(flow: Flow) -> str:
    """How a flow finds its target: `by key user`, `each by key friend`, `gather iterations`."""
    text = dispatch_text(flow.dispatch, flow.key)
    if flow.over == "iterations":
        text += " iterations"
    return f"each {text}" if flow.each else text


def carried_text(flow: Flow) -> str:
    return ", ".join(v.name for v in flow.carries)


def variables_text(variables: tuple[Variable, ...]) -> str:
    return ", ".join(map(str, variables)) or "nothing"


def parameter_texts(entry: Entry) -> tuple[str, ...]:
    defaults = dict(entry.defaults)
    return tuple(f"{p} = {defaults[p.name]!r}" if p.name in defaults else str(p) for p in entry.parameters)


def signature_text(entry: Entry) -> str:
    result = "" if entry.result == NONE else f" -> {entry.result}"
    return f"{entry.name}({', '.join(parameter_texts(entry))}){result}"


def state_text(state: State) -> str:
    """A state's type as it is declared: `Partitioned[Matrix]`."""
    return f"{state.distribution}[{state.type}]"


def graph_text(graph: Graph) -> str:
    """What a graph is made of: `2 states, 2 entries, 5 tasks`."""
    states, entries, tasks = len(graph.states), len(graph.entries), len(graph.tasks)
    return (
        f"{states} state{'s' * (states != 1)}, {entries} entr{'ies' if entries != 1 else 'y'}, "
        f"{tasks} task{'s' * (tasks != 1)}"
    )


def accesses(task: Task) -> tuple[tuple[str, str], ...]:
    """The states a task touches and how: `read`, `write` or `both`."""

    def mode(state: str) -> str:
        return "both" if state in task.reads and state in task.writes else "read" if state in task.reads else "write"

    return tuple((state, mode(state)) for state in task.states)


def access_text(mode: str) -> str:
    return {"read": "reads", "write": "writes", "both": "reads, writes"}[mode]


def returns(graph: Graph, task: Task) -> bool:
    """Does the entry's result come out of this task?"""
    return graph.entry(task.entry).result != NONE and any(isinstance(s, Return) for s in walk(task.body))


def order_tasks(graph: Graph, entry: Entry) -> tuple[tuple[str, ...], frozenset[int]]:
    """The tasks of an entry, each after those that lead to it, and the numbers of the flows that lead back."""
    leaving = {t.name: [f for f in graph.flows if f.source == t.name] for t in graph.tasks if t.entry == entry.name}
    done: list[str] = []
    path: set[str] = set()
    back: set[int] = set()

    def visit(name: str) -> None:
        path.add(name)
        for flow in reversed(leaving[name]):
            if flow.target in path:
                back.add(flow.number)
            elif flow.target not in done:
                visit(flow.target)
        path.remove(name)
        done.append(name)

    for name in (entry.start, *leaving):
        if name not in done:
            visit(name)
    return tuple(reversed(done)), frozenset(back)


def task_title(task: Task) -> str:
    touched = [f"{access_text(mode)} {state}" for state, mode in accesses(task)]
    place = f"{task.name}: {place_text(task)}"
    return "\n".join([place, f"takes {variables_text(task.inputs)}", *touched, source_text(task.span)])


def state_title(state: State) -> str:
    axis = f" by {state.axis}" if state.axis else ""
    types = [f"{what} {t}" for what, t in (("key", state.key), ("value", state.value)) if t is not None]
    head = f"{state.name}: {state_text(state)}{axis}"
    return "\n".join([head, *([", ".join(types)] if types else []), source_text(state.span)])


def flow_title(flow: Flow) -> str:
    collects = [f"collects {flow.collects}"] if flow.collects else []
    head = f"{flow.source} to {flow.target}: {flow_text(flow)}"
    return "\n".join([head, f"carries {variables_text(flow.carries)}", *collects, source_text(flow.span)])


def entry_title(entry: Entry) -> str:
    winding = [f"winding: {entry.winding}"] if entry.winding is not None else []
    return "\n".join([signature_text(entry), *winding, source_text(entry.span)])


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text in a drawing; `role` decides its colour."""

    text: str
    size: float = 10
    mono: bool = False
    bold: bool = False
    role: str = "quiet"

    @property
    def width(self) -> float:
        """At least as wide as any usual font draws it."""
        return sum(map(self._advance, self.text)) * self.size * (1.06 if self.bold and not self.mono else 1)

    @property
    def height(self) -> float:
        return self.size * 1.42

    def _advance(self, char: str) -> float:
        if unicodedata.east_asian_width(char) in "WF":
            return 1.25
        if self.mono:
            return 0.62
        return 0.42 if char in "ijl.,:;'|!ftr()[] -" else 1.0 if char in "mwMW@%" else 0.75 if char.isupper() else 0.65


def measure(lines: Iterable[Text]) -> tuple[float, float]:
    """Width and height of lines below each other."""
    lines = tuple(lines)
    return max((t.width for t in lines), default=0), sum(t.height for t in lines)


def task_lines(task: Task) -> tuple[Text, ...]:
    name = Text(task.name, 13, mono=True, bold=True, role="ink")
    return name, Text(place_text(task), 11.5, role="soft"), Text(source_text(task.span), mono=True)


def state_lines(state: State) -> tuple[Text, ...]:
    name = Text(state.name, 13, mono=True, bold=True, role=state.distribution.name.lower())
    axis = (Text(f"by {state.axis}", role="soft"),) if state.axis else ()
    return name, Text(state_text(state), 10.5, mono=True, role="soft"), *axis


def entry_lines(entry: Entry) -> tuple[Text, ...]:
    name = Text(entry.name, 14, mono=True, bold=True, role="ink")
    parameters = (textwrap.shorten(p, 34, placeholder=" …") for p in parameter_texts(entry))
    winding = (Text("winding", 10.5, bold=True, role="winding"),) if entry.winding is not None else ()
    return name, *(Text(p, 10.5, mono=True) for p in parameters), *winding


def result_lines(entry: Entry) -> tuple[Text, ...]:
    return Text(str(entry.result), 12, mono=True, bold=True, role="ink"), Text("result")


def dispatch_lines(text: str) -> tuple[Text, ...]:
    return (Text(textwrap.shorten(text, 40, placeholder=" …"), 11.5, bold=True, role="ink"),)


def carried_lines(flow: Flow) -> tuple[Text, ...]:
    wrapped = textwrap.wrap(carried_text(flow), 26, max_lines=4, placeholder=" …", break_on_hyphens=False)
    return tuple(Text(line, mono=True) for line in wrapped)
