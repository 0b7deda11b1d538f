"""Rules for what leaves a task: it must have one value type, one owner, and one value unless it is gathered."""

from __future__ import annotations

from anabranch.frontend.aliases import changed_through, shared_inside
from anabranch.frontend.diagnostics import Report
from anabranch.frontend.methods import empty
from anabranch.frontend.pieces import Cut, Edge
from anabranch.frontend.sharing import Pairs, pairs_on
from anabranch.graph.code import Body
from anabranch.graph.effects import changed_names, changed_parts, sharing
from anabranch.graph.nodes import Dispatch, Variable
from anabranch.lang.types import (
    NUMBER,
    UNKNOWN,
    Dict,
    Fault,
    Function,
    Iter,
    List,
    Optional,
    Set,
    Tuple,
    Type,
    is_mutable,
    is_value,
)


def check_flows(cut: Cut, body: Body, report: Report) -> None:
    shared = shared_inside(body)
    pairs = pairs_on(cut)
    for span in cut.jumps_in_try:
        report.add(
            "AB501",
            span,
            "break or continue inside try, in a loop that goes from place to place",
            "set a variable inside try and leave the loop after it",
        )
    for span in cut.lazy:
        report.add(
            "AB512",
            span,
            "a loop goes from place to place while its source is evaluated or changed step by step",
            "make a list of the source before: for x in list(...)",
        )
    for i, edge in enumerate(cut.edges):
        for variable in edge.carries:
            _check_type(edge, variable, report)
            if variable.multi and not _may_carry_multi(edge):
                _check_multi(edge, variable, report)
            if variable.multi and edge.over == "instances" and variable.name in edge.target.inputs:
                _check_multi(edge, variable, report)
        _check_sharing(edge, pairs[i], shared, report)


def _may_carry_multi(edge: Edge) -> bool:
    """A gather takes the one variable that it collects; between tasks at every instance each keeps its own."""
    if edge.over == "instances":
        return edge.collects is not None and sum(v.multi for v in edge.carries) == 1
    return edge.dispatch is Dispatch.ALL


def _check_multi(edge: Edge, variable: Variable, report: Report) -> None:
    report.add(
        "AB410",
        edge.span,
        f"'{shown(variable.name)}' has one value per instance and is needed after another place is reached here",
        f"use ab.gather({shown(variable.name)}) before",
    )


def _check_type(edge: Edge, variable: Variable, report: Report) -> None:
    name, kind = shown(variable.name), variable.type
    if is_value(kind) and not empty(kind):
        return
    if _holds(kind, Iter) or _holds(kind, Function) or _holds(kind, Fault):
        report.add(
            "AB512",
            edge.span,
            f"'{name}' is {kind}: it cannot leave the task, and another place is reached here",
            f"make a list of it before: {name} = list({name})",
        )
    elif _mentions(kind, NUMBER):
        report.add(
            "AB207",
            edge.span,
            f"'{name}' is int on one path and float on another, and another place is reached here",
            "write the number with a point (0.0), or float(...)",
        )
    elif not _mentions(kind, UNKNOWN) or not report.failed:
        report.add(
            "AB205",
            edge.span,
            f"the type of '{name}' is {kind}: what it holds cannot be inferred, and another place is reached here",
            f"annotate it: {name}: list[int] = []" if "." not in name else "keep it in a variable with an annotation",
        )


def _holds(kind: Type, wanted: type) -> bool:
    match kind:
        case List(of) | Set(of) | Optional(of):
            return _holds(of, wanted)
        case Tuple(items):
            return any(_holds(i, wanted) for i in items)
    return isinstance(kind, wanted)


def _mentions(kind: Type, wanted: Type) -> bool:
    match kind:
        case List(of) | Set(of) | Optional(of) | Iter(of):
            return _mentions(of, wanted)
        case Dict(key, value):
            return _mentions(key, wanted) or _mentions(value, wanted)
        case Tuple(items):
            return any(_mentions(i, wanted) for i in items)
    return kind == wanted


def _check_sharing(edge: Edge, pairs: Pairs, inside: set[str], report: Report) -> None:
    """Two names of one value would become two values on the way."""
    carried = {v.name: v.type for v in edge.carries}
    body = edge.target.body
    changed, parts = changed_through(body, changed_names(body), changed_parts(body))
    for first, second in sorted(sorted(p) for p in pairs if p & changed):
        report.add(
            "AB511",
            edge.span,
            f"'{shown(first)}' and '{shown(second)}' may share a value that is changed after another place is reached "
            "here: values are copied on the way, so the change would show under one name only",
            _separate(first, carried[first], second, carried[second]),
        )
    for name in sorted(carried.keys() & inside & parts):
        report.add(
            "AB511",
            edge.span,
            f"'{shown(name)}' may hold one value twice that is changed after another place is reached here: values are "
            "copied on the way, so the change would show once only",
            "put copies into it: xs.append(ys.copy())",
        )


def _separate(first: str, first_type: Type, second: str, second_type: Type) -> str:
    """The copy that makes two values of one."""
    names = [shown(first), shown(second)]
    if not all(map(str.isidentifier, names)):
        return "read the state on a line before, or make a copy: x = y.copy()"
    if first_type == second_type:
        return f"make one of them a copy where it is assigned: {names[1]} = {_copy(names[0], first_type)}"
    part = names[0] if _inside(first_type, second_type) else names[1]
    kind = first_type if part == names[0] else second_type
    return f"make '{part}' a copy where it is assigned: {part} = {_copy('...', kind)}"


def _inside(kind: Type, other: Type) -> bool:
    """Can a value of the first type be a part of one of the second?"""
    match other:
        case List(of) | Set(of) | Optional(of):
            return of == kind or _inside(kind, of)
        case Dict(_, of):
            return of == kind or _inside(kind, of)
        case Tuple(items):
            return any(i == kind or _inside(kind, i) for i in items)
    return False


def _copy(text: str, kind: Type) -> str:
    """The code of a copy that shares nothing with what it copies."""
    match kind:
        case List(of):
            return f"[{_copy('x', of)} for x in {text}]" if sharing(of) else f"list({text})"
        case Dict(_, of):
            return f"{{k: {_copy('v', of)} for k, v in {text}.items()}}" if sharing(of) else f"dict({text})"
        case Set():
            return f"set({text})"
    return f"{text}.copy()" if is_mutable(kind) else text


def shown(name: str) -> str:
    """The user's name for a variable of an inlined helper; a value without a name is 'this value'."""
    last = name.rpartition(".")[2]
    return last if last.isidentifier() and (name.startswith("_") or "." not in name) else "this value"
