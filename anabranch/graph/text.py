"""The canonical text of a graph: one program, one text, types included. Golden tests and errors use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from anabranch.graph.code import (
    Access,
    Assign,
    Body,
    Break,
    Continue,
    Do,
    Expr,
    For,
    Function,
    Gather,
    If,
    Raise,
    Return,
    Send,
    Stmt,
    Target,
    Try,
    While,
)
from anabranch.graph.labels import key_text
from anabranch.graph.nodes import Dispatch, Entry, Flow, Graph, State, Task, Where


def write_graph(graph: Graph) -> str:
    return "\n".join(_graph(graph)) + "\n"


def _graph(graph: Graph) -> Iterator[str]:
    yield f"program {graph.name}"
    for state in graph.states:
        yield _state(state)
    for entry in graph.entries:
        yield ""
        yield from _entry(graph, entry)
    for function in graph.functions:
        yield ""
        yield from _function(function)


def _state(state: State) -> str:
    axis = f" by {state.axis}" if state.axis else ""
    return f"state {state.name}: {state.distribution}[{state.type}]{axis}"


def _entry(graph: Graph, entry: Entry) -> Iterator[str]:
    parameters = ", ".join(map(str, entry.parameters))
    kind = "straight" if entry.winding is None else f"winding: {entry.winding}"
    yield f"entry {entry.name}({parameters}) -> {entry.result}"
    yield f"  {kind}"
    yield f"  starts {_dispatch(entry.dispatch, entry.key)} at {entry.start}"
    for task in graph.tasks:
        if task.entry == entry.name:
            yield from _task(task)
            yield from (f"  {_flow(f)}" for f in graph.flows if f.source == task.name)


def _dispatch(dispatch: Dispatch, key: Expr | None) -> str:
    if key is None:
        return dispatch.value
    return f"by key {key_text(key)}" if dispatch is Dispatch.BY_KEY else f"{dispatch.value} by key {key_text(key)}"


def _task(task: Task) -> Iterator[str]:
    where = {Where.KEY: f"at key {task.key}", Where.NOWHERE: "without state"}.get(task.where, task.where.value)
    touches = [
        f"{verb} {', '.join(names)}" for verb, names in (("reads", task.reads), ("writes", task.writes)) if names
    ]
    inputs = ", ".join(map(str, task.inputs))
    file = PurePath(task.span.file).name
    yield f"  task {task.name} {'; '.join([where, *touches])}  # {file}:{task.span.line}"
    yield f"    takes ({inputs})"
    yield from _body(task.body, 4)


def _flow(flow: Flow) -> str:
    carried = ", ".join(map(str, flow.carries))
    each = " for each iteration" if flow.each else ""
    over = f" over {flow.over}" if flow.over else ""
    into = f" into {flow.collects}" if flow.collects else ""
    how = f"{_dispatch(flow.dispatch, flow.key)}{over}{each}{into}"
    return f"flow {flow.number} {flow.source} -> {flow.target}: {how} ({carried})"


def _function(function: Function) -> Iterator[str]:
    parameters = ", ".join(f"{n}: {t}" for n, t in function.params)
    yield f"function {function.name}({parameters}) -> {function.result}"
    yield from _body(function.body, 2)


def _body(body: Body, indent: int) -> Iterator[str]:
    for stmt in body:
        yield from _stmt(stmt, " " * indent, indent)


def _stmt(stmt: Stmt, pad: str, indent: int) -> Iterator[str]:
    match stmt:
        case Assign(target, value):
            yield f"{pad}{_target(target)}: {value.type} = {key_text(value)}"
        case Do(value):
            yield f"{pad}do {key_text(value)}"
        case Access():
            yield pad + _access(stmt)
        case Gather(target, source, kind):
            yield f"{pad}{target}: {kind} = gather {key_text(source)}"
        case If(test, then, orelse):
            yield f"{pad}if {key_text(test)}:"
            yield from _body(then, indent + 2)
            if orelse:
                yield f"{pad}else:"
                yield from _body(orelse, indent + 2)
        case For(target, source, body, orelse, _, fan):
            yield f"{pad}{'each' if fan else 'for'} {_target(target)} in {key_text(source)}:"
            yield from _body(body, indent + 2)
            if orelse:
                yield f"{pad}else:"
                yield from _body(orelse, indent + 2)
        case While(test, body, orelse):
            yield f"{pad}while {key_text(test)}:"
            yield from _body(body, indent + 2)
            if orelse:
                yield f"{pad}else:"
                yield from _body(orelse, indent + 2)
        case Break():
            yield f"{pad}break"
        case Continue():
            yield f"{pad}continue"
        case Return(value):
            yield f"{pad}return {key_text(value)}"
        case Raise(error, cause):
            shown = "" if error is None else f" {key_text(error)}"
            yield f"{pad}raise{shown}{'' if cause is None else f' from {key_text(cause)}'}"
        case Send(flow):
            yield f"{pad}send {flow}"
        case Try(body, handlers, orelse, final):
            yield f"{pad}try:"
            yield from _body(body, indent + 2)
            for handler in handlers:
                names = ", ".join(c.__name__ for c in handler.classes)
                yield f"{pad}except {names}{f' as {handler.name}' if handler.name else ''}:"
                yield from _body(handler.body, indent + 2)
            for word, inner in (("else", orelse), ("finally", final)):
                if inner:
                    yield f"{pad}{word}:"
                    yield from _body(inner, indent + 2)


def _access(stmt: Access) -> str:
    where = "everywhere " if stmt.everywhere else ""
    verb = "write" if stmt.writes else "read"
    call = f"{verb} {where}{_call(stmt.state, stmt.method, [key_text(a) for a in stmt.args])}"
    return call if stmt.target is None else f"{stmt.target}: {stmt.type} = {call}"


def _call(state: str, method: str, args: list[str]) -> str:
    """An access as the user wrote it."""
    match method, args:
        case "__getitem__", [key]:
            return f"{state}[{_bare(key)}]"
        case "__setitem__", [key, value]:
            return f"{state}[{_bare(key)}] = {value}"
        case "__delitem__", [key]:
            return f"del {state}[{_bare(key)}]"
        case "__contains__", [key]:
            return f"{key} in {state}"
        case "__len__", []:
            return f"len({state})"
        case "__iter__", []:
            return f"list({state})"
        case (("value" | "shape"), []):
            return f"{state}.{method}"
        case "value=", [value]:
            return f"{state}.value = {value}"
    return f"{state}.{method}({', '.join(args)})"


def _bare(key: str) -> str:
    return key[1:-1] if key.startswith("(") and key.endswith(")") and _closes_last(key) and "," in key else key


def _closes_last(text: str) -> bool:
    """Is the first bracket closed by the last?"""
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def _target(target: Target) -> str:
    if isinstance(target, str):
        return target
    inner = ", ".join(map(_target, target))
    return f"({inner},)" if len(target) == 1 else f"({inner})"
