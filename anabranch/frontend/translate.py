"""From what was read to the graph: cut every entry, check what leaves its tasks, name the pieces."""

from __future__ import annotations

from anabranch.frontend.cut import cut
from anabranch.frontend.diagnostics import Report
from anabranch.frontend.flows import check_flows
from anabranch.frontend.pieces import Cut, Draft, Edge
from anabranch.frontend.program import Lowered, Reading, read_program
from anabranch.graph.code import (
    Access,
    Apply,
    Body,
    Comprehension,
    Const,
    Expr,
    For,
    Function,
    If,
    Send,
    Stmt,
    Try,
    While,
    expressions,
    operands,
    walk,
)
from anabranch.graph.labels import key_text
from anabranch.graph.nodes import Entry, Flow, Graph, Task, Variable
from anabranch.lang.types import NONE, UNKNOWN


def translate(cls: type, report: Report) -> Graph | None:
    """The graph of a class; None if the report holds errors."""
    reading = read_program(cls, report)
    if reading is None or report.failed:
        return None
    entries: list[Entry] = []
    tasks: list[Task] = []
    flows: list[Flow] = []
    for lowered in reading.entries:
        parameters = tuple(Variable(p.name, p.type or UNKNOWN) for p in lowered.spec.parameters)
        pieces = cut(lowered.body, parameters, lowered.span)
        check_flows(pieces, lowered.body, report)
        first = len(flows)
        names = {id(d): f"{lowered.spec.name}.{i}" for i, d in enumerate(_in_order(pieces), 1)}
        tasks += [_task(d, names[id(d)], lowered.spec.name, first) for d in _in_order(pieces)]
        flows += [_flow(e, first + i, names) for i, e in enumerate(pieces.edges)]
        entries.append(_entry(lowered, parameters, pieces, names))
    if report.failed:
        return None
    states = tuple(reading.unit.states.values())
    functions = _used(reading, tasks)
    return Graph(cls.__name__, states, tuple(entries), tuple(tasks), tuple(flows), functions, cls, reading.span)


def _in_order(pieces: Cut) -> list[Draft]:
    return pieces.tasks


def _entry(lowered: Lowered, parameters: tuple[Variable, ...], pieces: Cut, names: dict[int, str]) -> Entry:
    spec = lowered.spec
    return Entry(
        name=spec.name,
        parameters=parameters,
        defaults=tuple((p.name, p.default) for p in spec.parameters if p.has_default),
        result=spec.result or NONE,
        start=names[id(pieces.start)],
        dispatch=pieces.dispatch,
        key=pieces.key,
        winding=None,
        body=lowered.body,
        span=lowered.span,
    )


def _task(draft: Draft, name: str, entry: str, first: int) -> Task:
    found = [s for s in walk(draft.body) if isinstance(s, Access)]
    return Task(
        name=name,
        entry=entry,
        where=draft.place.where,
        key=None if draft.key is None else key_text(draft.key),
        number=draft.place.number,
        reads=tuple(sorted({a.state for a in found if not a.writes})),
        writes=tuple(sorted({a.state for a in found if a.writes})),
        inputs=tuple(draft.inputs[n] for n in sorted(draft.inputs)),
        body=_renumber(draft.body, first),
        span=draft.span,
    )


def _flow(edge: Edge, number: int, names: dict[int, str]) -> Flow:
    return Flow(
        number=number,
        source=names[id(edge.source)],
        target=names[id(edge.target)],
        dispatch=edge.dispatch,
        key=edge.key,
        carries=edge.carries,
        span=edge.span,
        each=edge.each,
        over=edge.over,
        collects=edge.collects,
    )


def _renumber(body: Body, first: int) -> Body:
    """Flows are numbered within the entry while it is cut, within the graph afterwards."""
    if first == 0:
        return body
    return tuple(_shift(s, first) for s in body)


def _shift(stmt: Stmt, first: int) -> Stmt:
    match stmt:
        case Send(flow, span):
            return Send(flow + first, span)
        case If(test, then, orelse, span):
            return If(test, _renumber(then, first), _renumber(orelse, first), span)
        case For(target, source, body, orelse, span, fan):
            return For(target, source, _renumber(body, first), _renumber(orelse, first), span, fan)
        case While(test, body, orelse, span):
            return While(test, _renumber(body, first), _renumber(orelse, first), span)
        case Try():
            return stmt
    return stmt


def _used(reading: Reading, tasks: list[Task]) -> tuple[Function, ...]:
    """The functions that entries call, also through each other; loops are read several times and leave others."""
    by_name = {f.name: f for f in reading.functions}
    wanted: list[str] = []

    def visit(body: Body) -> None:
        for stmt in walk(body):
            for expr in expressions(stmt):
                visit_expr(expr)

    def visit_expr(expr: Expr) -> None:
        if isinstance(expr, Apply) and expr.op in ("function", "procedure"):
            name = expr.args[0]
            assert isinstance(name, Const)
            if name.value not in wanted:
                wanted.append(name.value)
                visit(by_name[name.value].body)
        if isinstance(expr, Comprehension):
            for clause in expr.clauses:
                visit_expr(clause.source)
        for inner in operands(expr):
            visit_expr(inner)

    for task in tasks:
        visit(task.body)
    for lowered in reading.entries:
        visit(lowered.body)
    return tuple(by_name[n] for n in sorted(wanted))
