"""Functions of the graph as Python functions, and what every emitted function is made of."""

from __future__ import annotations

import ast

from anabranch.graph.code import Access, Apply, Assign, Body, Expr, For, Function, Send, While
from anabranch.graph.span import Span
from anabranch.graph.verify import BrokenGraph
from anabranch.kernels.expressions import Scope, call, load, parameters
from anabranch.kernels.names import PRIVATE, identifier
from anabranch.kernels.statements import Statements, assign
from anabranch.kernels.values import copier
from anabranch.lang.types import Type


def definition(scope: Scope, span: Span, name: str, names: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """A function with these parameters; what has no place of its own is at `span`."""
    args = parameters([ast.arg(arg=n) for n in names])
    found = ast.FunctionDef(name=name, args=args, body=body, decorator_list=[], returns=None, type_comment=None)
    return ast.fix_missing_locations(scope.at(span, found))


def named(name: str, value: ast.expr) -> ast.stmt:
    return assign(ast.Name(id=name, ctx=ast.Store()), value)


def part_name(state: str) -> str:
    return f"{PRIVATE}s_{state}"


def copied(scope: Scope, kind: Type, value: ast.expr) -> ast.expr:
    """A copy, where the type can change in place."""
    copy = copier(kind)
    return value if copy is None else call(scope.fixed(copy), [value])


class Stateless:
    """The place of a function's body: no state, and it returns to its caller."""

    def multi(self, expr: Expr) -> list[str]:
        return []

    def access(self, stmt: Access) -> list[ast.stmt]:
        raise BrokenGraph(f"a function without state reaches {stmt.state}")

    def enter(self, loop: For | While) -> list[ast.stmt]:
        return []

    def returns(self, value: ast.expr) -> ast.stmt:
        return ast.Return(value=value)

    def send(self, stmt: Send, fan: bool) -> list[ast.stmt]:
        raise BrokenGraph(f"a function sends on flow {stmt.flow}")


def checks(function: Function) -> int:
    """How many statements at its start check its arguments: they belong to the line of the caller."""
    for i, stmt in enumerate(function.body):
        if not (isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.op == "coerce"):
            return i
    return len(function.body)


def _own_name(function: Function) -> str:
    """As the user wrote it: versions for different types have a number behind a dot."""
    return function.name.partition(".")[0]


def write_function(scope: Scope, function: Function, body: Body) -> ast.FunctionDef:
    names = [identifier(name) for name, _ in function.params]
    return definition(scope, function.span, _own_name(function), names, Statements(scope, Stateless()).body(body))


def write_guard(scope: Scope, function: Function, guarded: ast.expr) -> ast.FunctionDef:
    """The checks of the arguments, then a call of the rest."""
    names = [identifier(name) for name, _ in function.params]
    body = Statements(scope, Stateless()).body(function.body[: checks(function)])
    end = ast.Return(value=call(guarded, [load(n) for n in names]))
    return _nowhere(definition(scope, function.span, _own_name(function), names, [*body, end]))


def _nowhere(written: ast.FunctionDef) -> ast.FunctionDef:
    """Code that is on no line of the user's."""
    for node in ast.walk(written):
        if isinstance(node, ast.expr | ast.stmt | ast.arg):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    return written
