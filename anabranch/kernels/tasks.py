"""A task as a Python function.

A task works on one instance of each state it touches. Where it ends, it gives what it sends or the entry's result.
"""

from __future__ import annotations

import ast

from anabranch.graph.code import Access, Expr, For, Send, While, walk
from anabranch.graph.liveness import helper_prefixes
from anabranch.graph.nodes import Flow, Graph, Task, Variable
from anabranch.kernels.expressions import Scope, attribute, call, expression, item, load, tuple_of
from anabranch.kernels.functions import copied, definition, named, part_name
from anabranch.kernels.names import PRIVATE, identifier
from anabranch.kernels.statements import Statements, touch
from anabranch.kernels.values import DONE, UNSET

PARTS, OUT, EMIT = f"{PRIVATE}parts", f"{PRIVATE}out", f"{PRIVATE}emit"


class InTask:
    """The place of a task's body: one instance, all accesses at it."""

    def __init__(self, scope: Scope, graph: Graph, task: Task) -> None:
        self._scope, self._graph, self._task = scope, graph, task
        self._unset = helper_prefixes(graph.entry(task.entry).body)

    def multi(self, expr: Expr) -> list[str]:
        return []  # the value of this instance only

    def access(self, stmt: Access) -> list[ast.stmt]:
        args = [expression(self._scope, a) for a in stmt.args]
        return [touch(self._scope, stmt, load(part_name(stmt.state)), args)]

    def enter(self, loop: For | While) -> list[ast.stmt]:
        return []

    def returns(self, value: ast.expr) -> ast.stmt:
        return ast.Return(value=tuple_of([ast.Constant(DONE), ast.Constant(None), value]))

    def send(self, stmt: Send, fan: bool) -> list[ast.stmt]:
        flow = self._graph.flow(stmt.flow)
        key = ast.Constant(None) if flow.key is None else expression(self._scope, flow.key)
        message = tuple_of([ast.Constant(flow.number), key, tuple_of(self._values(flow))])
        if fan:
            return [ast.Expr(value=call(load(EMIT), [message]))]
        return [ast.Return(value=message)]

    def _values(self, flow: Flow) -> list[ast.expr]:
        if flow.each and flow.over == "iterations":
            return [self._carried(v) for v in flow.carries]
        carried = {v.name: v for v in flow.carries if not v.multi}
        if flow.over == "instances" and flow.collects is not None:
            carried[flow.collects] = next(v for v in flow.carries if v.multi)
        return [self._carried(carried.get(v.name)) for v in self._graph.task(flow.target).inputs]

    def _carried(self, variable: Variable | None) -> ast.expr:
        unset = self._scope.fixed(UNSET)
        if variable is None:
            return unset
        value: ast.expr = load(identifier(variable.name))
        copy = copied(self._scope, variable.type, value)
        if copy is value or not self.may_be_unset(variable.name):
            return copy
        return ast.IfExp(test=ast.Compare(left=value, ops=[ast.Is()], comparators=[unset]), body=unset, orelse=copy)

    def may_be_unset(self, name: str) -> bool:
        return name.startswith(self._unset)

    def prologue(self) -> list[ast.stmt]:
        """The parts of the states it touches, and the variables that may be sent without having been assigned."""
        touched = {s.state: None for s in walk(self._task.body) if isinstance(s, Access)}
        found = [named(part_name(s), item(load(PARTS), ast.Constant(s))) for s in touched]
        given = {v.name for v in self._task.inputs}
        flows = [f for f in self._graph.flows if f.source == self._task.name]
        if any(isinstance(s, For) and s.fan for s in walk(self._task.body)):
            found.append(named(EMIT, attribute(load(OUT), "append")))
        late = {v.name: None for f in flows for v in f.carries if v.name not in given and self.may_be_unset(v.name)}
        return [*found, *(named(identifier(n), self._scope.fixed(UNSET)) for n in late)]


def write_task(scope: Scope, graph: Graph, task: Task) -> ast.FunctionDef:
    """`f(parts, out, *values)`, as `PythonCode.task` says."""
    place = InTask(scope, graph, task)
    body = Statements(scope, place).body(task.body)
    end = place.returns(ast.Constant(None))
    names = [PARTS, OUT, *(identifier(v.name) for v in task.inputs)]
    return definition(scope, graph.entry(task.entry).span, task.entry, names, [*place.prologue(), *body, end])
